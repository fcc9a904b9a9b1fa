//! Permits of whatever breaker.

use atomic_breaker::{AnyBreaker, Outcome, Permit, Transition};

/// The right to one call of whatever breaker: one that stands alone, or one of a registry. Dropping it
/// cancels.
pub trait AnyPermit: Sized {
    /// The call ended. Returns the transition that this made, if any.
    fn report(self, outcome: Outcome) -> Option<Transition>;

    /// [`report`](Self::report) with a few words about the failure, which are only asked for if it opens the
    /// breaker, and kept where there is a place for them.
    fn report_because(self, outcome: Outcome, why: impl FnOnce() -> String) -> Option<Transition> {
        let _ = why;
        self.report(outcome)
    }

    /// Whether this call is a probe.
    fn is_probe(&self) -> bool;

    /// Whether the breaker admitted the call; if not, it passes in shadow mode, and is not reported to the
    /// breaker.
    fn is_admitted(&self) -> bool {
        true
    }

    /// Starts the permit again, if what it says still counts: [`Permit::renew`]. A permit that answers
    /// `false`, as it does by default, is given back by whoever holds it, and another one asked for.
    fn renew(&mut self) -> bool {
        false
    }
}

impl<H: AnyBreaker> AnyPermit for Permit<H> {
    fn report(self, outcome: Outcome) -> Option<Transition> {
        Self::report(self, outcome)
    }

    fn is_probe(&self) -> bool {
        Self::is_probe(self)
    }

    fn renew(&mut self) -> bool {
        Self::renew(self)
    }
}
