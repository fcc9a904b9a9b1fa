// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choice of the keys that get a slot, and of those that lose it.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use atomic_breaker::{Breaker, Clock, Snapshot, State, Tally};

use super::breakers::Place;
use super::classes::Class;
use super::named::{Named, Wanted};
use super::places::{MOST_LOOKS, Places};
use super::slot::Slot;
use super::{KeyedObserver, Registry};
use crate::on_drop::OnDrop;

/// The number of evictable keys that are compared.
const CANDIDATES: usize = 16;

/// The time that a rejected caller should wait; the search for room is repeated at least this often.
pub(super) const COME_BACK_IN: Duration = Duration::from_millis(100);

/// The order in which keys are evicted: the first before the later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Evictability {
    /// Closed, with nothing counted or remembered against it: as good as absent.
    Free,
    /// Closed with failures, or returning with all calls passing.
    Failing,
    /// Open for a long time or half-open, and no caller would have to wait: the only thing forgotten would be how often it
    /// has tripped in a row.
    Due,
    /// Everything else: not to be evicted.
    Pinned,
}

impl<K: Hash + Eq + Clone, C: Clock, T: Tally, O: KeyedObserver<K>, S: BuildHasher>
    Registry<K, C, T, O, S>
{
    pub(super) fn places(&self) -> MutexGuard<'_, Places> {
        // The work done under the lock leaves the data consistent, even if code of a key, the clock or a tally panics.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of a key, a new one if necessary; `None` if there is no room.
    pub(super) fn insert(&self, key: &K) -> Option<(Place, &Slot<K, T>)> {
        if let Some(found) = self.find(key) {
            return Some(found);
        }
        if self.is_known_to_be_full() {
            return None;
        }
        let class = self.class_of(key);
        let mut places = self.places();
        // Another thread may have found that out while this one waited.
        if self.is_noted_as_full() {
            return None;
        }
        self.place(key, class, &mut places)
    }

    /// [`insert`](Self::insert) under the lock, with the [class](Self::class_of) of the key.
    pub(super) fn place(
        &self,
        key: &K,
        class: Class,
        places: &mut Places,
    ) -> Option<(Place, &Slot<K, T>)> {
        // Another thread may have been faster.
        if let Some(found) = self.find(key) {
            return Some(found);
        }
        // Done before a slot is taken from another key, because code of a key may panic.
        let named = Named::new(self.hasher.hash_one(key), key.clone());
        let kept = Arc::new(key.clone());
        let Some(index) = self.free_slot(places) else {
            self.note_full();
            return None;
        };
        let slot = &self.slots[index];
        let place = Place::new(index as u32, slot.turn.get());
        // Under the lock, so no other thread counts.
        let number = self.newest() + 1;
        slot.turn.begin();
        // Stored before the key can be found, so that a thread that finds it sees these values.
        slot.word_at_insert
            .store(self.breaker(slot, ()).to_bits(), Ordering::Relaxed);
        slot.inserted_as.store(number, Ordering::Relaxed);
        slot.failed_after.store(0, Ordering::Relaxed);
        slot.set_class(class);
        // Removes the key again if it does not get into the map.
        let unless_found = OnDrop::new(|| slot.key.store(None));
        slot.key.store(Some(kept));
        self.map.pin().insert(named, place);
        unless_found.disarm();
        self.newest.store(number, Ordering::Relaxed);
        self.note_called(index);
        Some((place, slot))
    }

    fn free_slot(&self, places: &mut Places) -> Option<usize> {
        if places.fresh < self.capacity() {
            places.fresh += 1;
            return Some(places.fresh - 1);
        }
        places.spare.take().or_else(|| self.vacate(places))
    }

    /// Returns whether a slot is available, now that all have been given away once. If one is taken from its key to
    /// find out, it is kept for the next key.
    fn has_room(&self, places: &mut Places) -> bool {
        // Another thread may have found one while this one waited.
        if places.spare.is_none() {
            places.spare = self.vacate(places);
        }
        places.spare.is_some()
    }

    /// Takes a slot from the key that needs it least, among those that are looked at. Goes round twice at most, so that
    /// none is missed in a small registry.
    fn vacate(&self, places: &mut Places) -> Option<usize> {
        let now = At(self.clock.now_ms());
        let mut candidates = Vec::with_capacity(CANDIDATES);
        for _ in 0..(2 * self.capacity()).min(MOST_LOOKS) {
            let index = places.walk.step(self.capacity());
            let slot = &self.slots[index];
            match self.evictability(slot, now) {
                Evictability::Free if self.evict(index) => return Some(index),
                Evictability::Free | Evictability::Pinned => {}
                worth => {
                    let stay = places.stays.of(slot.inserted_as(), self.capacity());
                    candidates.push((worth, slot.last_needed() + stay, index));
                }
            }
            if candidates.len() == CANDIDATES {
                break;
            }
        }
        // First comes the key whose last failure is the longest ago, measured in slots given away since, and whose stay
        // is over.
        candidates.sort_unstable();
        let mut indices = candidates.into_iter().map(|(_, _, index)| index);
        indices.find(|&index| self.evict(index))
    }

    fn evictability(&self, slot: &Slot<K, T>, now: At) -> Evictability {
        if slot.is_pinned() {
            return Evictability::Pinned;
        }
        let ruleset = self.rules_of(slot);
        let snapshot = self.snapshot_at(slot, now);
        match snapshot.entered() {
            State::Closed if snapshot.failures() > 0 => Evictability::Failing,
            // A tally remembers something against it.
            State::Closed if ruleset.remembers && slot.has_failed() => Evictability::Failing,
            State::Closed => Evictability::Free,
            // Closed, with trips that are not forgotten yet.
            State::Returning if snapshot.wait().is_none() => Evictability::Failing,
            State::Open if !is_long_over(&snapshot, now) => Evictability::Pinned,
            State::ForcedOpen | State::Disabled => Evictability::Pinned,
            _ if snapshot.wait().is_none() => Evictability::Due,
            _ => Evictability::Pinned,
        }
    }

    /// The snapshot of a slot's breaker at a time that was read before.
    pub(super) fn snapshot_at(&self, slot: &Slot<K, T>, now: At) -> Snapshot {
        let rules = &self.rules_of(slot).rules;
        Breaker::from_parts(&slot.word, rules, now, &slot.tally, ()).snapshot()
    }

    /// Takes the slot from its key, unless the key has opened meanwhile.
    fn evict(&self, index: usize) -> bool {
        let slot = &self.slots[index];
        let key = slot.key.load_full();
        let hash = key.as_ref().map(|key| self.hasher.hash_one(&**key));
        // The key keeps its slot if anything panics.
        let raised = OnDrop::new(|| slot.turn.lower());
        let place = Place::new(index as u32, slot.turn.get());
        let was_called = slot.turn.raise();
        if !self.breaker(slot, ()).retire() {
            return false;
        }
        if let (Some(key), Some(hash)) = (&key, hash) {
            let wanted = Wanted { hash, key: &**key };
            let _ = self.map.pin().remove_if(&wanted, |_, at| *at == place);
        }
        raised.disarm();
        self.note_evicted(index, was_called);
        slot.last_failure.clear();
        slot.losses.clear();
        // Dropped last, as that may panic.
        let _keys = (slot.key.swap(None), key);
        self.evicted.fetch_add(1, Ordering::Relaxed);
        true
    }

    pub(super) fn count_unguarded(&self) {
        // A counter on which nothing else depends.
        self.unguarded.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether no slot was available recently, and none is available now.
    #[inline]
    pub(super) fn is_known_to_be_full(&self) -> bool {
        self.full_until_ms.load(Ordering::Relaxed) != 0 && !self.has_room_again()
    }

    #[cold]
    fn has_room_again(&self) -> bool {
        if self.is_noted_as_full() {
            return false;
        }
        let mut places = self.places();
        // Another thread may have found that out while this one waited.
        if self.is_noted_as_full() {
            return false;
        }
        if self.has_room(&mut places) {
            self.full_until_ms.store(0, Ordering::Relaxed);
            return true;
        }
        self.note_full();
        false
    }

    /// Returns whether a search for a slot has just found none.
    pub(super) fn is_noted_as_full(&self) -> bool {
        let until_ms = self.full_until_ms.load(Ordering::Relaxed);
        until_ms != 0 && self.is_ahead(until_ms, self.clock.now_ms())
    }

    /// Returns whether a recently set time is still ahead.
    pub(super) fn is_ahead(&self, until_ms: u32, now_ms: u32) -> bool {
        // Further ahead than was set: it has passed, perhaps long ago, or the clock stepped back.
        (1..=self.step_ms()).contains(&until_ms.wrapping_sub(now_ms))
    }

    /// Prevents another search for a slot for a moment.
    pub(super) fn note_full(&self) {
        let until_ms = self.clock.now_ms().wrapping_add(self.step_ms());
        self.full_until_ms.store(until_ms.max(1), Ordering::Relaxed);
    }

    /// The time for which a look at some of the slots stays valid, such as a search that found no slot: at most a tenth
    /// of a second, and short enough for all slots to be looked at within a second.
    pub(super) fn step_ms(&self) -> u32 {
        let share = 1_000 * MOST_LOOKS / self.capacity();
        share.clamp(1, 100) as u32
    }
}

/// Returns whether the open time has been over for as long as it lasted.
pub(super) fn is_long_over(snapshot: &Snapshot, now: At) -> bool {
    let (Some(opened_at_ms), Some(open_for)) = (snapshot.opened_at_ms(), snapshot.open_for())
    else {
        return false;
    };
    let since_ms = u128::from(now.0.wrapping_sub(opened_at_ms));
    snapshot.is_due() && since_ms >= 2 * open_for.as_millis()
}

/// A time that is read once for several slots.
#[derive(Clone, Copy)]
pub(super) struct At(pub(super) u32);

impl Clock for At {
    fn now_ms(&self) -> u32 {
        self.0
    }
}
