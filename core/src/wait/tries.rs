// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a try ended, and what comes between the tries of a retry.

use super::policy::FOR_ALL_OF_ITS_TIME;
use super::waiter::{NEVER, Spread, Waiter, is_vain};
use super::{Awaited, Retry, Timer, TryLimit};
use crate::outcome::Outcome;

/// How a try ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Tried<V, X> {
    /// The breaker rejected it: the operation was not run, and this does not count as a try.
    Rejected(X),
    /// A failure, as the breaker counts it, which is tried again; if that is pointless, this is the final result.
    Failed(Result<V, X>),
    /// A success or an ignored result: the final result.
    Done(Result<V, X>),
}

impl<V, X> Tried<V, X> {
    /// A try that ended with this result, and what it means to the breaker.
    pub fn new(result: Result<V, X>, outcome: Outcome) -> Self {
        match outcome {
            Outcome::Failure(_) => Self::Failed(result),
            Outcome::Success | Outcome::Ignored => Self::Done(result),
        }
    }
}

/// What comes between the tries: [`Breaker::retry`](crate::Breaker::retry) for anything that can be [awaited](Awaited), one step at a time.
#[derive(Debug)]
pub struct Tries<T, V, X> {
    waiter: Waiter<T>,
    /// The maximum number of tries.
    most: u32,
    /// What is left of the time for which it waits for the breaker.
    wait_left_ms: u32,
    first_ms: u64,
    longest_ms: u64,
    /// No try begins later.
    deadline_ms: u64,
    made: u32,
    last: Option<Result<V, X>>,
    gave_up: bool,
}

impl<T: Timer, V, X> Tries<T, V, X> {
    /// The state before the first try. The time of the policy begins now.
    pub fn new<L: TryLimit>(timer: T, policy: Retry<L>) -> Self {
        Self {
            deadline_ms: timer.now_ms().saturating_add(policy.within_ms),
            waiter: Waiter::trying(timer),
            most: policy.tries,
            wait_left_ms: policy.wait_ms,
            first_ms: policy.first_ms,
            longest_ms: policy.longest_ms,
            made: 0,
            last: None,
            gave_up: false,
        }
    }

    /// The timer that pauses between tries.
    pub const fn timer(&self) -> &T {
        &self.waiter.timer
    }

    /// Waits until a try is worthwhile, if the policy [waits](Retry::wait_for_breaker), or returns the final result if
    /// none is worthwhile any more. If the operation was never run, it returns `None` even then: make the call
    /// nevertheless; it is rejected like any other.
    pub async fn turn(&mut self, awaited: &impl Awaited) -> Option<Result<V, X>> {
        let waits_until_ms = match self.wait_left_ms {
            FOR_ALL_OF_ITS_TIME => NEVER,
            ms => self.waiter.timer.now_ms().saturating_add(ms.into()),
        };
        self.waiter.give_up_at(waits_until_ms.min(self.deadline_ms));
        self.gave_up = !self.waiter.turn(awaited).await;
        // What the time of the policy leaves may be less, but then that is over first.
        let left_ms = self.waiter.left_ms().min(FOR_ALL_OF_ITS_TIME.into());
        self.wait_left_ms = left_ms as u32;
        if self.gave_up { self.last.take() } else { None }
    }

    /// Takes note of how a try ended, and pauses before the next one; returns the final result if there is none.
    pub async fn judge(
        &mut self,
        awaited: &impl Awaited,
        tried: Tried<V, X>,
    ) -> Option<Result<V, X>> {
        let result = match tried {
            Tried::Failed(result) => result,
            Tried::Done(result) => return Some(result),
            Tried::Rejected(rejected) => {
                // Another caller was faster, or traffic returns: asking once more would be waiting.
                let ends = self.gave_up || self.wait_left_ms == 0;
                return ends.then(|| self.last.take().unwrap_or(Err(rejected)));
            }
        };
        self.made += 1;
        if self.made >= self.most {
            return Some(result);
        }
        self.waiter.restart();
        let pause_ms = self.pause_ms(Spread::draw(awaited));
        if !self.is_worthwhile_after(pause_ms, awaited) {
            return Some(result);
        }
        self.waiter.sleep(pause_ms).await;
        self.last = Some(result);
        None
    }

    fn pause_ms(&self, share: Spread) -> u64 {
        let doubled = 1_u64.checked_shl(self.made - 1).unwrap_or(u64::MAX);
        let pause_ms = self.first_ms.saturating_mul(doubled).min(self.longest_ms);
        share.between_half_and_all(pause_ms)
    }

    /// Whether there is time for that pause, and the breaker may admit the try after it.
    fn is_worthwhile_after(&self, pause_ms: u64, awaited: &impl Awaited) -> bool {
        let left_ms = self.deadline_ms.saturating_sub(self.waiter.timer.now_ms());
        let waits_ms = match self.wait_left_ms {
            FOR_ALL_OF_ITS_TIME => NEVER,
            ms => pause_ms.saturating_add(ms.into()),
        };
        let is_rejected = match awaited.snapshot().rejection() {
            Some(rejected) => is_vain(rejected, left_ms.min(waits_ms)),
            None => false,
        };
        left_ms > 0 && pause_ms <= left_ms && !is_rejected
    }
}
