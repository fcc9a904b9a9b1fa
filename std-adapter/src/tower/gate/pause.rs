//! The one timer of an endpoint that would reject.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker::{Rejected, State};
use tokio::time::{Instant, Sleep, sleep_until};

/// How often a gate looks that nobody wakes.
const LOOK_MS: u64 = 1_000;
/// How often a gate looks that is woken by what happens here, but not by what happens elsewhere.
const LOOK_WHEN_HEARD_MS: u64 = 10_000;
/// While traffic returns, everybody may pass at any time: often enough that the share that passes, and not
/// the waiting, decides.
const RETURNING_MS: u64 = 20;

/// A pause that ends with its time, or with the epoch in which the breaker rejected.
#[derive(Debug, Default)]
pub(super) struct Pause {
    /// Boxed, as the service moves; made once.
    timer: Option<Pin<Box<Sleep>>>,
    /// In which epoch the breaker rejected, while the pause lasts.
    epoch: Option<u16>,
}

impl Pause {
    pub(super) fn begin(&mut self, epoch: u16, ms: u64) {
        let deadline = Instant::now() + Duration::from_millis(ms);
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(deadline),
            None => self.timer = Some(Box::pin(sleep_until(deadline))),
        }
        self.epoch = Some(epoch);
    }

    /// Ready when there is no pause, or none any more.
    pub(super) fn poll(&mut self, epoch: u16, context: &mut Context<'_>) -> Poll<()> {
        if let (Some(timer), true) = (&mut self.timer, self.epoch == Some(epoch)) {
            std::task::ready!(timer.as_mut().poll(context));
        }
        self.epoch = None;
        Poll::Ready(())
    }
}

/// When a gate looks again. `random` is spread evenly over all its values.
pub(super) fn ms(rejected: Rejected, is_heard: bool, random: u32) -> u64 {
    let look_ms = if is_heard {
        LOOK_WHEN_HEARD_MS
    } else {
        LOOK_MS
    };
    let left_ms = rejected.retry_in_ms().map_or(look_ms, u64::from);
    match rejected.state() {
        // A slot is freed without a transition; and several wait for it.
        State::HalfOpen => between_half_and_all(left_ms, random),
        State::Returning => between_half_and_all(RETURNING_MS, random),
        _ => left_ms.min(look_ms),
    }
}

fn between_half_and_all(ms: u64, random: u32) -> u64 {
    ms - (ms / 2 * u64::from(random) >> u32::BITS)
}
