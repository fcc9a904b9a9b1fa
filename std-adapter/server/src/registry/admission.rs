// SPDX-License-Identifier: MIT OR Apache-2.0
//! Admits the calls of a key.

use std::cell::Cell;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use atomic_breaker::{
    Breaker, Clock, Config, Observer, OnTransition, Outcome, Rejected, Rules, State, Tally,
    Transition, word::AtomicU64,
};

use super::breakers::Place;
use super::insertion::COME_BACK_IN;
use super::named::Wanted;
use super::ruleset::Ruleset;
use super::slot::Slot;
use super::turn::next as next_turn;
use super::{KeyedObserver, ObserverOfKey, Registry, WhenFull};
use crate::guard::{self, Kind};
use crate::on_drop::OnDrop;
use crate::permit::Rejection;

/// The admission of a call of a key. If the key has no slot, the bits are the number of the last key that had got one,
/// or [`COUNTED`].
pub(super) type Granted = guard::Granted<u64, Place>;

/// No number of a key: the call should have got a slot when it began, and was counted because there was none.
pub(super) const COUNTED: u64 = u64::MAX;

/// The breaker of a key, put together for a moment, with the common rules, those of its class, or its own.
pub type KeyBreaker<'a, K, C, T, O> = OfSlot<'a, C, T, ObserverOfKey<'a, K, O>>;

/// The breaker of a slot, put together for a moment.
pub(super) type OfSlot<'a, C, T, P> = Breaker<&'a C, &'a AtomicU64, &'a T, P, &'a Rules<u64>>;

impl<K: Hash + Eq + Clone, C: Clock, T: Tally, O: KeyedObserver<K>, S: BuildHasher>
    Registry<K, C, T, O, S>
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

    /// The place of a key, if it has a slot.
    #[inline]
    pub(super) fn find(&self, key: &K) -> Option<(Place, &Slot<K, T>)> {
        let wanted = Wanted {
            hash: self.hasher.hash_one(key),
            key,
        };
        let place = self.map.pin().get(&wanted).copied()?;
        Some((place, self.slots.get(place.slot())?))
    }

    /// The permit of a call, except for key and handle, if nothing stands in the way. Everything else is left to
    /// [`admit`](Self::admit), whose result lies in memory: where the two meet, each field would be written and read back.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "what is granted stays in registers")]
    pub(super) fn admit_at_once(&self, key: &K) -> Result<Granted, Pending> {
        let Some((place, slot)) = self.find(key) else {
            let ruleset = self.rules_of_absent(key);
            let is_full = || self.when_full != WhenFull::Pass && self.is_known_to_be_full();
            return if ruleset.is_eager || is_full() {
                Err(Pending::Absent)
            } else {
                Ok(self.absent(ruleset))
            };
        };
        // Keeps the transition until it is known whose slot it was. While the breaker is closed, which is the usual case,
        // there is none.
        let made = Cell::new(None);
        let note = OnTransition(|transition: &Transition| made.set(Some(*transition)));
        match acquired(place, &self.breaker(slot, note)) {
            Ok(granted) if made.get().is_none() && self.is_still(place, slot) => Ok(granted),
            granted => Err(Pending::Found {
                place,
                granted,
                made: made.get(),
            }),
        }
    }

    /// The slow path of [`admit_at_once`](Self::admit_at_once). `random` decides whether a rejection is enforced. A
    /// call whose slot changes hands again and again passes.
    #[cold]
    #[inline(never)]
    pub(super) fn admit(
        &self,
        key: &K,
        mut pending: Pending,
        random: impl Fn() -> u32,
    ) -> Result<Granted, Rejection> {
        for _ in 0..MOST_LOOK_UPS {
            match pending {
                Pending::Found {
                    place,
                    granted,
                    made,
                } => {
                    if let Some(end) = self.settle(key, place, granted, made, &random) {
                        return end;
                    }
                }
                Pending::Absent => {
                    let ruleset = self.rules_of_absent(key);
                    if !ruleset.is_eager || self.insert(key).is_none() {
                        return self.admit_absent(key, ruleset, &random);
                    }
                }
            }
            // The slot has just changed hands, or is new.
            match self.admit_at_once(key) {
                Ok(granted) => return Ok(granted),
                Err(next) => pending = next,
            }
        }
        Ok(Granted::unguarded(Place::NONE))
    }

    /// Returns whether a slot still belongs to the key that was looked up. If it seems not to, it may have to be noted
    /// that the key is called, or an eviction may be under way that will fail: checks again when it is over.
    #[inline]
    pub(super) fn is_still(&self, place: Place, slot: &Slot<K, T>) -> bool {
        slot.turn.is_still(place.turn(), &slot.word) || self.is_still_after_all(place, slot)
    }

    #[cold]
    fn is_still_after_all(&self, place: Place, slot: &Slot<K, T>) -> bool {
        if let Some(is_noted) = slot.turn.note_call(place.turn(), &slot.word) {
            if is_noted {
                self.note_called(place.slot());
            }
            return true;
        }
        let _places = self.places();
        slot.turn.is_same(place.turn(), &slot.word)
    }

    /// The end of an admission: A looks up its slot and asks the breaker in it, while B evicts A's key and gives the slot to
    /// another. If A notices, it gives back what it was granted, and looks again.
    ///
    /// Notifies of the transition that was made. Returns `None` if the slot does not belong to the caller's key; what it
    /// granted is then given back. (If the word was corrupt and was replaced, a rejected call makes a transition, too.)
    fn settle(
        &self,
        key: &K,
        place: Place,
        granted: Result<Granted, Rejected>,
        made: Option<Transition>,
        random: impl Fn() -> u32,
    ) -> Option<Result<Granted, Rejection>> {
        let slot = &self.slots[place.slot()];
        // There is no permit yet that would give its slot back if the observer panics. It is not cancelled, because a
        // probe that was held up would count as failed.
        let unless_granted = OnDrop::new(|| {
            if let Ok(granted) = granted {
                let breaker = self.breaker(slot, ());
                breaker.resume(granted.token()).report(Outcome::Ignored);
            }
        });
        if made.is_some() {
            self.note_state(place.slot());
        }
        if !self.is_still(place, slot) {
            drop(unless_granted);
            if let Some(made) = made {
                let owner = self.owner_of(&made, place, slot);
                self.notify_changed(owner.as_deref().unwrap_or(key), slot, &made);
            }
            return None;
        }
        if let Some(made) = made {
            self.notify_changed(key, slot, &made);
        }
        unless_granted.disarm();
        Some(granted.or_else(|rejected| self.reject(key, place, rejected, random)))
    }

    fn notify_changed(&self, key: &K, slot: &Slot<K, T>, made: &Transition) {
        if self.observer.is_listening() {
            let breaker = self.breaker(slot, ());
            self.observer.changed(key, made, breaker.present());
        }
    }

    /// Finds the key that a transition belongs to if the slot has changed hands: the new owner, which is returned, or
    /// the old one (`None`). A looks its key up; B evicts that key, and C inserts another. If A asked the breaker
    /// before B retired the word, the transition is of A's key; if afterwards, A has made it in the breaker of C's key,
    /// and the epoch of the transition is not older than the word with which that key got the slot.
    fn owner_of(&self, made: &Transition, place: Place, slot: &Slot<K, T>) -> Option<Arc<K>> {
        let _places = self.places();
        let born = AtomicU64::new(slot.word_at_insert.load(Ordering::Relaxed));
        let born = Breaker::over(born, Config::new(), &self.clock).snapshot();
        let since_birth = made.epoch.wrapping_sub(born.epoch()) % 512;
        let is_next = slot.turn.get() == next_turn(place.turn());
        let key = slot.key.load_full();
        key.filter(|_| since_birth < 256 || !is_next)
    }

    /// Rejects the call, or lets it pass in shadow mode, and notifies the observer accordingly.
    fn reject(
        &self,
        key: &K,
        place: Place,
        rejected: Rejected,
        random: impl Fn() -> u32,
    ) -> Result<Granted, Rejection> {
        if !self.is_enforced(key, Some(place.slot()), rejected, random) {
            return Ok(Granted::unguarded(Place::NONE));
        }
        let slot = &self.slots[place.slot()];
        let breaker = self.breaker(slot, ());
        let last_failure = slot.last_failure.of_rejection(&breaker, rejected);
        Err(Rejection::new(rejected, last_failure))
    }

    /// A key without a slot is closed and clear; only a failure, or a slow call, makes it worth one, unless the rules
    /// remember calls.
    #[inline]
    pub(super) fn absent(&self, ruleset: &Ruleset) -> Granted {
        // 0 is treated as 1 millisecond, as it is when a breaker admits a call.
        let start = |_| self.clock.now_ms().max(1);
        Granted {
            kind: Kind::Absent,
            started_ms: ruleset.slow_call_ms.map_or(0, start),
            place: Place::NONE,
            // A counter: shows whether any key got a slot since, or rules were replaced.
            bits: self.newest(),
        }
    }

    fn admit_absent(
        &self,
        key: &K,
        ruleset: &Ruleset,
        random: impl Fn() -> u32,
    ) -> Result<Granted, Rejection> {
        let passes = self.when_full == WhenFull::Pass || !self.is_known_to_be_full();
        if passes && !ruleset.is_eager {
            // Whether it needs a slot is known when it ends.
            return Ok(self.absent(ruleset));
        }
        self.count_unguarded();
        if passes {
            return Ok(Granted {
                bits: COUNTED,
                ..self.absent(ruleset)
            });
        }
        let rejected = Rejected::new(State::Open, COME_BACK_IN);
        if self.is_enforced(key, None, rejected, random) {
            return Err(rejected.into());
        }
        Ok(Granted::unguarded(Place::NONE))
    }
}

/// A call that is not simply admitted.
#[derive(Clone, Copy)]
pub(super) enum Pending {
    /// The reply of the key's slot, and the transition that this caused.
    Found {
        place: Place,
        granted: Result<Granted, Rejected>,
        made: Option<Transition>,
    },
    /// The key has no slot, and should get one, or there is none.
    Absent,
}

/// The number of times that a key is looked up if its slot changes hands each time.
const MOST_LOOK_UPS: u32 = 16;

#[inline]
fn acquired<C, T, P>(place: Place, breaker: &OfSlot<'_, C, T, P>) -> Result<Granted, Rejected>
where
    C: Clock,
    T: Tally,
    P: Observer,
{
    let permit = breaker.acquire()?;
    let is_probe = permit.is_probe();
    Ok(Granted::by_breaker(is_probe, permit.into_token(), place))
}
