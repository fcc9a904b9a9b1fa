//! What changes when a call ends whose key had no slot when it began.

use std::hash::{BuildHasher, Hash};
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;

use atomic_breaker::{Clock, Outcome, Tally, Token, Transition};

use super::granted::{Granted, as_token};
use super::{KeyedObserver, Registry, WhenFull};
use crate::registry::Place;
use atomic_breaker_resource::parts::Begun;

impl<K, C, T, O, S> Registry<K, C, T, O, S>
where
    K: Hash + Eq + Clone,
    C: Clock,
    T: Tally,
    O: KeyedObserver<K>,
    S: BuildHasher,
{
    #[inline]
    pub(super) fn report_absent(
        &self,
        key: &K,
        granted: Granted,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let started_ms = granted.started_ms;
        match outcome {
            // A key that has no slot now has nothing to clear.
            Outcome::Success if !self.was_slow(key, started_ms) => {
                // A counter: unchanged if no key got a slot since.
                if self.newest() != granted.inserted() {
                    if let Some((place, _)) = self.find(key) {
                        let born = self.as_born(place, started_ms);
                        self.report_as_born(key, born, started_ms, outcome, why);
                        return None;
                    }
                }
                self.notify_outcome(key, outcome);
                None
            }
            Outcome::Failure(failure) if failure.weight() == 0 && !failure.is_tripping() => {
                self.notify_outcome(key, outcome);
                None
            }
            Outcome::Ignored => {
                self.notify_outcome(key, outcome);
                None
            }
            Outcome::Success | Outcome::Failure(_) => {
                self.report_first(key, started_ms, outcome, why)
            }
        }
    }

    /// Handles a dropped call: a failure if it had taken too long.
    #[inline]
    pub(super) fn cancel_absent(&self, key: &K, started_ms: Option<NonZeroU32>) {
        if self.was_slow(key, started_ms) {
            self.cancel_first(key, started_ms);
        } else {
            self.notify_cancelled(key);
        }
    }

    #[cold]
    fn cancel_first(&self, key: &K, started_ms: Option<NonZeroU32>) {
        match self.first(key, started_ms) {
            Some((place, token)) => self.cancel_observed(key, place, token),
            None => self.notify_cancelled(key),
        }
    }

    /// Whether a failure that other calls share counts, for a call of the key that began then. A key without a slot
    /// gets one, as with any failure; if none is available, the failure counts nowhere anyway.
    #[cold]
    pub(super) fn counts_shared(&self, key: &K, begun: Begun) -> bool {
        match self.insert(key) {
            // If the slot changes hands meanwhile, one failure is lost, of a key that no longer has a slot.
            Some((_, slot)) => slot.shared_failure.is_first(begun),
            None => true,
        }
    }

    /// The first failure of a key, or one that began before another first one.
    #[cold]
    fn report_first(
        &self,
        key: &K,
        started_ms: Option<NonZeroU32>,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let born = self.first(key, started_ms);
        self.report_as_born(key, born, started_ms, outcome, why)
    }

    /// Reports a call that began before its key had a slot, as if it had been admitted when the key got it.
    #[cold]
    fn report_as_born(
        &self,
        key: &K,
        born: Option<(Place, Token<u64>)>,
        started_ms: Option<NonZeroU32>,
        outcome: Outcome,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        let Some((place, token)) = born else {
            self.notify_uncounted(key, started_ms, outcome);
            return None;
        };
        self.report_observed(key, place, token, outcome, why)
    }

    /// The place where a key without a slot is counted from now on, and the token [as born](Self::as_born) there.
    fn first(&self, key: &K, started_ms: Option<NonZeroU32>) -> Option<(Place, Token<u64>)> {
        let place = match self.insert(key) {
            Some((place, _)) => place,
            None if self.when_full == WhenFull::Share => self.shared(),
            None => return None,
        };
        self.as_born(place, started_ms)
    }

    /// The token that such a call was granted; `None` if the slot has changed hands since, or if it would be a probe:
    /// the call was never granted a probe slot, so it has none to give back.
    fn as_born(&self, place: Place, started_ms: Option<NonZeroU32>) -> Option<(Place, Token<u64>)> {
        let slot = &self.slots[place.slot()];
        let is_shared = place.slot() == self.capacity();
        // The shared breaker was never assigned to a key, so its current word is used.
        let granted = if is_shared {
            self.breaker(slot, ()).to_bits()
        } else {
            slot.born.load(Ordering::Relaxed)
        };
        if !self.is_still(place, slot) {
            return None;
        }
        let breaker = self.breaker(slot, ());
        let permit = breaker.resume(as_token(granted, started_ms));
        let (is_probe, token) = (permit.is_probe(), permit.into_token());
        (!is_probe).then_some((place, token))
    }
}
