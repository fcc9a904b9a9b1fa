//! A permit that fails when it is dropped.

use core::fmt;

use super::Permit;
use crate::breaker::AnyBreaker;
use crate::error::Rejected;
use crate::observer::Transition;
use crate::outcome::{Failure, Outcome};

/// The right to one call that counts as failed when it is dropped without a report: what
/// [`Breaker::attempt`](crate::Breaker::attempt) returns, for code that returns early with `?`.
///
/// In an `async` function, dropping the future drops the attempt, too, whether because of a timeout or
/// because the result is no longer wanted: both then count as failures.
/// [`Breaker::call_async`](crate::Breaker::call_async) tells such drops apart from errors.
#[must_use = "say that the call succeeded: an attempt that is dropped counts as failed"]
pub struct Attempt<H: AnyBreaker> {
    permit: Permit<H>,
}

impl<H: AnyBreaker> Attempt<H> {
    #[inline]
    pub(super) const fn new(permit: Permit<H>) -> Self {
        Self { permit }
    }

    /// [`Breaker::attempt`](crate::Breaker::attempt) for an attempt that owns its handle to the breaker,
    /// like [`Permit::acquire`].
    #[inline]
    pub fn acquire(handle: H) -> Result<Self, Rejected> {
        Permit::acquire(handle).map(Self::new)
    }

    /// The call succeeded. Returns the transition that this caused, if any.
    #[inline]
    pub fn success(self) -> Option<Transition> {
        self.into_permit().success()
    }

    /// The call failed: a failure of weight 1, as when the attempt is dropped. Returns the transition that
    /// this caused, if any.
    #[inline]
    pub fn failure(self) -> Option<Transition> {
        self.into_permit().failure()
    }

    /// The call ended with a result: `Ok` is a success, `Err` a failure of weight 1. Returns the transition
    /// that this caused, if any.
    #[inline]
    pub fn record<R, E>(self, result: &Result<R, E>) -> Option<Transition> {
        self.into_permit().record(result)
    }

    /// The call ended with an [`Outcome`] or a [`Failure`]. Returns the transition that this caused, if
    /// any.
    #[inline]
    pub fn report(self, outcome: impl Into<Outcome>) -> Option<Transition> {
        self.into_permit().report(outcome)
    }

    /// Ends the attempt without a report; see [`Permit::cancel`].
    #[inline]
    pub fn cancel(self) -> Option<Transition> {
        self.into_permit().cancel()
    }

    /// Whether this call is a probe: admitted while half-open.
    pub fn is_probe(&self) -> bool {
        self.permit.is_probe()
    }

    #[inline]
    fn into_permit(mut self) -> Permit<H> {
        self.permit.move_out()
    }
}

impl<H: AnyBreaker> Drop for Attempt<H> {
    #[inline]
    fn drop(&mut self) {
        self.permit.end(Failure::new().into());
    }
}

impl<H: AnyBreaker> fmt::Debug for Attempt<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("is_probe", &self.is_probe())
            .finish_non_exhaustive()
    }
}
