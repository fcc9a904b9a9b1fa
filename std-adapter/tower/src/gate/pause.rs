// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one timer of an endpoint that would reject.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use atomic_breaker::{Rejected, State};
use tokio::time::{Instant, Sleep, sleep_until};

use atomic_breaker::wait::Awaited;

/// The interval at which a gate looks if nothing wakes it.
const LOOK_MS: u64 = 1_000;
/// The interval at which a gate looks if changes here wake it, but changes elsewhere do not.
const LOOK_WHEN_HEARD_MS: u64 = 10_000;
/// While traffic returns, any call may pass at any time: often enough that the share that passes decides, and not the
/// waiting.
const RETURNING_MS: u64 = 20;

/// A pause that ends with its timer, or with the epoch in which the breaker rejected.
#[derive(Debug)]
pub(super) struct Pause<E> {
    /// Boxed, as the service moves; made once.
    timer: Option<Pin<Box<Sleep>>>,
    /// During the pause: in which epoch the breaker rejected, and in which state.
    rejected: Option<(E, State)>,
}

impl<E> Default for Pause<E> {
    fn default() -> Self {
        Self {
            timer: None,
            rejected: None,
        }
    }
}

impl<E: PartialEq> Pause<E> {
    /// Starts a pause after a rejection.
    pub(super) fn begin(
        &mut self,
        epoch: E,
        rejected: Rejected,
        breaker: &impl Awaited,
        context: &Context<'_>,
    ) {
        self.rejected = Some((epoch, rejected.state()));
        let is_heard = self.listen(breaker, context);
        let pause_ms = ms(rejected, is_heard, fastrand::u32(..));
        let deadline = Instant::now() + Duration::from_millis(pause_ms);
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(deadline),
            None => self.timer = Some(Box::pin(sleep_until(deadline))),
        }
    }

    /// Has the next transition wake the task if the current pause may be long; returns whether it will. Call it before
    /// looking at the state, so that no change is missed.
    pub(super) fn listen(&self, breaker: &impl Awaited, context: &Context<'_>) -> bool {
        match self.rejected {
            // Over before it matters, and each would leave a waker behind.
            None | Some((_, State::Returning)) => false,
            Some(_) => breaker.wake_on_change(context.waker()),
        }
    }

    /// Ready when there is no pause, or no longer one.
    pub(super) fn poll(&mut self, epoch: &E, context: &mut Context<'_>) -> Poll<()> {
        if let (Some(timer), Some((since, _))) = (&mut self.timer, &self.rejected) {
            if since == epoch {
                ready!(timer.as_mut().poll(context));
            }
        }
        self.rejected = None;
        Poll::Ready(())
    }
}

/// The time after which a gate looks again. `random` is uniform over all its values.
fn ms(rejected: Rejected, is_heard: bool, random: u32) -> u64 {
    let look_ms = if is_heard {
        LOOK_WHEN_HEARD_MS
    } else {
        LOOK_MS
    };
    let left_ms = rejected.retry_in_ms().map_or(look_ms, u64::from);
    match rejected.state() {
        // A slot is freed without a transition, and several gates may wait for it.
        State::HalfOpen => between_half_and_all(left_ms, random),
        State::Returning => between_half_and_all(RETURNING_MS, random),
        _ => left_ms.min(look_ms),
    }
}

fn between_half_and_all(ms: u64, random: u32) -> u64 {
    ms - ((ms / 2 * u64::from(random)) >> u32::BITS)
}
