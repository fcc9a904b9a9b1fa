//! Permits of any kind of breaker, and how the response of a call ends one.

use std::fmt::Display;

use atomic_breaker::{AnyBreaker, AnyError, Classify, Outcome, Permit, Transition};

use super::judged;

/// The right to one call of any kind of breaker: one that stands alone, or one in a registry. Dropping it cancels it.
pub trait AnyPermit: Sized {
    /// Reports how the call ended. Returns the transition that this caused, if any.
    fn report(self, outcome: Outcome) -> Option<Transition>;

    /// [`report`](Self::report) with a few words about the failure, which are only requested if it opens the breaker,
    /// and are kept if there is a place for them.
    fn report_because(self, outcome: Outcome, why: impl FnOnce() -> String) -> Option<Transition> {
        let _ = why;
        self.report(outcome)
    }

    /// [`report_because`](Self::report_because) for a failure that ended other calls as well, such as the loss of the
    /// connection they shared: one of the calls that were under way counts, and the others are ignored. A call that
    /// begins afterwards and fails counts again.
    ///
    /// This is exact for the permits of a `Resource` and of a registry. A breaker alone has only its
    /// word to go by ([`Permit::is_unchanged`]): calls that report at the same moment on several threads may each
    /// count, and all of them count if the only rule is a failure ratio, which counts outside the word.
    fn report_shared(self, outcome: Outcome, why: impl FnOnce() -> String) -> Option<Transition> {
        self.report_because(outcome, why)
    }

    /// Whether this call is a probe.
    fn is_probe(&self) -> bool;

    /// Whether the breaker admitted the call; if not, the call passes in shadow mode and is not reported to the
    /// breaker.
    fn is_admitted(&self) -> bool {
        true
    }

    /// Starts the permit again if its report would still count: [`Permit::renew`]. If this returns `false`, as it does
    /// by default, the holder gives the permit back and asks for another one.
    fn renew(&mut self) -> bool {
        false
    }
}

impl<H: AnyBreaker> AnyPermit for Permit<H> {
    fn report(self, outcome: Outcome) -> Option<Transition> {
        Self::report(self, outcome)
    }

    /// A probe's failure always counts: the word changes with each probe.
    fn report_shared(self, outcome: Outcome, _: impl FnOnce() -> String) -> Option<Transition> {
        let counts = Self::is_probe(&self) || self.is_unchanged();
        Self::report(self, if counts { outcome } else { Outcome::Ignored })
    }

    fn is_probe(&self) -> bool {
        Self::is_probe(self)
    }

    fn renew(&mut self) -> bool {
        Self::renew(self)
    }
}

/// Ends a permit according to the result of its call: at once, as classifiers do, or when more is known,
/// such as at the end of a body, which then takes the permit along.
///
/// Closures, [`AnyError`] and the classifiers of this crate are reports. Your own [classifier](Classify)
/// becomes a report inside [`AtOnce`]. (It is not one by itself: if every classifier were a report, no
/// report that waits for a body could be written, because its type might also become a classifier.)
///
/// ```
/// use atomic_breaker_server::{AnyError, Config, Outcome, Report, breaker};
///
/// let server = breaker(Config::new());
/// let result: Result<u8, &str> = AnyError.report(server.acquire()?, Err("timed out"));
/// assert_eq!((result, server.snapshot().failures()), (Err("timed out"), 1));
///
/// let ignore = |_: &Result<u8, &str>| Outcome::Ignored;
/// let _ = ignore.report(server.acquire()?, Err("timed out"));
/// assert_eq!(server.snapshot().failures(), 1);
/// # Ok::<(), atomic_breaker_server::Rejected>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not report calls that end with `Result<{T}, {E}>`",
    note = "`AnyError` needs an error that can be displayed; wrap your own classifier in `AtOnce(..)`, or write `|result: &Result<{T}, {E}>| -> Outcome {{ .. }}`"
)]
pub trait Report<T, E> {
    /// The result's value, with the permit in it if it is not reported yet.
    type Output<P: AnyPermit>;

    /// Reports the permit, or passes it on.
    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<Self::Output<P>, E>;
}

/// Reports with a [classifier](Classify), as soon as there is a result.
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
