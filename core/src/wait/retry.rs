// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retries.

#![expect(
    clippy::manual_async_fn,
    reason = "an `async fn` holds each argument that it uses twice, a block once"
)]

use core::future::poll_fn;
use core::pin::pin;
use core::time::Duration;

use super::waiter::{Spread, Waiter};
use super::{Awaited, HasTimer, Repeatable, TimeLimit, Timer, TryLimit, ms};
use crate::breaker::Breaker;
use crate::call::count_panic;
use crate::clock::Clock;
use crate::config::AsRules;
use crate::error::CallError;
use crate::observer::Observer;
use crate::outcome::{AnyError, Classify, Outcome};
use crate::tally::Tally;
use crate::token::Ticket;
use crate::unguarded::Unguarded;
use crate::word::Word;

/// When to try again, and when to give up: exponential pauses with jitter, bounded in number and
/// time. Integers only. `L` says whether each try has a [time limit](Self::try_limit), and with it which error a
/// retry returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub struct Retry<L = ()> {
    tries: u32,
    first_ms: u64,
    longest_ms: u64,
    within_ms: u64,
    limit: L,
}

impl Retry {
    /// Three tries, 50 to 100 ms and then 100 to 200 ms apart; with more tries up to 10 s apart. None begins later
    /// than 30 s after the call of `retry`.
    pub const fn new() -> Self {
        Self {
            tries: 3,
            first_ms: 100,
            longest_ms: 10_000,
            within_ms: 30_000,
            limit: (),
        }
    }

    /// A try that takes longer than this, rounded up to milliseconds, is dropped and counts as a failure; it is tried
    /// again like any other failure. The error is then [`Timed<E>`](super::Timed), as that of a
    /// [`call_timeout`](Breaker::call_timeout). Unless set, a try takes as long as the operation does: one that hangs,
    /// hangs the retry.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, CallError, wait::{self, HasTimer, Retry, Timed}};
    /// use core::time::Duration;
    /// # async fn send() -> Result<(), ()> { Ok(()) }
    ///
    /// const POLICY: Retry<wait::TimeLimit> = Retry::new().try_limit(Duration::from_millis(200));
    ///
    /// async fn report(radio: &Breaker<impl HasTimer>) -> &'static str {
    ///     match radio.retry(POLICY, send).await {
    ///         Ok(()) => "sent",
    ///         Err(CallError::Failed(Timed::TimedOut)) => "the last try took too long",
    ///         Err(CallError::Failed(Timed::Failed(()))) => "the last try failed in time",
    ///         Err(CallError::Rejected(_)) => "never tried",
    ///     }
    /// }
    /// ```
    pub const fn try_limit(self, limit: Duration) -> Retry<TimeLimit> {
        self.with_limit(TimeLimit::new(limit))
    }
}

impl<L: TryLimit> Retry<L> {
    /// How many times the operation is run at most. A rejected call does not count: the operation was not run.
    /// 0 counts as 1.
    pub const fn tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }

    /// The longest pause before the second try; it doubles with each try. Up to half of it is subtracted, a
    /// different part each time, so that callers spread out. Rounded up to milliseconds.
    pub const fn first_pause(mut self, pause: Duration) -> Self {
        self.first_ms = ms(pause);
        self
    }

    /// Caps the pauses between tries. Waiting for the breaker itself may take longer.
    pub const fn longest_pause(mut self, pause: Duration) -> Self {
        self.longest_ms = ms(pause);
        self
    }

    /// No try begins later than this after the call of `retry`, and if it is clear that the next one would, there is no
    /// wait for it. A try that is under way is not cut short: for that there is [`try_limit`](Retry::try_limit).
    pub const fn within(mut self, time: Duration) -> Self {
        self.within_ms = ms(time);
        self
    }

    /// What each try has: nothing, or a time limit.
    pub const fn each_try(self) -> L {
        self.limit
    }

    const fn with_limit<M: TryLimit>(self, limit: M) -> Retry<M> {
        Retry {
            tries: self.tries,
            first_ms: self.first_ms,
            longest_ms: self.longest_ms,
            within_ms: self.within_ms,
            limit,
        }
    }

    fn pause_ms(self, tried: u32, share: Spread) -> u64 {
        let doubled = 1_u64.checked_shl(tried - 1).unwrap_or(u64::MAX);
        let pause_ms = self.first_ms.saturating_mul(doubled).min(self.longest_ms);
        share.between_half_and_all(pause_ms)
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// [`call_async`](Self::call_async) with retries, as the [`Retry`] says. The future is `Send` if its arguments are,
    /// so it can be spawned. An `async` closure that mutates what it captures goes into [`Mutating`](super::Mutating).
    ///
    /// While the breaker would reject, it waits as [`wait`](crate::wait) says. It gives up when the tries are used up or
    /// the time is over, and at once while the breaker is forced open, or open for longer than there is time left.
    ///
    /// # Errors
    /// The error of the last try; the rejection if none was made. With [`Retry::try_limit`] the error of a try is a
    /// [`Timed<E>`](super::Timed).
    ///
    /// # Not around another call
    /// The operation is not a call through a breaker itself, or the breaker stands inside itself: while it is half-open,
    /// the inner call is rejected by the slot that the outer one holds. For a time limit there is [`Retry::try_limit`].
    /// What another breaker guards goes through [`retry_with`](Self::retry_with); see [`Unguarded`].
    ///
    /// ```
    /// use atomic_breaker::{Breaker, wait::{HasTimer, Retry}};
    /// # async fn send(_: &[u8]) -> Result<(), ()> { Ok(()) }
    ///
    /// async fn report(radio: &Breaker<impl HasTimer>, reading: &[u8]) -> bool {
    ///     radio.retry(Retry::new(), || send(reading)).await.is_ok()
    /// }
    /// ```
    pub fn retry<V, E: Unguarded, L: TryLimit>(
        &self,
        policy: Retry<L>,
        operation: impl Repeatable<V, E>,
    ) -> impl Future<Output = Result<V, CallError<L::Error<E>>>>
    where
        C: HasTimer,
    {
        self.retry_with(AnyError, policy, operation)
    }

    /// [`retry`](Self::retry) with a classifier that says what a result means, to the breaker and to the retry: only a
    /// result that is a [failure](Outcome::Failure) is tried again; one that is ignored, such as the caller's own
    /// mistake, or counts as a success is returned at once.
    pub fn retry_with<V, E, L: TryLimit>(
        &self,
        classify: impl Classify<V, L::Error<E>>,
        policy: Retry<L>,
        mut operation: impl Repeatable<V, E>,
    ) -> impl Future<Output = Result<V, CallError<L::Error<E>>>>
    where
        C: HasTimer,
    {
        async move {
            let mut tries = Tries::new(self.clock.timer(), policy);
            loop {
                if let Some(result) = tries.turn(self).await {
                    return result;
                }
                let ended = self
                    .make_try(policy.limit, &classify, |ticket| {
                        operation.start(move || ticket.trips())
                    })
                    .await;
                if let Some(result) = tries.judge(self, ended).await {
                    return result;
                }
            }
        }
    }

    /// Makes one call, and returns what the classifier said of its result.
    fn make_try<V, E, F, L: TryLimit>(
        &self,
        limit: L,
        classify: &impl Classify<V, L::Error<E>>,
        operation: impl FnOnce(Ticket<W::Bits>) -> F,
    ) -> impl Future<Output = Tried<V, CallError<L::Error<E>>>>
    where
        F: Future<Output = Result<V, E>>,
        C: HasTimer,
    {
        async move {
            let mut permit = match self.acquire() {
                Ok(permit) => permit,
                Err(rejected) => return Tried::Rejected(rejected.into()),
            };
            let result = {
                let mut sleep = pin!(limit.sleep(&self.clock.timer()));
                let ticket = permit.ticket;
                let mut future = pin!(count_panic(&mut permit, || operation(ticket)));
                poll_fn(|context| {
                    count_panic(&mut permit, || {
                        L::poll::<C::Timer, _, _, _>(future.as_mut(), sleep.as_mut(), context)
                    })
                })
                .await
                // The future is dropped before the report, so that tasks woken by the report find free what it held.
            };
            let outcome = count_panic(&mut permit, || classify.classify(&result));
            permit.end(outcome);
            Tried::new(result.map_err(CallError::Failed), outcome)
        }
    }
}

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

/// What comes between the tries: [`Breaker::retry`] for anything that can be [awaited](Awaited), one step at a time.
#[derive(Debug)]
pub struct Tries<T, V, X> {
    waiter: Waiter<T>,
    policy: Retry,
    made: u32,
    last: Option<Result<V, X>>,
    gave_up: bool,
}

impl<T: Timer, V, X> Tries<T, V, X> {
    /// The state before the first try. The time of the policy begins now.
    pub fn new<L: TryLimit>(timer: T, policy: Retry<L>) -> Self {
        Self {
            waiter: Waiter::trying(timer).giving_up_after(policy.within_ms),
            policy: policy.with_limit(()),
            made: 0,
            last: None,
            gave_up: false,
        }
    }

    /// The timer that pauses between tries.
    pub const fn timer(&self) -> &T {
        &self.waiter.timer
    }

    /// Waits until a try is worthwhile, or returns the final result if none is worthwhile any more. If the
    /// operation was never run, it returns `None` even then: make the call nevertheless; it is rejected like any
    /// other.
    pub async fn turn(&mut self, awaited: &impl Awaited) -> Option<Result<V, X>> {
        self.gave_up = !self.waiter.turn(awaited).await;
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
            Tried::Rejected(rejected) => return self.gave_up.then_some(Err(rejected)),
        };
        self.made += 1;
        if self.made >= self.policy.tries {
            return Some(result);
        }
        self.waiter.restart();
        let pause_ms = self.policy.pause_ms(self.made, Spread::draw(awaited));
        let rejected = awaited.snapshot().rejection();
        let is_vain = rejected.is_some_and(|rejected| self.waiter.gives_up(rejected));
        let left_ms = self.waiter.left_ms();
        if is_vain || left_ms == 0 || pause_ms > left_ms {
            return Some(result);
        }
        self.waiter.sleep(pause_ms).await;
        self.last = Some(result);
        None
    }
}
