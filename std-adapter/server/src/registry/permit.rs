//! The right to one call of a key, and what was granted to the call.

use std::fmt;

use atomic_breaker::{Clock, Failure, Outcome, Token, Transition};

use super::whole::Place;
use super::{AnyRegistry, RegistryOf};
use crate::parts::{Begun, lot};
use crate::{AnyPermit, Rejection};

/// What was granted to a call of a key.
///
/// Flat, because it is moved at each step of a call: the fields of an enum are moved in pieces that do not
/// match the preceding writes, and the processor stalls on each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Granted {
    pub(super) kind: Kind,
    /// 0 if the call is not measured.
    pub(super) started_ms: u32,
    /// Used by [`Admitted`](Kind::Admitted) and [`Probe`](Kind::Probe).
    pub(super) place: Place,
    /// The word when it was granted; for [`Absent`](Kind::Absent), the number of the last key that had got a slot, or
    /// [`Self::COUNTED`].
    pub(super) bits: u64,
}

/// What granted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    /// By the breaker of a slot.
    Admitted,
    /// By the breaker of a slot, as a probe.
    Probe,
    /// The key has no slot.
    Absent,
    /// The call should have been rejected, and is not reported.
    Unguarded,
    /// Already reported.
    Ended,
}

impl Granted {
    pub(super) const UNGUARDED: Self = Self {
        kind: Kind::Unguarded,
        started_ms: 0,
        place: Place::NONE,
        bits: 0,
    };

    /// No number of a key: the call should have got a slot when it began, and was counted because there was none.
    pub(super) const COUNTED: u64 = u64::MAX;

    /// A call of a key without a slot that was counted as unguarded.
    pub(super) const fn unguarded(self) -> Self {
        Self {
            bits: Self::COUNTED,
            ..self
        }
    }

    /// The token of an admitted call or a probe.
    #[inline]
    pub(super) const fn token(self) -> Token<u64> {
        Token::from_raw(self.bits, self.started_ms)
    }
}

/// The right to one call of a key. Dropping it cancels it. `H` leads to the registry: a reference or an `Arc`.
#[must_use = "report how the call went: a permit that is dropped counts as cancelled"]
pub struct KeyedPermit<H: AnyRegistry> {
    handle: H,
    key: H::Key,
    granted: Granted,
    begun: Begun,
    fails_when_dropped: bool,
}

impl<H: AnyRegistry> KeyedPermit<H> {
    /// [`Registry::acquire`](super::Registry::acquire) for a permit that owns its handle to the registry.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a permit that is handed through memory costs more than all else here"
    )]
    pub fn acquire(handle: H, key: H::Key) -> Result<Self, Rejection> {
        Self::acquire_by(handle, key, |registry| lot(|| registry.clock.random()))
    }

    /// [`acquire`](Self::acquire) with another source of the random number that decides whether a rejection is enforced.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as above")]
    pub(super) fn acquire_by(
        handle: H,
        key: H::Key,
        random: impl Fn(&RegistryOf<H>) -> u32,
    ) -> Result<Self, Rejection> {
        let begun = Begun::now();
        let registry = &*handle;
        let granted = match registry.admit_at_once(&key) {
            Ok(granted) => granted,
            Err(pending) => registry.admit(&key, pending, || random(registry))?,
        };
        Ok(Self {
            handle,
            key,
            granted,
            begun,
            fails_when_dropped: false,
        })
    }

    /// A permit of a call that is part of another one, whose permit guards it: it is not asked for, and reports nothing.
    pub fn unguarded(handle: H, key: H::Key) -> Self {
        Self {
            handle,
            key,
            granted: Granted::UNGUARDED,
            begun: Begun::now(),
            fails_when_dropped: false,
        }
    }

    /// Makes the permit count as failed if it is dropped without a report, like
    /// [`ResourcePermit::failing_when_dropped`](crate::ResourcePermit::failing_when_dropped).
    pub fn failing_when_dropped(mut self) -> Self {
        self.fails_when_dropped = true;
        self
    }

    /// The key.
    pub const fn key(&self) -> &H::Key {
        &self.key
    }

    /// Ends the permit without a report, as dropping it does.
    pub fn cancel(mut self) {
        self.fails_when_dropped = false;
    }

    /// Reports a call that is not made with this permit, and asks for another permit for its key.
    pub(super) fn ask_again(
        mut self,
        outcome: Outcome,
        why: impl FnOnce() -> String,
    ) -> Result<Self, Rejection>
    where
        H: Clone,
    {
        self.end(Some(outcome), Some(why));
        Self::acquire(self.handle.clone(), self.key.clone())
    }

    /// Reports the outcome, or that the call was cancelled.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the permit is read where it lies")]
    fn end(
        &mut self,
        outcome: Option<Outcome>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let granted = self.granted;
        self.granted.kind = Kind::Ended;
        self.handle.report(&self.key, granted, outcome, why)
    }
}

impl<H: AnyRegistry> AnyPermit for KeyedPermit<H> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the permit is read where it lies")]
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
        let counts = !self.is_admitted() || self.handle.counts_shared(&self.key, self.begun);
        self.report_because(if counts { outcome } else { Outcome::Ignored }, why)
    }

    fn is_probe(&self) -> bool {
        self.granted.kind == Kind::Probe
    }

    fn is_admitted(&self) -> bool {
        self.granted.kind != Kind::Unguarded
    }
}

impl<H: AnyRegistry> Drop for KeyedPermit<H> {
    #[inline]
    fn drop(&mut self) {
        if self.granted.kind != Kind::Ended {
            let outcome = self.fails_when_dropped.then(|| Failure::new().into());
            self.end(outcome, None::<fn() -> String>);
        }
    }
}

impl<H: AnyRegistry> fmt::Debug for KeyedPermit<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedPermit")
            .field("is_probe", &self.is_probe())
            .field("is_admitted", &self.is_admitted())
            .finish_non_exhaustive()
    }
}
