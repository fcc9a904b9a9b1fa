//! Permits of whatever breaker, and who reports them.

use atomic_breaker::{AnyBreaker, Classify, Outcome, Permit, Transition};

/// The right to one call of whatever breaker: one that stands alone or one of a registry. Dropping it
/// cancels.
pub trait AnyPermit {
    /// The call ended. Answers the transition that this made.
    fn report(self, outcome: Outcome) -> Option<Transition>;

    /// Whether this call is a probe.
    fn is_probe(&self) -> bool;
}

impl<H: AnyBreaker> AnyPermit for Permit<H> {
    fn report(self, outcome: Outcome) -> Option<Transition> {
        Self::report(self, outcome)
    }

    fn is_probe(&self) -> bool {
        Self::is_probe(self)
    }
}

/// Ends a permit by the result of its call: at once, as every [classifier](Classify) does, or when more is
/// known, as at the end of a body, which then takes the permit along.
pub trait Report<T, E> {
    /// The result's value, with the permit in it if it is not reported yet.
    type Output<P: AnyPermit>;

    /// Reports the permit, or hands it on.
    ///
    /// # Errors
    /// The error of the result, unchanged.
    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<Self::Output<P>, E>;
}

impl<T, E, C: Classify<T, E>> Report<T, E> for C {
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        permit.report(self.classify(&result));
        result
    }
}
