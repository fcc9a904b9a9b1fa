//! Permits of any kind of breaker.

use atomic_breaker::{AnyBreaker, Outcome, Permit, Transition};

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
    ///
    /// ```
    /// use atomic_breaker_resource::Resource;
    /// use atomic_breaker_std::{AnyPermit, Config, Failure, State, breaker};
    ///
    /// let server = Resource::new(breaker(Config::new().consecutive_failures(2)));
    /// let permits = [server.acquire()?, server.acquire()?, server.acquire()?];
    /// for permit in permits {
    ///     permit.report_shared(Failure::new().into(), || "connection lost".to_owned());
    /// }
    /// assert_eq!(server.breaker().snapshot().failures(), 1);
    /// // The next connection breaks as well.
    /// server.acquire()?.report_shared(Failure::new().into(), || "connection lost".to_owned());
    /// assert_eq!(server.breaker().state(), State::Open);
    /// # Ok::<(), atomic_breaker_std::Rejection>(())
    /// ```
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
