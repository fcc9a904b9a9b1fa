//! Admits the calls of a key.

use std::hash::{BuildHasher, Hash};
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;

use atomic_breaker::{
    Breaker, Clock, Config, Observer, Outcome, Rejected, Rules, Tally, Transition, word::AtomicU64,
};

use super::explained::{Kept, Keyed};
use super::granted::Granted;
use super::named::Wanted;
use super::rules::Ruleset;
use super::slot::Slot;
use super::{KeyedObserver, Registry, WhenFull};
use crate::parts::OnDrop;
use crate::registry::Place;
use atomic_breaker_resource::Rejection;

/// The breaker of a key, put together for a moment, with the common rules, those of its class, or its own.
pub type KeyBreaker<'a, K, C, T, O> = OfSlot<'a, C, T, Keyed<'a, K, O>>;

/// The breaker of a slot, put together for a moment.
pub(super) type OfSlot<'a, C, T, P> = Breaker<&'a C, &'a AtomicU64, &'a T, P, &'a Rules<u64>>;

impl<K, C, T, O, S> Registry<K, C, T, O, S>
where
    K: Hash + Eq + Clone,
    C: Clock,
    T: Tally,
    O: KeyedObserver<K>,
    S: BuildHasher,
{
    /// The breaker of a slot, put together for a moment.
    #[inline]
    pub(super) fn breaker<'a, P: Observer>(
        &'a self,
        slot: &'a Slot<K, T>,
        observer: P,
    ) -> OfSlot<'a, C, T, P> {
        let rules = &self.rules_of(slot).rules;
        Breaker::from_parts(&slot.word, rules, &self.clock, &slot.tally, observer)
    }

    /// Where a key is, if it has a slot.
    #[inline]
    pub(super) fn find(&self, key: &K) -> Option<(Place, &Slot<K, T>)> {
        let wanted = Wanted {
            hash: self.hasher.hash_one(key),
            key,
        };
        let place = self.map.pin().get(&wanted).copied()?;
        Some((place, self.slots.get(place.slot())?))
    }

    /// The permit of a call, except for key and handle.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what is granted is written where it stays"
    )]
    pub(super) fn admit(&self, key: &K) -> Result<Granted, Rejection> {
        let Some((place, slot)) = self.find(key) else {
            let ruleset = self.rules_of_absent(key);
            return if ruleset.is_eager {
                self.admit_step_by_step(key)
            } else {
                self.admit_absent(key, ruleset)
            };
        };
        if self.observer.is_listening() {
            // Keeps what happens until it is known whose slot it was. While the breaker is closed, which is the usual
            // case, nothing happens.
            let kept = Kept::default();
            let granted = acquired(place, &self.breaker(slot, &kept));
            return match granted {
                Ok(granted) if kept.is_empty() && self.is_still(place, slot) => Ok(granted),
                _ => self
                    .settle(key, place, slot, &kept, granted)
                    .unwrap_or_else(|| self.admit_step_by_step(key)),
            };
        }
        let granted = acquired(place, &self.breaker(slot, ()));
        if self.is_still(place, slot) {
            return granted.or_else(|rejected| self.reject(key, slot, rejected));
        }
        self.give_back(slot, granted);
        self.admit_step_by_step(key)
    }

    /// Looks up a slot again if it has just changed hands; a call to which that happens again and again passes.
    #[inline(never)]
    fn admit_step_by_step(&self, key: &K) -> Result<Granted, Rejection> {
        for _ in 0..MOST_LOOK_UPS {
            let Some((place, slot)) = self.find(key) else {
                let ruleset = self.rules_of_absent(key);
                if ruleset.is_eager && self.insert(key).is_some() {
                    continue;
                }
                return self.admit_absent(key, ruleset);
            };
            let kept = Kept::default();
            let granted = acquired(place, &self.breaker(slot, &kept));
            let settled = self.settle(key, place, slot, &kept, granted);
            if let Some(granted) = settled {
                return granted;
            }
        }
        Ok(Granted::UNGUARDED)
    }

    /// Whether a slot still belongs to the key that was looked up. If it seems not to, an eviction may be under way
    /// that will fail: checks again when it is over.
    #[inline]
    pub(super) fn is_still(&self, place: Place, slot: &Slot<K, T>) -> bool {
        slot.turn.is_still(place.turn(), &slot.word) || self.is_still_after_eviction(place, slot)
    }

    #[cold]
    fn is_still_after_eviction(&self, place: Place, slot: &Slot<K, T>) -> bool {
        let _places = self.places();
        slot.turn.is_still(place.turn(), &slot.word)
    }

    /// Gives back a grant from a slot that is not the caller's. It is not cancelled, because a probe that was held up
    /// would count as failed.
    fn give_back(&self, slot: &Slot<K, T>, granted: Result<Granted, Rejected>) {
        if let Ok(granted) = granted {
            self.breaker(slot, ())
                .resume(granted.token())
                .report(Outcome::Ignored);
        }
    }

    /// Notifies of what was kept. Returns `None` if the slot does not belong to the caller's key; what it granted is
    /// then given back. (If the word was corrupt and was replaced, a rejected call makes a transition, too.)
    #[cold]
    fn settle(
        &self,
        key: &K,
        place: Place,
        slot: &Slot<K, T>,
        kept: &Kept,
        granted: Result<Granted, Rejected>,
    ) -> Option<Result<Granted, Rejection>> {
        // There is no permit yet that would give its slot back if the observer panics.
        let unless_granted = OnDrop::new(|| self.give_back(slot, granted));
        if !self.is_still(place, slot) {
            drop(unless_granted);
            if let Some(transition) = kept.transition.get() {
                self.notify_owner(key, place, slot, &transition);
            }
            return None;
        }
        if let Some(transition) = kept.transition.get() {
            self.notify(key, slot, &transition);
        }
        unless_granted.disarm();
        Some(granted.or_else(|rejected| self.reject(key, slot, rejected)))
    }

    fn notify(&self, key: &K, slot: &Slot<K, T>, transition: &Transition) {
        let breaker = self.breaker(slot, ());
        self.observer.changed(key, transition, breaker.present());
    }

    /// Notifies of a transition in a slot that has changed hands: it belongs to the key that had the slot, or to the
    /// one that has it now.
    fn notify_owner(&self, key: &K, place: Place, slot: &Slot<K, T>, transition: &Transition) {
        let present = {
            let _places = self.places();
            let born = Breaker::over(
                AtomicU64::new(slot.born.load(Ordering::Relaxed)),
                Config::new(),
                &self.clock,
            );
            let since_birth = transition.epoch.wrapping_sub(born.snapshot().epoch()) % 512;
            let is_next = slot.turn.get() == place.turn().wrapping_add(1);
            (since_birth < 256 || !is_next)
                .then(|| slot.key.load_full())
                .flatten()
        };
        match present {
            Some(present) => self.notify(&present, slot, transition),
            None => self.notify(key, slot, transition),
        }
    }

    /// Rejects the call, or lets it pass in shadow mode, and notifies the observer accordingly.
    #[cold]
    pub(super) fn reject(
        &self,
        key: &K,
        slot: &Slot<K, T>,
        rejected: Rejected,
    ) -> Result<Granted, Rejection> {
        if self.is_enforced(key, rejected) {
            Err(Rejection::new(
                rejected,
                slot.last_failure
                    .of_rejection(&self.breaker(slot, ()), rejected),
            ))
        } else {
            Ok(Granted::UNGUARDED)
        }
    }

    /// A key without a slot is closed and clear; only a failure, or a slow call, makes it worth one.
    #[inline]
    fn admit_absent(&self, key: &K, ruleset: &Ruleset) -> Result<Granted, Rejection> {
        if self.when_full != WhenFull::Pass && self.is_known_to_be_full() {
            return self.admit_when_full(key);
        }
        let is_measured = ruleset.slow_call_ms.is_some();
        // 0 is treated as 1 millisecond, as it is when a breaker admits a call.
        let started_ms =
            is_measured.then(|| NonZeroU32::new(self.clock.now_ms()).unwrap_or(NonZeroU32::MIN));
        // A counter: shows whether any key got a slot since.
        let inserted = self.newest();
        Ok(Granted::absent(inserted, started_ms))
    }

    /// Whether a call without a slot that began then took too long.
    #[inline]
    pub(super) fn was_slow(&self, key: &K, started_ms: Option<NonZeroU32>) -> bool {
        started_ms.is_some_and(|started_ms| {
            let took_ms = self.clock.now_ms().wrapping_sub(started_ms.get());
            let limit_ms = self.rules_of_absent(key).slow_call_ms;
            // More than half the range: the clock stepped back.
            took_ms <= u32::MAX / 2 && limit_ms.is_some_and(|limit_ms| took_ms >= limit_ms)
        })
    }
}

/// How often a key is looked up if its slot changes hands each time.
const MOST_LOOK_UPS: u32 = 16;

#[inline]
pub(super) fn acquired<C, T, P>(
    place: Place,
    breaker: &OfSlot<'_, C, T, P>,
) -> Result<Granted, Rejected>
where
    C: Clock,
    T: Tally,
    P: Observer,
{
    let permit = breaker.acquire()?;
    let is_probe = permit.is_probe();
    Ok(Granted::admitted(place, is_probe, permit.into_token()))
}
