// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls with a time limit.

use core::fmt;
use core::future::poll_fn;
use core::pin::pin;
use core::time::Duration;

use super::{HasTimer, ProbeSeen, TimedOperation, Timer, ms, poll_within};
use crate::breaker::Breaker;
use crate::call::count_panic;
use crate::clock::Clock;
use crate::config::AsRules;
use crate::error::CallError;
use crate::observer::Observer;
use crate::outcome::{Classify, Failure, Outcome};
use crate::tally::Tally;
use crate::word::Word;

/// The time limit of a call, and the meaning of a timeout. A [`Duration`] is a limit whose timeouts have weight 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub struct TimeLimit {
    limit_ms: u64,
    failure: Failure,
}

impl TimeLimit {
    /// No limit.
    pub const NONE: Self = Self::new(Duration::MAX);

    /// A limit, rounded up to milliseconds; exceeding it is a failure of weight 1. [`Duration::MAX`] is
    /// no limit.
    pub const fn new(limit: Duration) -> Self {
        Self {
            limit_ms: ms(limit),
            failure: Failure::new(),
        }
    }

    /// The limit, in whole milliseconds; `None` if there is none.
    pub const fn duration(self) -> Option<Duration> {
        match self.limit_ms {
            u64::MAX => None,
            ms => Some(Duration::from_millis(ms)),
        }
    }

    pub(crate) const fn ms(self) -> u64 {
        self.limit_ms
    }

    /// The failure that a timeout counts as.
    pub const fn counting_as(mut self, failure: Failure) -> Self {
        self.failure = failure;
        self
    }

    /// The failure that a timeout counts as: for classifiers.
    pub const fn failure(self) -> Failure {
        self.failure
    }
}

impl From<Duration> for TimeLimit {
    fn from(limit: Duration) -> Self {
        Self::new(limit)
    }
}

/// The time limit of a call: a [`Duration`], or a [`TimeLimit`] that says what a timeout counts as; with a
/// [timer](Timer) `T` that has durations of its own, one of those.
///
/// A timeout of a `Duration` is a failure of weight 1, and the compiler knows it: firmware whose calls have no other
/// limits contains no code for failures that trip at once, a third of what a call with a time limit takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a time limit",
    note = "give a `Duration` of `core::time`, or a `TimeLimit`"
)]
pub trait Limit<T>: Copy {
    /// The failure that a timeout counts as, as a type.
    type Counts: Copy + Into<Failure>;

    /// The failure that a timeout counts as.
    fn counts(self) -> Self::Counts;

    /// The time limit of a call, and the failure that a timeout counts as.
    fn time_limit(self) -> TimeLimit;
}

/// A failure of weight 1, as a type.
#[derive(Clone, Copy, Debug)]
pub struct OneFailure;

impl From<OneFailure> for Failure {
    #[inline]
    fn from(_: OneFailure) -> Self {
        Self::new()
    }
}

impl<T> Limit<T> for Duration {
    type Counts = OneFailure;

    #[inline]
    fn counts(self) -> OneFailure {
        OneFailure
    }

    #[inline]
    fn time_limit(self) -> TimeLimit {
        TimeLimit::new(self)
    }
}

impl<T> Limit<T> for TimeLimit {
    type Counts = Failure;

    #[inline]
    fn counts(self) -> Failure {
        self.failure
    }

    #[inline]
    fn time_limit(self) -> TimeLimit {
        self
    }
}

/// The error of a call with a time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Timed<E> {
    /// The operation took too long, and was dropped.
    TimedOut,
    /// The operation failed in time, with this error.
    Failed(E),
}

impl<E: fmt::Display> fmt::Display for Timed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("timed out"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for Timed<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::TimedOut => None,
            // `Display` shows the operation's error itself, so the chain goes on below it.
            Self::Failed(error) => error.source(),
        }
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// [`call_async`](Self::call_async) that takes no longer than `limit`: a [`Duration`], or a [`TimeLimit`] that says
    /// what a timeout counts as, a failure of weight 1 otherwise. A timeout drops the future that was running. A result
    /// that comes exactly at the limit is in time. Values moved into `operation` make the future larger twice: borrow
    /// them.
    ///
    /// # Errors
    /// [`CallError::Rejected`] when the operation was not run; [`CallError::Failed`] with [`Timed::TimedOut`] or with the
    /// operation's own error.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, wait::HasTimer};
    /// use core::time::Duration;
    /// # async fn send(_: &[u8]) -> Result<(), ()> { Ok(()) }
    ///
    /// async fn report(radio: &Breaker<impl HasTimer>, reading: &[u8]) -> bool {
    ///     let limit = Duration::from_millis(200);
    ///     radio.call_timeout(limit, || send(reading)).await.is_ok()
    /// }
    /// ```
    pub fn call_timeout<V, E, F>(
        &self,
        limit: impl Limit<C::Timer>,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Result<V, CallError<Timed<E>>>>
    where
        F: Future<Output = Result<V, E>>,
        C: HasTimer,
    {
        let counts = limit.counts();
        let classify = move |result: &Result<V, Timed<E>>| match result {
            Ok(_) => Outcome::Success,
            Err(Timed::TimedOut) => Outcome::Failure(counts.into()),
            Err(Timed::Failed(_)) => Failure::new().into(),
        };
        self.call_timeout_with(classify, limit, operation)
    }

    /// [`call_timeout`](Self::call_timeout) with a classifier that says what results and timeouts mean; it decides alone.
    pub fn call_timeout_with<V, E, F>(
        &self,
        classify: impl Classify<V, Timed<E>>,
        limit: impl Limit<C::Timer>,
        operation: impl FnOnce() -> F,
    ) -> impl Future<Output = Result<V, CallError<Timed<E>>>>
    where
        F: Future<Output = Result<V, E>>,
        C: HasTimer,
    {
        let settle = move |answer: Option<Result<V, E>>| {
            let result = match answer {
                Some(result) => result.map_err(Timed::Failed),
                None => Err(Timed::TimedOut),
            };
            let outcome = classify.classify(&result);
            (result, outcome)
        };
        self.call_timed(settle, limit.time_limit(), operation)
    }

    /// A call with a time limit, whose operation may be given the probe so that it [repairs](crate::Device) first.
    /// `settle` turns what came, `None` if the limit passed, into the result and what it counts as.
    pub(crate) fn call_timed<V, X, P: TimedOperation>(
        &self,
        settle: impl FnOnce(Option<<P::Future as Future>::Output>) -> (Result<V, X>, Outcome),
        limit: TimeLimit,
        operation: P,
    ) -> impl Future<Output = Result<V, CallError<X>>>
    where
        C: HasTimer,
    {
        // The only future of a call with a limit, because each layer would hold the operation once more.
        let mut limit_ms = limit.limit_ms;
        async move {
            let (mut permit, probe) = if P::IS_TOLD {
                self.acquire_repairing(operation.last_round())?
            } else {
                (self.acquire()?, ProbeSeen::NONE)
            };
            let answer = {
                limit_ms = operation.limit_ms(probe, limit_ms);
                let (operation, has_repaired) = operation.told(probe);
                let mut future = pin!(count_panic(&mut permit, operation));
                // A call that waited for a repair is not slow.
                if has_repaired() {
                    permit.renew();
                }
                let mut sleep = pin!(self.clock.timer().sleep(limit_ms));
                let (permit, limit_ms) = (&mut permit, &limit_ms);
                poll_fn(move |context| {
                    let polled = count_panic(permit, || {
                        if *limit_ms == u64::MAX {
                            future.as_mut().poll(context).map(Some)
                        } else {
                            poll_within(future.as_mut(), sleep.as_mut(), context)
                        }
                    });
                    if has_repaired() {
                        permit.renew();
                    }
                    polled
                })
                .await
                // The future is dropped before the report, so that tasks woken by the report find free what it
                // held.
            };
            let (result, outcome) = count_panic(&mut permit, || settle(answer));
            permit.end(outcome);
            result.map_err(CallError::Failed)
        }
    }
}
