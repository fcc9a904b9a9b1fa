//! The right to one call of a resource.

use std::fmt;
use std::time::Duration;

use atomic_breaker::{AnyBreaker, BitsOf, Clock, Failure, Outcome, State, Token, Transition};

use super::AnyResource;
use crate::loss::Begun;
use crate::parts::lot;
use crate::redact::too_slow;
use crate::{AnyPermit, Rejection};

/// The right to one call of a [`Resource`](super::Resource). Dropping it cancels it. `H` leads to the resource: a
/// reference or an `Arc`.
#[must_use = "report how the call went: a permit that is dropped counts as cancelled"]
pub struct ResourcePermit<H: AnyResource> {
    handle: H,
    /// `None` once it is reported, and if the call passes although it should have been rejected.
    token: Option<Token<BitsOf<H::Breaker>>>,
    begun: Begun,
    is_probe: bool,
    fails_when_dropped: bool,
}

impl<H: AnyResource> ResourcePermit<H> {
    /// [`Resource::acquire`](super::Resource::acquire) for a permit that owns its handle to the resource.
    #[inline]
    pub fn acquire(handle: H) -> Result<Self, Rejection> {
        Self::acquire_by(handle, |breaker| {
            lot(|| breaker.as_breaker().clock().random())
        })
    }

    /// [`acquire`](Self::acquire) with another source of the random number that decides whether a rejection is enforced.
    #[inline]
    pub(super) fn acquire_by(
        handle: H,
        random: impl FnOnce(&H::Breaker) -> u32,
    ) -> Result<Self, Rejection> {
        let begun = Begun::now();
        let admitted = handle.breaker.as_breaker().acquire();
        let admitted = admitted.map(|permit| (permit.is_probe(), permit.into_token()));
        let (is_probe, token) = match admitted {
            Ok((is_probe, token)) => (is_probe, Some(token)),
            Err(rejected) => {
                handle.reject(rejected, random)?;
                (false, None)
            }
        };
        Ok(Self {
            handle,
            token,
            begun,
            is_probe,
            fails_when_dropped: false,
        })
    }

    /// Makes the permit count as failed if it is dropped without a report: for code that returns early with `?`, and
    /// for operations that may panic.
    pub fn failing_when_dropped(mut self) -> Self {
        self.fails_when_dropped = true;
        self
    }

    /// Ends the permit without a report, as dropping it does by default.
    pub fn cancel(mut self) {
        self.fails_when_dropped = false;
    }

    fn breaker(&self) -> &H::Breaker {
        &self.handle.breaker
    }

    /// Reports the outcome, or that the call was cancelled, once, and keeps the words if that opens the breaker. If there
    /// are no words it keeps none, because those of an earlier failure would be wrong.
    #[inline]
    fn end(
        &mut self,
        outcome: Option<Outcome>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let (bits, started_ms) = self.token.take()?.into_raw();
        let breaker = self.breaker().as_breaker();
        let permit = breaker.resume(Token::from_raw(bits, started_ms));
        let made = match outcome {
            Some(outcome) => permit.report(outcome),
            None => permit.cancel(),
        }?;
        if made.to == State::Open {
            let words = match outcome {
                // Only a success that took too long opens the breaker.
                Some(Outcome::Success) => {
                    let limit = breaker.config().slow_call_ms;
                    let limit = limit.map(|ms| Duration::from_millis(ms.into()));
                    Some(too_slow(started_ms, breaker.clock().now_ms(), limit))
                }
                Some(_) => why.map(|why| why()),
                None => Some("a call hung until it was cancelled".to_owned()),
            };
            let last_failure = &self.handle.last_failure;
            last_failure.set(&made, breaker.present(), words.as_deref());
        }
        Some(made)
    }
}

impl<H: AnyResource> AnyPermit for ResourcePermit<H> {
    #[inline]
    fn report(mut self, outcome: Outcome) -> Option<Transition> {
        self.end(Some(outcome), None::<fn() -> String>)
    }

    #[inline]
    fn report_because(
        mut self,
        outcome: Outcome,
        why: impl FnOnce() -> String,
    ) -> Option<Transition> {
        self.end(Some(outcome), Some(why))
    }

    fn report_shared(self, outcome: Outcome, why: impl FnOnce() -> String) -> Option<Transition> {
        let shared_failure = &self.handle.shared_failure;
        if self.token.is_some() && !shared_failure.is_first(self.begun) {
            return self.report(Outcome::Ignored);
        }
        self.report_because(outcome, why)
    }

    fn is_probe(&self) -> bool {
        self.is_probe
    }

    fn is_admitted(&self) -> bool {
        self.token.is_some()
    }

    /// For a call that passes in shadow mode, permission is asked for again each time, because the mode may have
    /// changed.
    fn renew(&mut self) -> bool {
        let Some(token) = self.token.take() else {
            return false;
        };
        let mut permit = self.breaker().as_breaker().resume(token);
        let is_current = permit.renew();
        self.token = Some(permit.into_token());
        is_current
    }
}

impl<H: AnyResource> Drop for ResourcePermit<H> {
    #[inline]
    fn drop(&mut self) {
        let outcome = self.fails_when_dropped.then(|| Failure::new().into());
        self.end(outcome, None::<fn() -> String>);
    }
}

impl<H: AnyResource> fmt::Debug for ResourcePermit<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourcePermit")
            .field("is_probe", &self.is_probe)
            .field("is_admitted", &self.is_admitted())
            .finish_non_exhaustive()
    }
}
