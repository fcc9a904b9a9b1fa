// SPDX-License-Identifier: MIT OR Apache-2.0
//! The outcome of a call, and the classifiers that decide it.

use core::mem;
use core::time::Duration;

use crate::number::{ms, time_of};

/// The result that a caller reports for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Outcome {
    /// The resource works. Still counts as a failure if it took too long, where
    /// [`Config::slow_call`](crate::Config::slow_call) is set.
    Success,
    /// The resource failed.
    Failure(Failure),
    /// The call says nothing about the resource, for example because the request itself was wrong. Neutral: a probe
    /// gives its slot back.
    Ignored,
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// A failure: its weight, whether it trips at once, for how long at least the breaker should open, and whether the call was
/// only too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub struct Failure {
    pub(crate) weight: u16,
    pub(crate) demand: Demand,
    slow: bool,
    pub(crate) retry_after_ms: Option<u32>,
}

/// The demand of a failure besides being counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) enum Demand {
    Nothing,
    /// A minimum open time, if it trips.
    Time,
    /// To trip at once.
    Trip,
}

impl Failure {
    /// A failure of weight 1.
    pub const fn new() -> Self {
        Self::with_weight(1)
    }

    /// A failure that counts as `weight` failures, and as one call for a [`Tally`](crate::Tally). With weight 0 it counts
    /// nowhere while closed; a probe that fails opens the breaker whatever its weight.
    pub const fn with_weight(weight: u16) -> Self {
        Self {
            weight,
            demand: Demand::Nothing,
            slow: false,
            retry_after_ms: None,
        }
    }

    /// A success that took too long: a failure of weight 1 that [is slow](Self::is_slow). Observers get it for a success
    /// that reaches [`Config::slow_call`](crate::Config::slow_call); a [classifier](Classify) may return it, too.
    pub const fn slow() -> Self {
        Self {
            slow: true,
            ..Self::new()
        }
    }

    /// A failure that trips at once, whatever was counted before.
    pub const fn tripping() -> Self {
        Self {
            demand: Demand::Trip,
            ..Self::new()
        }
    }

    /// A failure that trips at once and keeps the breaker open for at least `time`, rounded up to milliseconds and cut to
    /// [`Config::max_retry_after`](crate::Config::max_retry_after): for an answer that speaks for the whole resource, such as
    /// the back-off hint of a radio.
    pub const fn tripping_for(time: Duration) -> Self {
        Self::tripping().asking_for(time)
    }

    /// A failure of weight 1 that asks for a pause of at least `time`, rounded up to milliseconds and cut to
    /// [`Config::max_retry_after`](crate::Config::max_retry_after): the `Retry-After` of a server. It counts like any
    /// failure. If the rules trip by it, or it is a probe's, the breaker stays open for at least this long.
    ///
    /// On its own it opens nothing: one overloaded instance of twenty asks only those whom it has answered to wait. For
    /// that there is [`tripping_for`](Self::tripping_for).
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, Failure, ManualClock};
    /// use core::time::Duration;
    ///
    /// let config = Config::new().consecutive_failures(2).open_for(Duration::from_secs(1));
    /// let breaker = Breaker::new(config, ManualClock::new());
    /// let overloaded = Failure::retry_after(Duration::from_secs(10));
    ///
    /// breaker.acquire()?.report(overloaded);
    /// breaker.acquire()?.report(overloaded);
    /// assert_eq!(breaker.acquire().unwrap_err().retry_in(), Some(Duration::from_secs(10)));
    /// # Ok::<(), atomic_breaker::Rejected>(())
    /// ```
    pub const fn retry_after(time: Duration) -> Self {
        Self::new().asking_for(time)
    }

    /// Adds to a failure that it asks for a pause of at least `time`, as [`retry_after`](Self::retry_after) does for one of
    /// weight 1.
    pub const fn asking_for(mut self, time: Duration) -> Self {
        if let Demand::Nothing = self.demand {
            self.demand = Demand::Time;
        }
        self.retry_after_ms = Some(ms(time));
        self
    }

    /// The number of failures that this one counts as.
    pub const fn weight(self) -> u16 {
        self.weight
    }

    /// Returns whether it trips at once.
    pub const fn is_tripping(self) -> bool {
        matches!(self.demand, Demand::Trip)
    }

    /// Returns whether the call succeeded, but took too long. The breaker treats it like any failure of its weight; an
    /// observer can count it separately.
    pub const fn is_slow(self) -> bool {
        self.slow
    }

    /// The shortest open time that it asks for, if it trips.
    pub const fn min_open_time(self) -> Option<Duration> {
        time_of(self.retry_after_ms)
    }
}

impl Default for Failure {
    fn default() -> Self {
        Self::new()
    }
}

/// Turns the result of a call into its [`Outcome`]. Functions implement it, and so do closures whose argument has its
/// type written out, `|result: &Result<Value, Error>| ..`.
///
/// ```
/// use atomic_breaker::{Breaker, Config, Failure, ManualClock, Outcome};
///
/// enum Error { TimedOut, Refused, NotFound, TooLong }
///
/// fn classify(result: &Result<u8, Error>) -> Outcome {
///     match result {
///         // An answer that says no is an answer: a probe that gets it has shown that the resource works.
///         Ok(_) | Err(Error::NotFound) => Outcome::Success,
///         Err(Error::TimedOut) => Failure::new().into(),
///         Err(Error::Refused) => Failure::with_weight(3).into(),
///         // Nothing was sent.
///         Err(Error::TooLong) => Outcome::Ignored,
///     }
/// }
///
/// let breaker = Breaker::new(Config::new().consecutive_failures(3), ManualClock::new());
/// let _ = breaker.call_with(classify, || Err(Error::NotFound));
/// assert_eq!(breaker.snapshot().failures(), 0);
/// # let _ = (Error::TimedOut, Error::Refused, Error::TooLong);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not classify results of type `Result<{T}, {E}>`",
    label = "not a classifier of these results",
    note = "pass a function, or a closure that returns an `Outcome` and whose argument has its type written out: \
            `|result: &Result<{T}, {E}>| ..`"
)]
pub trait Classify<T, E> {
    /// Decides what the result says about the resource.
    fn classify(&self, result: &Result<T, E>) -> Outcome;
}

impl<T, E, F: Fn(&Result<T, E>) -> Outcome> Classify<T, E> for F {
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        self(result)
    }
}

/// The classifier of [`Breaker::call`](crate::Breaker::call): `Ok` is a success, every `Err` a
/// failure of weight 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyError;

impl<T, E> Classify<T, E> for AnyError {
    #[inline]
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        match result {
            Ok(_) => Outcome::Success,
            Err(_) => Failure::new().into(),
        }
    }
}

/// Runs `operation`, and `otherwise` if it panics. `core` cannot ask whether a thread is panicking, but a guard that is
/// not forgotten is dropped only by unwinding.
#[inline]
pub(crate) fn or_on_panic<V>(operation: impl FnOnce() -> V, otherwise: impl FnMut()) -> V {
    struct Unwinding<F: FnMut()>(F);
    impl<F: FnMut()> Drop for Unwinding<F> {
        #[inline]
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let guard = Unwinding(otherwise);
    let value = operation();
    mem::forget(guard);
    value
}
