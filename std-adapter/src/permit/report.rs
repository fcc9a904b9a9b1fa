//! How the response of a call ends its permit.

use std::fmt::Display;

use atomic_breaker::{AnyError, Classify, Outcome};

use super::{AnyPermit, judged};

/// Ends a permit according to the result of its call: at once, as classifiers do, or when more is known,
/// such as at the end of a body, which then takes the permit along.
///
/// Closures, [`AnyError`] and the classifiers of this crate are reports. Your own [classifier](Classify)
/// becomes a report inside [`AtOnce`]. (It is not one by itself: if every classifier were a report, no
/// report that waits for a body could be written, because its type might also become a classifier.)
///
/// ```
/// use atomic_breaker_std::{AnyError, Config, Outcome, Report, breaker};
///
/// let server = breaker(Config::new());
/// let result: Result<u8, &str> = AnyError.report(server.acquire()?, Err("timed out"));
/// assert_eq!((result, server.snapshot().failures()), (Err("timed out"), 1));
///
/// let ignore = |_: &Result<u8, &str>| Outcome::Ignored;
/// let _ = ignore.report(server.acquire()?, Err("timed out"));
/// assert_eq!(server.snapshot().failures(), 1);
/// # Ok::<(), atomic_breaker_std::Rejected>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not report calls that end with `Result<{T}, {E}>`",
    note = "`AnyError` needs an error that can be displayed; wrap your own classifier in `AtOnce(..)`, or write `|result: &Result<{T}, {E}>| -> Outcome {{ .. }}`"
)]
pub trait Report<T, E> {
    /// The result's value, with the permit in it if it is not reported yet.
    type Output<P: AnyPermit>;

    /// Reports the permit, or passes it on.
    ///
    /// # Errors
    /// The error of the result, unchanged.
    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<Self::Output<P>, E>;
}

/// Reports with a [classifier](Classify), as soon as there is a result.
///
/// ```
/// use atomic_breaker_std::{AtOnce, Classify, Config, Failure, Outcome, Report, breaker};
///
/// /// A classifier that has to be kept by name.
/// struct Heavy(u16);
///
/// impl<T, E> Classify<T, E> for Heavy {
///     fn classify(&self, result: &Result<T, E>) -> Outcome {
///         match result {
///             Ok(_) => Outcome::Success,
///             Err(_) => Failure::with_weight(self.0).into(),
///         }
///     }
/// }
///
/// let server = breaker(Config::new());
/// let _ = AtOnce(Heavy(3)).report(server.acquire()?, Err::<(), _>("no answer"));
/// assert_eq!(server.snapshot().failures(), 3);
/// # Ok::<(), atomic_breaker_std::Rejected>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AtOnce<C>(pub C);

impl<T, E, C: Classify<T, E>> Classify<T, E> for AtOnce<C> {
    #[inline]
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        self.0.classify(result)
    }
}

impl<T, E, C: Classify<T, E>> Report<T, E> for AtOnce<C> {
    type Output<P: AnyPermit> = T;

    #[inline]
    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        report_as(permit, || self.0.classify(&result));
        result
    }
}

/// Reports an outcome; if `classify` panics, the call has failed.
#[inline]
fn report_as(permit: impl AnyPermit, classify: impl FnOnce() -> Outcome) {
    let (permit, outcome) = judged(permit, classify);
    permit.report(outcome);
}

impl<T, E, F: Fn(&Result<T, E>) -> Outcome> Report<T, E> for F {
    type Output<P: AnyPermit> = T;

    #[inline]
    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        report_as(permit, || self(&result));
        result
    }
}

/// The text of the error is kept as the last failure, if there is a place for it.
impl<T, E: Display> Report<T, E> for AnyError {
    type Output<P: AnyPermit> = T;

    #[inline]
    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        let outcome = self.classify(&result);
        permit.report_because(outcome, || match &result {
            // A success opens a breaker only by being slow, and for that the permit supplies its own
            // words.
            Ok(_) => "too slow".to_owned(),
            Err(error) => error.to_string(),
        });
        result
    }
}
