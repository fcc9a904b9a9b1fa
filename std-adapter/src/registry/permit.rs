//! The right to one call of a key.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::Ordering;

use atomic_breaker::{Clock, Failure, Outcome, State, Tally, Token, Transition};

use super::slot::Whose;
use super::{AnyRegistry, KeyedObserver, Registry};
use crate::resource::{AnyPermit, Rejection};

/// The right to one call of a key. Dropping it cancels. `H` leads to the registry: a reference or an `Arc`.
#[must_use = "report how the call went: a permit that is dropped counts as cancelled"]
pub struct KeyedPermit<H: AnyRegistry> {
    handle: H,
    /// None once it is reported.
    granted: Option<Granted<H::Key>>,
    fails_when_dropped: bool,
}

/// What was granted.
#[derive(Debug)]
pub(super) enum Granted<K> {
    /// By the breaker of a slot.
    Admitted {
        key: K,
        slot: u32,
        is_probe: bool,
        token: Token<u64>,
    },
    /// The key has no slot.
    Absent { key: K, started_ms: Option<u32> },
    /// It should have been rejected, and is not reported.
    Unguarded,
}

impl<H: AnyRegistry> KeyedPermit<H> {
    /// [`Registry::acquire`] for a permit that owns its way to the registry.
    ///
    /// # Errors
    /// [`Rejection`] says how long to wait, and why it opened.
    #[inline]
    pub fn acquire(handle: H, key: H::Key) -> Result<Self, Rejection> {
        let granted = Some(handle.as_registry().admit(key)?);
        Ok(Self {
            handle,
            granted,
            fails_when_dropped: false,
        })
    }

    /// Whether the breaker admitted the call; if not, it passes in shadow mode, and is not reported to the
    /// breaker.
    pub const fn is_admitted(&self) -> bool {
        !matches!(self.granted, Some(Granted::Unguarded))
    }

    /// A permit that counts as failed when it is dropped without a report: for code that leaves by `?`, and for
    /// operations that may panic.
    pub fn failing_when_dropped(mut self) -> Self {
        self.fails_when_dropped = true;
        self
    }

    /// Ends the permit without a report, as dropping it does.
    pub fn cancel(mut self) {
        self.fails_when_dropped = false;
    }

    #[inline]
    fn end(
        &mut self,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let granted = self.granted.take()?;
        self.handle.as_registry().report(granted, outcome, why)
    }
}

impl<H: AnyRegistry> AnyPermit for KeyedPermit<H> {
    #[inline]
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

    fn is_probe(&self) -> bool {
        matches!(self.granted, Some(Granted::Admitted { is_probe: true, .. }))
    }
}

impl<H: AnyRegistry> Drop for KeyedPermit<H> {
    #[inline]
    fn drop(&mut self) {
        if let Some(granted) = self.granted.take() {
            let registry = self.handle.as_registry();
            if self.fails_when_dropped {
                registry.report(granted, Failure::new().into(), None::<fn() -> String>);
            } else {
                registry.cancel(granted);
            }
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

impl<K, C, T, O, S> Registry<K, C, T, O, S>
where
    K: Hash + Eq + Clone,
    C: Clock,
    T: Tally,
    O: KeyedObserver<K>,
    S: BuildHasher,
{
    #[inline]
    fn report(
        &self,
        granted: Granted<K>,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        match granted {
            Granted::Admitted {
                key, slot, token, ..
            } => {
                let slot = &self.slots[slot as usize];
                let breaker = self.breaker(slot, Whose::Permit(&key));
                let made = breaker.resume(token).report(outcome)?;
                if let (State::Open, Some(why)) = (made.to, why) {
                    slot.last_failure.set(why());
                }
                Some(made)
            }
            Granted::Absent { key, started_ms } => {
                let outcome = match outcome {
                    Outcome::Success if self.was_slow(started_ms) => Failure::new().into(),
                    outcome => outcome,
                };
                match outcome {
                    Outcome::Success | Outcome::Ignored => None,
                    Outcome::Failure(_) => self.report_absent(&key, outcome, why),
                }
            }
            Granted::Unguarded => None,
        }
    }

    #[inline]
    pub(super) fn cancel(&self, granted: Granted<K>) {
        match granted {
            Granted::Admitted {
                key, slot, token, ..
            } => {
                let slot = &self.slots[slot as usize];
                self.breaker(slot, Whose::Permit(&key))
                    .resume(token)
                    .cancel();
            }
            Granted::Absent { key, started_ms } => {
                if self.was_slow(started_ms) {
                    let failure = Failure::new().into();
                    self.report_absent(&key, failure, Some(|| "cancelled late".to_owned()));
                }
            }
            Granted::Unguarded => {}
        }
    }

    /// The first failure of a key, or one that began before another first one.
    #[cold]
    fn report_absent(
        &self,
        key: &K,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        loop {
            let (place, slot) = self.insert(key)?;
            let breaker = self.breaker(slot, Whose::LookedUp(key, place.turn));
            // A call of a key that has been through a transition since is a late one: its epoch is over.
            if breaker.snapshot().epoch() != slot.born.load(Ordering::Relaxed)
                || breaker.state() != State::Closed
            {
                return None;
            }
            let permit = breaker.acquire().ok()?;
            if !slot.turn.is_still(place.turn, &slot.word) {
                permit.cancel();
                self.wait_for_eviction();
                continue;
            }
            if permit.is_probe() {
                permit.cancel();
                return None;
            }
            let made = permit.report(outcome)?;
            if let (State::Open, Some(why)) = (made.to, why) {
                slot.last_failure.set(why());
            }
            return Some(made);
        }
    }
}
