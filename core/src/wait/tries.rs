// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a try, and the steps between the tries of a retry.

use super::policy::FOR_ALL_OF_ITS_TIME;
use super::waiter::{NEVER, Spread, Waiter, is_vain};
use super::{Awaited, Retry, RetryEvent, Timer, TryCourse, TryObserver};
use crate::outcome::Outcome;

/// The end of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Tried<V, X> {
    /// The breaker rejected it: the operation was not run, and this does not count as a try.
    Rejected(X),
    /// The operation was run, with this result, and this is what it means to the breaker: a failure is tried again, unless
    /// that is pointless; anything else is the final result.
    Ended(Result<V, X>, Outcome),
}

/// The steps between the tries: [`Breaker::retry`](crate::Breaker::retry) for anything that can be [awaited](Awaited),
/// one step at a time.
#[derive(Debug)]
pub struct Tries<T, V, X, C = ()> {
    waiter: Waiter<T>,
    /// The maximum number of tries.
    most: u32,
    /// The rest of the time for which it waits for the breaker.
    wait_left_ms: u32,
    first_ms: u64,
    longest_ms: u64,
    /// No try begins later.
    deadline_ms: u64,
    made: u32,
    last: Option<Result<V, X>>,
    gave_up: bool,
    /// The part that its observer follows.
    course: C,
}

impl<T: Timer, V, X, C: TryCourse> Tries<T, V, X, C> {
    /// The state before the first try. The time of the policy begins now.
    pub fn new<O: TryObserver<Course = C>>(timer: T, policy: Retry<(), O>) -> Self {
        Self {
            deadline_ms: timer.now_ms().saturating_add(policy.between.within_ms),
            waiter: Waiter::trying(timer),
            most: policy.between.tries,
            wait_left_ms: policy.between.wait_ms,
            first_ms: policy.between.first_ms,
            longest_ms: policy.between.longest_ms,
            made: 0,
            last: None,
            gave_up: false,
            course: policy.observer.begin(),
        }
    }

    /// Waits until a try is worthwhile, if the policy [waits](Retry::wait_for_breaker), or returns the final result if
    /// none is worthwhile any more. If the operation was never run, it returns `None` even then: make the call
    /// nevertheless; it is rejected like any other.
    pub async fn turn(&mut self, awaited: &impl Awaited) -> Option<Result<V, X>> {
        let waits_until_ms = match self.wait_left_ms {
            FOR_ALL_OF_ITS_TIME => NEVER,
            ms => self.waiter.timer.now_ms().saturating_add(ms.into()),
        };
        self.course
            .waits_if(|| awaited.snapshot().rejection().is_some());
        self.waiter.give_up_at(waits_until_ms.min(self.deadline_ms));
        self.gave_up = !self.waiter.turn(awaited).await;
        // What the time of the policy leaves may be less, but then that is over first.
        let left_ms = self.waiter.left_ms().min(FOR_ALL_OF_ITS_TIME.into());
        self.wait_left_ms = left_ms as u32;
        if !self.gave_up {
            return None;
        }
        if self.last.is_some() {
            let is_late = self.waiter.timer.now_ms() >= self.deadline_ms;
            let why = if is_late {
                RetryEvent::NoTime
            } else {
                RetryEvent::Rejected
            };
            self.course.goes_on(why, &self.waiter.timer);
        }
        self.last.take()
    }

    /// Takes note that the operation is run now, for the observer.
    pub fn begins(&mut self) {
        self.course.goes_on(RetryEvent::Sent, &self.waiter.timer);
    }

    /// Takes note of how a try ended, and pauses before the next one; returns the final result if there is none.
    pub async fn judge(
        &mut self,
        awaited: &impl Awaited,
        tried: Tried<V, X>,
    ) -> Option<Result<V, X>> {
        let (result, outcome) = match tried {
            Tried::Ended(result, outcome) => (result, outcome),
            Tried::Rejected(rejected) => {
                // Another caller was faster, or traffic returns: asking once more would be waiting.
                let ends = self.gave_up || self.wait_left_ms == 0;
                if !ends {
                    return None;
                }
                self.course
                    .goes_on(RetryEvent::Rejected, &self.waiter.timer);
                return Some(self.last.take().unwrap_or(Err(rejected)));
            }
        };
        self.made += 1;
        let Outcome::Failure(failure) = outcome else {
            if self.made > 1 && outcome == Outcome::Success {
                self.course.ends(self.made, outcome, RetryEvent::Recovered);
            }
            return Some(result);
        };
        if self.made >= self.most {
            self.course.ends(self.made, outcome, RetryEvent::NoTryLeft);
            return Some(result);
        }
        self.waiter.restart();
        let pause_ms = self.pause_ms(Spread::draw(awaited));
        if let Some(why) = self.is_pointless_after(pause_ms, awaited) {
            self.course.ends(self.made, outcome, why);
            return Some(result);
        }
        self.course.failed(self.made, failure, &self.waiter.timer);
        self.waiter.sleep(pause_ms).await;
        self.last = Some(result);
        None
    }

    fn pause_ms(&self, share: Spread) -> u64 {
        let doubled = 1_u64.checked_shl(self.made - 1).unwrap_or(u64::MAX);
        let pause_ms = self.first_ms.saturating_mul(doubled).min(self.longest_ms);
        share.between_half_and_all(pause_ms)
    }

    /// The reason against a try after that pause: there is no time for it, or the breaker will not admit it.
    fn is_pointless_after(&self, pause_ms: u64, awaited: &impl Awaited) -> Option<RetryEvent> {
        let left_ms = self.deadline_ms.saturating_sub(self.waiter.timer.now_ms());
        let waits_ms = match self.wait_left_ms {
            FOR_ALL_OF_ITS_TIME => NEVER,
            ms => pause_ms.saturating_add(ms.into()),
        };
        let is_rejected = match awaited.snapshot().rejection() {
            Some(rejected) => is_vain(rejected, left_ms.min(waits_ms)),
            None => false,
        };
        if left_ms == 0 || pause_ms > left_ms {
            return Some(RetryEvent::NoTime);
        }
        is_rejected.then_some(RetryEvent::Rejected)
    }
}
