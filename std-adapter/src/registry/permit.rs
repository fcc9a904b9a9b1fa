//! The right to one call of a key.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::Ordering;

use atomic_breaker::{Clock, Failure, Outcome, State, Tally, Token, Transition};

use super::slot::{Keyed, Slot};
use super::{AnyRegistry, KeyedObserver, Place, Registry, WhenFull};
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
        place: Place,
        is_probe: bool,
        token: Token<u64>,
    },
    /// The key has no slot.
    Absent {
        key: K,
        started_ms: Option<u32>,
        inserted: u32,
    },
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

    fn is_admitted(&self) -> bool {
        !matches!(self.granted, Some(Granted::Unguarded))
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
                key, place, token, ..
            } => {
                let slot = &self.slots[place.slot as usize];
                if !self.is_still(place, slot) {
                    return None;
                }
                let breaker = self.breaker(slot, self.observer_of(&key, place));
                let made = breaker.resume(token).report(outcome)?;
                self.explain(place, slot, &made, why);
                Some(made)
            }
            Granted::Absent {
                key,
                started_ms,
                inserted,
            } => match outcome {
                Outcome::Ignored => None,
                // A key that has no slot now has nothing to clear.
                Outcome::Success if !self.was_slow(started_ms) => {
                    // A counter: nobody got a slot since.
                    if self.inserted.load(Ordering::Relaxed) != inserted {
                        let (place, _) = self.find(&key)?;
                        self.report_as_born(&key, place, started_ms, outcome, why);
                    }
                    None
                }
                Outcome::Failure(failure) if failure.weight() == 0 && !failure.is_tripping() => {
                    None
                }
                Outcome::Success | Outcome::Failure(_) => {
                    self.report_first(&key, started_ms, outcome, why)
                }
            },
            Granted::Unguarded => None,
        }
    }

    #[inline]
    pub(super) fn cancel(&self, granted: Granted<K>) {
        match granted {
            Granted::Admitted {
                key, place, token, ..
            } => {
                let slot = &self.slots[place.slot as usize];
                if !self.is_still(place, slot) {
                    return;
                }
                let breaker = self.breaker(slot, self.observer_of(&key, place));
                if let Some(made) = breaker.resume(token).cancel() {
                    let why = Some(|| "hung until it was cancelled".to_owned());
                    self.explain(place, slot, &made, why);
                }
            }
            Granted::Absent {
                key, started_ms, ..
            } => {
                if self.was_slow(started_ms) {
                    let why = Some(|| "hung until it was cancelled".to_owned());
                    self.report_first(&key, started_ms, Outcome::Success, why);
                }
            }
            Granted::Unguarded => {}
        }
    }

    /// Those who share a slot are not notified: it is nobody's.
    #[inline]
    fn observer_of<'a>(&'a self, key: &'a K, place: Place) -> Option<Keyed<'a, K, O>> {
        (place.slot != self.shared().slot).then_some(Keyed {
            key,
            observer: &self.observer,
        })
    }

    /// Keeps the words of a failure that opened a breaker, or forgets older ones.
    fn explain(
        &self,
        place: Place,
        slot: &Slot<K, T>,
        made: &Transition,
        why: Option<impl FnOnce() -> String>,
    ) {
        if made.to != State::Open {
            return;
        }
        slot.last_failure.set_for(made, why.map(|why| why()));
        // The slot may have changed hands meanwhile, and words of one key must not show at another.
        if !self.is_still(place, slot) {
            slot.last_failure.clear();
        }
    }

    /// The first failure of a key, or one that began before another first one.
    #[cold]
    fn report_first(
        &self,
        key: &K,
        started_ms: Option<u32>,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        match self.insert(key) {
            Some((place, _)) => self.report_as_born(key, place, started_ms, outcome, why),
            None if self.when_full == WhenFull::Share => {
                self.report_as_born(key, self.shared(), started_ms, outcome, why)
            }
            None => None,
        }
    }

    /// Reports a call that began before its key had a slot, as if it had been admitted when the key got it.
    #[cold]
    fn report_as_born(
        &self,
        key: &K,
        place: Place,
        started_ms: Option<u32>,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let slot = &self.slots[place.slot as usize];
        let is_shared = place.slot == self.shared().slot;
        // The shared breaker is nobody's from the start: it is asked as it stands.
        let granted = if is_shared {
            self.breaker(slot, ()).to_bits()
        } else {
            slot.born.load(Ordering::Relaxed)
        };
        if !self.is_still(place, slot) {
            return None;
        }
        // 0: not measured.
        let started_ms = started_ms.unwrap_or(0);
        let breaker = self.breaker(slot, self.observer_of(key, place));
        let permit = breaker.resume(Token::from_raw(granted, started_ms));
        if permit.is_probe() {
            permit.report(Outcome::Ignored);
            return None;
        }
        let made = permit.report(outcome)?;
        self.explain(place, slot, &made, why);
        Some(made)
    }
}
