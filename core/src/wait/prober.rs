// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finding out whether the resource is back before a real call is risked.

use core::future::poll_fn;
use core::pin::pin;
use core::time::Duration;

use super::waiter::{LOOK_WHEN_WOKEN_MS, sleep_until_change, will_be_woken};
use super::{Awaited, HasTimer, Repeatable, Timer, ms, poll_within};
use crate::breaker::Breaker;
use crate::clock::Clock;
use crate::config::AsRules;
use crate::observer::Observer;
use crate::snapshot::Snapshot;
use crate::state::State;
use crate::tally::Tally;
use crate::unguarded::Unguarded;
use crate::word::{Bits, Word};

/// A task that pings the resource while the breaker is open, and closes the breaker as soon as the resource answers.
///
/// Real calls are rejected until the open time is over or enough pings were answered; so give the breaker a long open
/// time, and let the pings find out. A failed ping costs nothing: it neither counts nor makes the open time grow.
///
/// - An open time that was demanded, by a `Retry-After` or an operator, is respected: no ping before it is over, even
///   if only a part of it was demanded, because the word has one bit to say so.
/// - A half-open breaker is pinged, too, while it has a free slot; when real calls hold all of them, they decide,
///   or their lease runs out. A ping holds no slot, so real calls may probe meanwhile.
/// - While the breaker is closed, the prober looks at the state with the same pauses, but no more often than every
///   ten seconds if the observer [wakes](crate::Observer::wake_on_change) it.
///
/// ```
/// use atomic_breaker::{Breaker, wait::{HasTimer, Mutating, Prober}};
/// use core::time::Duration;
/// # struct Radio;
/// # impl Radio { async fn ping(&mut self) -> Result<(), ()> { Ok(()) } }
///
/// // In a task of its own.
/// async fn keep_probing(breaker: &Breaker<impl HasTimer>, mut radio: Radio) -> ! {
///     let prober = Prober::every(Duration::from_secs(5));
///     breaker.run_prober(prober, Mutating(async || radio.ping().await)).await
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub struct Prober {
    pause_ms: u64,
    answers: u32,
    time_limit_ms: u64,
}

impl Prober {
    /// Pings with pauses of this length between them, rounded up to milliseconds. One reply within 10 s
    /// suffices.
    pub const fn every(pause: Duration) -> Self {
        Self {
            pause_ms: ms(pause),
            answers: 1,
            time_limit_ms: 10_000,
        }
    }

    /// The number of answers in a row that convince the prober, 1 unless set. 0 counts as 1.
    pub const fn answers(mut self, answers: u32) -> Self {
        self.answers = answers;
        self
    }

    /// The time limit of a ping, 10 s unless set: one that takes longer is dropped and counts as unanswered.
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit_ms = ms(limit);
        self
    }

    /// The pause between pings, for probers of many breakers.
    #[doc(hidden)]
    pub const fn pause(&self) -> Duration {
        Duration::from_millis(self.pause_ms)
    }

    /// The time limit of a ping.
    #[doc(hidden)]
    pub const fn limit(&self) -> Duration {
        Duration::from_millis(self.time_limit_ms)
    }

    /// Returns whether that many answers in a row are enough.
    #[doc(hidden)]
    pub const fn is_convinced(&self, answered: u32) -> bool {
        answered >= self.answers && answered > 0
    }

    /// Returns whether two snapshots show the same outage: then each trip since took two
    /// transitions. With a lost round in between it counts as another outage, whose ladder begins at its trips.
    #[doc(hidden)]
    #[must_use]
    pub fn is_same_outage<B: Bits>(earlier: &Snapshot, now: &Snapshot) -> bool {
        let rounds = |seen: &Snapshot| match seen.entered() {
            State::HalfOpen => 1 + u16::from(seen.lost_rounds()),
            _ => 0,
        };
        let trips = now.trips().wrapping_sub(earlier.trips());
        let expected = (2 * u16::from(trips) + rounds(now)).wrapping_sub(rounds(earlier));
        let made = now.epoch().wrapping_sub(earlier.epoch());
        u32::from(made ^ expected) & B::LAYOUT.epoch.max() == 0 && now.trips() >= earlier.trips()
    }

    /// Returns whether a ping could end the outage that a snapshot shows.
    #[doc(hidden)]
    pub const fn wants(snapshot: &Snapshot) -> bool {
        match snapshot.state() {
            State::Open => !snapshot.is_demanded() || snapshot.is_due(),
            State::HalfOpen => snapshot.is_due(),
            State::Closed | State::Returning | State::ForcedOpen | State::Disabled => false,
        }
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// Pings the resource while the breaker is open, as the [`Prober`] says; runs forever, in a task of its own. Once the
    /// prober is convinced, it ends the open time and reports as many successful probes as the breaker wants in order to
    /// close, or to let traffic return.
    ///
    /// The future is `Send` if its arguments are, so it can be spawned. An `async` closure that mutates what it captures
    /// goes into [`Mutating`](super::Mutating).
    ///
    /// A ping goes to the resource itself: one through this breaker would be rejected until the open time is over. So its
    /// error is [`Unguarded`]; if another breaker guards it, map the error.
    pub async fn run_prober<V, E: Unguarded>(
        &self,
        prober: Prober,
        mut ping: impl Repeatable<V, E>,
    ) -> !
    where
        C: HasTimer,
    {
        let timer = self.clock.timer();
        // With a pause of zero, other tasks would get no turn.
        let pause_ms = prober.pause_ms.max(1);
        let mut answered = 0;
        // In this outage, so that a repair goes on to the next rung although pings trip nothing.
        let mut failed = 0_u8;
        let mut last = Breaker::snapshot(self);
        loop {
            let seen = self.epoch();
            if !is_down(self.state()) {
                (answered, failed) = (0, 0);
                let look_ms = if will_be_woken(self).await {
                    LOOK_WHEN_WOKEN_MS
                } else {
                    0
                };
                sleep_until_change(self, &timer, &seen, pause_ms.max(look_ms)).await;
                continue;
            }
            timer.sleep(pause_ms).await;
            let snapshot = Breaker::snapshot(self);
            if !Prober::wants(&snapshot) {
                continue;
            }
            if !Prober::is_same_outage::<W::Bits>(&last, &snapshot) {
                (answered, failed) = (0, 0);
            } else if snapshot.trips() != last.trips() {
                // A real call has failed since.
                answered = 0;
            }
            last = snapshot;
            let trips = snapshot.trips().max(1).saturating_add(failed);
            let answer = {
                let mut sleep = pin!(timer.sleep(prober.time_limit_ms));
                let mut answer = pin!(ping.start(|| trips));
                poll_fn(|context| poll_within(answer.as_mut(), sleep.as_mut(), context)).await
            };
            let now = Breaker::snapshot(self);
            let is_another = !Prober::is_same_outage::<W::Bits>(&last, &now);
            if is_another {
                // Ended meanwhile by someone else. Only an answer says something about the next one.
                (answered, failed, last) = (0, 0, now);
            }
            (answered, failed) = match answer {
                Some(Ok(_)) => (answered + 1, failed),
                Some(Err(_)) | None => (0, failed.saturating_add(u8::from(!is_another))),
            };
            if prober.is_convinced(answered) {
                answered = 0;
                self.recover();
            }
        }
    }

    /// Reports the successes that the breaker wants, as probes do. Does nothing if it is no longer open or half-open.
    #[doc(hidden)]
    pub fn recover(&self) {
        self.probe_early();
        while is_down(self.state()) {
            match self.acquire() {
                Ok(probe) => {
                    probe.success_elsewhere();
                }
                // Real calls are probing already, or a pause has been demanded meanwhile.
                Err(_) => return,
            }
        }
    }
}

const fn is_down(state: State) -> bool {
    matches!(state, State::Open | State::HalfOpen)
}
