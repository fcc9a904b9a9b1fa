// SPDX-License-Identifier: MIT OR Apache-2.0
//! Guarded calls: acquire, run, report, in one expression.

use core::future::poll_fn;
use core::pin::pin;

use crate::breaker::{AnyBreaker, Breaker};
use crate::clock::Clock;
use crate::config::AsRules;
use crate::error::{CallError, Rejected};
use crate::observer::Observer;
use crate::outcome::{AnyError, Classify, Failure, or_on_panic};
use crate::permit::Permit;
use crate::tally::Tally;
use crate::token::Ticket;
use crate::word::Word;

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// Runs `operation` if the breaker admits it. `Ok` counts as a success, `Err` and a panic as a
    /// failure.
    ///
    /// For futures there is [`call_async`](Self::call_async): a closure that returns one has done nothing
    /// yet, so `call(|| Ok(async { .. }))` guards nothing.
    #[inline]
    pub fn call<V, E>(&self, operation: impl FnOnce() -> Result<V, E>) -> Result<V, CallError<E>> {
        self.call_with(AnyError, operation)
    }

    /// [`call`](Self::call) with a classifier that says what the result means. A panic of the classifier counts
    /// as a failure, too.
    #[inline]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "closures are passed by value"
    )]
    pub fn call_with<V, E>(
        &self,
        classify: impl Classify<V, E>,
        operation: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, CallError<E>> {
        // Not a permit, because its drop would keep it in memory.
        let ticket = self.admit()?;
        let result = or_on_panic(operation, || self.fail_by_panic(ticket));
        let outcome = or_on_panic(|| classify.classify(&result), || self.fail_by_panic(ticket));
        self.report(ticket, outcome);
        result.map_err(CallError::Failed)
    }

    #[cold]
    #[inline(never)]
    fn fail_by_panic(&self, ticket: Ticket<W::Bits>) {
        self.report(ticket, Failure::new().into());
    }

    /// Runs the future that `operation` makes, if the breaker admits it. Needs no runtime and does not
    /// allocate. Dropping the future cancels the call; see [`Permit`](crate::Permit#dropped).
    ///
    /// # Timeouts belong inside, and must be errors
    ///
    /// ```text
    /// timeout(limit, breaker.call_async(f))                      never trips: it drops the call
    /// breaker.call_async(|| timeout(limit, f()))                 counts the error inside `Ok` as success
    /// breaker.call_async(|| async { timeout(limit, f()).await? })    right
    /// ```
    ///
    /// In the second line `f`'s own error arrives as `Ok(Err(_))`, and any outer `Ok` is a success. In the third line,
    /// `?` turns both into one error. [`call_timeout`](Self::call_timeout) does it for you. A timeout
    /// around the call is right only in addition to one inside; [`slow_call`](crate::Config::slow_call) counts the
    /// calls that it cuts short. The same holds for a `select!` in which the call may lose, and for a caller that
    /// disconnects: both drop the future.
    #[inline]
    pub fn call_async<V, E, F>(
        &self,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Result<V, CallError<E>>>
    where
        F: Future<Output = Result<V, E>>,
    {
        self.call_async_with(AnyError, operation)
    }

    /// [`call_async`](Self::call_async) with a classifier that says what the result means.
    #[inline]
    pub async fn call_async_with<V, E, F>(
        &self,
        classify: impl Classify<V, E>,
        operation: impl FnOnce() -> F,
    ) -> Result<V, CallError<E>>
    where
        F: Future<Output = Result<V, E>>,
    {
        let mut permit = self.acquire()?;
        let mut future = pin!(count_panic(&mut permit, operation));
        let result =
            poll_fn(|context| count_panic(&mut permit, || future.as_mut().poll(context))).await;
        let outcome = count_panic(&mut permit, || classify.classify(&result));
        permit.end(outcome);
        result.map_err(CallError::Failed)
    }
}

/// Runs `operation`; if it panics, the permit reports a failure.
#[inline]
pub(crate) fn count_panic<V, H: AnyBreaker>(
    permit: &mut Permit<H>,
    operation: impl FnOnce() -> V,
) -> V {
    or_on_panic(operation, || permit.end(Failure::new().into()))
}

/// Fallback values for rejected calls, in one expression.
///
/// The combinators of `Result` cover most cases: `breaker.call(f).unwrap_or(default)`,
/// `breaker.call(f).or_else(|_| other())`. This trait adds the case where only a rejected call gets a fallback,
/// and the operation's own error is returned unwrapped.
///
/// ```
/// use atomic_breaker::{Breaker, Config, Fallback, ManualClock};
///
/// fn from_sensor() -> Result<u32, &'static str> { Err("no answer") }
/// fn last_known() -> u32 { 21 }
///
/// let clock = ManualClock::new();
/// let breaker = Breaker::new(Config::new().consecutive_failures(1), &clock);
///
/// assert_eq!(breaker.call(from_sensor).or_if_rejected(|_| Ok(last_known())), Err("no answer"));
/// assert_eq!(breaker.call(from_sensor).or_if_rejected(|_| Ok(last_known())), Ok(21));
/// ```
pub trait Fallback<R, E> {
    /// Replaces a rejection with the result of `other`; a failed call stays failed.
    fn or_if_rejected(self, other: impl FnOnce(Rejected) -> Result<R, E>) -> Result<R, E>;
}

impl<R, E> Fallback<R, E> for Result<R, CallError<E>> {
    fn or_if_rejected(self, other: impl FnOnce(Rejected) -> Result<R, E>) -> Result<R, E> {
        match self {
            Ok(value) => Ok(value),
            Err(CallError::Failed(error)) => Err(error),
            Err(CallError::Rejected(rejected)) => other(rejected),
        }
    }
}
