//! What admits a call of a key.

use std::hash::{BuildHasher, Hash};
use std::mem;
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;

use atomic_breaker::word::AtomicU64;
use atomic_breaker::{
    Breaker, Clock, Config, Observer, Outcome, Rejected, Rules, Tally, Token, Transition,
};

use super::granted::Granted;
use super::rules::Ruleset;
use super::slot::{Kept, Slot};
use super::{KeyedObserver, Place, Registry, WhenFull};
use crate::resource::Rejection;

/// The breaker of a slot, put together for a moment.
pub(super) type OfSlot<'a, C, T, P> = Breaker<&'a C, &'a AtomicU64, &'a T, P, &'a Rules<u64>>;

/// What a breaker granted: whether it is a probe, and the token of the permit.
pub(super) type Admitted = (bool, Token<u64>);

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

    /// The rules of a slot: its own, or those of all.
    #[inline]
    pub(super) fn rules_of(&self, slot: &Slot<K, T>) -> &Ruleset {
        let own = slot.own_rules();
        own.map_or_else(|| self.common(), |id| self.table.get(id))
    }

    /// The rules of all keys that have none of their own.
    #[inline]
    pub(super) fn common(&self) -> &Ruleset {
        // The rules themselves are published by the table.
        self.table.get(self.rules.load(Ordering::Relaxed))
    }

    /// Where a key is, if it has a slot.
    #[inline]
    pub(super) fn find(&self, key: &K) -> Option<(Place, &Slot<K, T>)> {
        let place = self.map.pin().get(key).copied()?;
        Some((place, self.slots.get(place.slot())?))
    }

    /// The permit of a call, but for key and handle.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "what is granted is written where it stays"
    )]
    pub(super) fn admit(&self, key: &K) -> Result<Granted, Rejection> {
        let Some((place, slot)) = self.find(key) else {
            return if self.common().is_eager {
                self.admit_step_by_step(key)
            } else {
                self.admit_absent(key)
            };
        };
        slot.touch();
        if self.observer.is_listening() {
            return match self.admit_observed(key, place, slot) {
                Some(answer) => self.grant(place, slot, answer),
                None => self.admit_step_by_step(key),
            };
        }
        let answer = acquired(&self.breaker(slot, ()));
        if self.is_still(place, slot) {
            return self.grant(place, slot, answer);
        }
        self.give_back(slot, answer);
        self.admit_step_by_step(key)
    }

    /// A slot that has just changed hands is looked up again; whoever meets that again and again passes.
    #[inline(never)]
    fn admit_step_by_step(&self, key: &K) -> Result<Granted, Rejection> {
        for _ in 0..MOST_LOOK_UPS {
            let Some((place, slot)) = self.find(key) else {
                if self.common().is_eager && self.insert(key).is_some() {
                    continue;
                }
                return self.admit_absent(key);
            };
            slot.touch();
            if let Some(answer) = self.admit_observed(key, place, slot) {
                return self.grant(place, slot, answer);
            }
        }
        Ok(Granted::UNGUARDED)
    }

    /// Whether a slot is still that of the key which was looked up. If it looks as if it were not, an eviction
    /// may be under way that comes to nothing: asks again when it is over.
    #[inline]
    pub(super) fn is_still(&self, place: Place, slot: &Slot<K, T>) -> bool {
        slot.turn.is_still(place.turn(), &slot.word) || self.is_still_after_eviction(place, slot)
    }

    #[cold]
    fn is_still_after_eviction(&self, place: Place, slot: &Slot<K, T>) -> bool {
        let _places = self.places();
        slot.turn.is_still(place.turn(), &slot.word)
    }

    /// A slot that is not the caller's. Not cancelled, as a probe that was held up would count as failed.
    fn give_back(&self, slot: &Slot<K, T>, answer: Result<Admitted, Rejected>) {
        if let Ok((_, token)) = answer {
            self.breaker(slot, ())
                .resume(token)
                .report(Outcome::Ignored);
        }
    }

    /// Keeps what happens until it is known whose slot it was.
    #[cold]
    fn admit_observed(
        &self,
        key: &K,
        place: Place,
        slot: &Slot<K, T>,
    ) -> Option<Result<Admitted, Rejected>> {
        let kept = Kept::default();
        let answer = acquired(&self.breaker(slot, &kept));
        if self.is_still(place, slot) {
            // There is no permit yet that would give its slot back if the observer panics.
            let mut answer = Some(answer);
            let held = OnPanic(|| {
                if let Some(answer) = answer.take() {
                    self.give_back(slot, answer);
                }
            });
            if let Some(transition) = kept.transition.get() {
                self.observer.transition(key, &transition);
            }
            if let Some(rejected) = kept.rejected.get() {
                self.observer.rejected(key, rejected);
            }
            mem::forget(held);
            return answer;
        }
        self.give_back(slot, answer);
        if let Some(transition) = kept.transition.get() {
            self.notify_owner(key, place, slot, &transition);
        }
        None
    }

    /// A transition of a slot that has changed hands: of the key that had it, or of the one that has it now.
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
            Some(present) => self.observer.transition(&present, transition),
            None => self.observer.transition(key, transition),
        }
    }

    #[inline]
    pub(super) fn grant(
        &self,
        place: Place,
        slot: &Slot<K, T>,
        answer: Result<Admitted, Rejected>,
    ) -> Result<Granted, Rejection> {
        match answer {
            Ok((is_probe, token)) => Ok(Granted::admitted(place, is_probe, token)),
            Err(rejected) => self.reject(slot, rejected),
        }
    }

    #[cold]
    fn reject(&self, slot: &Slot<K, T>, rejected: Rejected) -> Result<Granted, Rejection> {
        if self.enforcement.is_enforced(|| self.clock.random()) {
            Err(Rejection {
                rejected,
                last_failure: slot.last_failure.get(),
            })
        } else {
            Ok(Granted::UNGUARDED)
        }
    }

    /// A key without a slot is closed and clear; only a failure, or a slow call, makes it worth one.
    #[inline]
    fn admit_absent(&self, key: &K) -> Result<Granted, Rejection> {
        if self.when_full != WhenFull::Pass && self.is_known_to_be_full() {
            return self.admit_when_full(key);
        }
        let is_measured = self.common().slow_call_ms.is_some();
        // 0 is taken for 1 millisecond, as where a breaker admits.
        let started_ms =
            is_measured.then(|| NonZeroU32::new(self.clock.now_ms()).unwrap_or(NonZeroU32::MIN));
        // A counter: whether anybody got a slot since.
        let inserted = self.inserted.load(Ordering::Relaxed);
        Ok(Granted::absent(inserted, started_ms))
    }

    /// Whether a call without a slot that began then took too long.
    #[inline]
    pub(super) fn was_slow(&self, started_ms: Option<NonZeroU32>) -> bool {
        started_ms.is_some_and(|started_ms| {
            let took_ms = self.clock.now_ms().wrapping_sub(started_ms.get());
            let limit_ms = self.common().slow_call_ms;
            // More than half the range: the clock stepped back.
            took_ms <= u32::MAX / 2 && limit_ms.is_some_and(|limit_ms| took_ms >= limit_ms)
        })
    }
}

/// How often a key is looked up whose slot changes hands each time.
const MOST_LOOK_UPS: u32 = 16;

/// Runs when it is dropped.
struct OnPanic<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[inline]
pub(super) fn acquired<C, T, P>(breaker: &OfSlot<'_, C, T, P>) -> Result<Admitted, Rejected>
where
    C: Clock,
    T: Tally,
    P: Observer,
{
    let permit = breaker.acquire()?;
    Ok((permit.is_probe(), permit.into_token()))
}
