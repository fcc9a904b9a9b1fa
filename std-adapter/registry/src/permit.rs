//! The right to one call of a key.

use std::fmt;

use atomic_breaker::{Failure, Outcome, Transition};

use super::AnyRegistry;
use super::granted::{Granted, Kind};
use atomic_breaker_resource::{AnyPermit, Rejection, parts::Begun};

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
    ///
    /// # Errors
    /// [`Rejection`] says how long to wait, and why the breaker opened.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a permit that is handed through memory costs more than all else here"
    )]
    pub fn acquire(handle: H, key: H::Key) -> Result<Self, Rejection> {
        let begun = Begun::now();
        let granted = handle.as_registry().admit(&key)?;
        Ok(Self {
            handle,
            key,
            granted,
            begun,
            fails_when_dropped: false,
        })
    }

    /// The permit of a call that should have been rejected, but passes.
    #[cfg(feature = "tokio")]
    pub(super) fn unguarded(handle: H, key: H::Key) -> Self {
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
    ) -> Result<Self, Rejection> {
        self.end(outcome, Some(why));
        self.begun = Begun::now();
        self.granted = self.handle.as_registry().admit(&self.key)?;
        Ok(self)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the permit is read where it lies")]
    fn end(
        &mut self,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let granted = self.take();
        let registry = self.handle.as_registry();
        registry.report(&self.key, granted, outcome, why)
    }

    #[inline]
    const fn take(&mut self) -> Granted {
        let granted = self.granted;
        self.granted.kind = Kind::Ended;
        granted
    }
}

impl<H: AnyRegistry> AnyPermit for KeyedPermit<H> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the permit is read where it lies")]
    fn report(mut self, outcome: Outcome) -> Option<Transition> {
        self.end(outcome, None::<fn() -> String>)
    }

    #[inline]
    fn report_because(
        mut self,
        outcome: Outcome,
        why: impl FnOnce() -> String,
    ) -> Option<Transition> {
        self.end(outcome, Some(why))
    }

    fn report_shared(
        mut self,
        outcome: Outcome,
        why: impl FnOnce() -> String,
    ) -> Option<Transition> {
        let counts = !self.is_admitted()
            || self
                .handle
                .as_registry()
                .counts_shared(&self.key, self.begun);
        self.end(if counts { outcome } else { Outcome::Ignored }, Some(why))
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
        if self.granted.kind == Kind::Ended {
            return;
        }
        if self.fails_when_dropped {
            self.end(Failure::new().into(), None::<fn() -> String>);
        } else {
            let granted = self.take();
            self.handle.as_registry().cancel(&self.key, granted);
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
