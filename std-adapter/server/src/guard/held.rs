// SPDX-License-Identifier: MIT OR Apache-2.0
//! The right to one call of a guard.

#![expect(
    clippy::inline_always,
    reason = "a permit that is handed through memory costs more than all else here, and is read where it lies"
)]

use std::fmt;

use atomic_breaker::{Failure, Outcome, State, Transition};

use super::grants::{Granted, Grants, Kind};
use crate::loss::{Begun, ConnectionId};
use crate::permit::{AnyPermit, Rejection, Report, ServiceError, drawn, run_admitted};

/// The right to one call of a [`Guard`](crate::Guard), reported as [`AnyPermit`] says. Dropping it cancels it. `G` leads
/// to what guards the call: a reference to or an `Arc` of a [`Resource`](crate::Resource), or a [`KeyGuard`](crate::KeyGuard).
///
/// ```
/// use atomic_breaker_server::{AnyPermit, Config, GuardPermit, Outcome, Resource, breaker};
/// use std::{sync::Arc, thread};
///
/// let payments = Arc::new(Resource::new(breaker(Config::new())));
/// // Owns its `Arc`, so that it can go elsewhere; `payments.acquire()` borrows.
/// let permit = GuardPermit::acquire(Arc::clone(&payments))?;
/// thread::spawn(move || permit.report(Outcome::Success));
/// # Ok::<(), atomic_breaker_server::Rejection>(())
/// ```
#[must_use = "report how the call went: a permit that is dropped counts as cancelled"]
pub struct GuardPermit<G: Grants> {
    guard: G,
    granted: Granted<G::Bits, G::Place>,
    begun: Begun,
    fails_when_dropped: bool,
}

impl<G: Grants> GuardPermit<G> {
    /// [`Guard::acquire`](crate::Guard::acquire), for an `Arc` of a [`Resource`](crate::Resource) as well.
    #[inline(always)]
    pub fn acquire(guard: G) -> Result<Self, Rejection> {
        Self::acquire_by(guard, |guard| drawn(|| guard.random()))
    }

    /// [`acquire`](Self::acquire) with another source of the random number that decides whether a rejection is enforced.
    #[inline(always)]
    pub(crate) fn acquire_by(guard: G, random: impl Fn(&G) -> u32) -> Result<Self, Rejection> {
        let begun = Begun::now();
        #[expect(
            clippy::question_mark,
            reason = "with `?` a rejection takes 13 instructions more"
        )]
        let granted = match guard.grant(|| random(&guard)) {
            Ok(granted) => granted,
            Err(rejection) => return Err(rejection),
        };
        Ok(Self::new(guard, granted, begun))
    }

    #[inline(always)]
    pub(crate) const fn new(guard: G, granted: Granted<G::Bits, G::Place>, begun: Begun) -> Self {
        Self {
            guard,
            granted,
            begun,
            fails_when_dropped: false,
        }
    }

    /// The guard of the call.
    pub const fn guard(&self) -> &G {
        &self.guard
    }

    /// Makes the permit count as failed if it is dropped without a report: for code that returns early with `?`, and
    /// for operations that may panic.
    pub fn failing_when_dropped(mut self) -> Self {
        self.fails_when_dropped = true;
        self
    }

    /// Reports an outcome for a call that is not made, with words that say why, and asks for another permit.
    pub fn replace(self, outcome: Outcome, why: impl FnOnce() -> String) -> Result<Self, Rejection>
    where
        G: Clone,
    {
        let guard = self.guard.clone();
        self.report_because(outcome, why);
        Self::acquire(guard)
    }

    /// Ends the permit without a report, as dropping it does by default.
    pub fn cancel(mut self) {
        self.fails_when_dropped = false;
    }

    /// Reports the outcome, or that the call was cancelled.
    #[inline(always)]
    fn end_as(
        &mut self,
        outcome: Option<Outcome>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let granted = self.granted;
        self.granted.kind = Kind::Ended;
        self.guard.end(granted, outcome, why)
    }
}

/// Makes a call, unless it is rejected.
pub(super) fn guarded<G, V, E, R, F>(
    guard: G,
    report: R,
    operation: impl FnOnce() -> F,
) -> impl Future<Output = Result<R::Output<GuardPermit<G>>, ServiceError<E>>>
where
    G: Grants,
    R: Report<V, E>,
    F: Future<Output = Result<V, E>>,
{
    let admit = || match GuardPermit::acquire(guard) {
        Ok(permit) => Ok((permit, ())),
        Err(rejection) => Err(ServiceError::Rejected(rejection)),
    };
    run_admitted(admit, report, |()| operation(), ServiceError::Failed)
}

impl<G: Grants> AnyPermit for GuardPermit<G> {
    type Key = G::Key;

    fn key(&self) -> &G::Key {
        self.guard.key()
    }

    #[inline(always)]
    fn end(
        mut self,
        outcome: Outcome,
        shared: Option<ConnectionId>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        // That of a probe always counts: the first to report may be from before the trip, and change nothing. One that no
        // longer counts must not take the place of one that does.
        let counts = shared.is_none_or(|connection| {
            !self.still_counts()
                || self.guard.counts_shared(self.begun, connection)
                || self.is_probe()
        });
        self.end_as(Some(if counts { outcome } else { Outcome::Ignored }), why)
    }

    fn trips(&self) -> u8 {
        if self.is_probe() {
            self.granted.token().trips()
        } else {
            0
        }
    }

    fn is_probe(&self) -> bool {
        self.granted.kind == Kind::Probe
    }

    fn is_admitted(&self) -> bool {
        self.granted.kind != Kind::Unguarded
    }

    fn is_enforced(&self) -> bool {
        // What is asked about is a probe.
        let state = State::HalfOpen;
        self.guard
            .is_enforced(state, || drawn(|| self.guard.random()))
    }

    fn still_counts(&self) -> bool {
        let reports = !matches!(self.granted.kind, Kind::Unguarded | Kind::Ended);
        reports && self.guard.still_counts(self.granted)
    }

    /// Returns `false` for a call that passes in shadow mode, so that permission is asked for again each time, because the
    /// mode may have changed.
    fn renew(&mut self) -> bool {
        let is_granted = !matches!(self.granted.kind, Kind::Unguarded | Kind::Ended);
        let renewed = is_granted.then(|| self.guard.renew(self.granted)).flatten();
        if let Some(granted) = renewed {
            self.granted = granted;
        }
        renewed.is_some()
    }
}

impl<G: Grants> Drop for GuardPermit<G> {
    #[inline]
    fn drop(&mut self) {
        if self.granted.kind != Kind::Ended {
            let outcome = self.fails_when_dropped.then(|| Failure::new().into());
            self.end_as(outcome, None::<fn() -> String>);
        }
    }
}

impl<G: Grants> fmt::Debug for GuardPermit<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardPermit")
            .field("is_probe", &self.is_probe())
            .field("is_admitted", &self.is_admitted())
            .finish_non_exhaustive()
    }
}
