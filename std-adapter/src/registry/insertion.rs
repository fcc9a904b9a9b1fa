//! Who gets a slot, and who loses it.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use atomic_breaker::{Clock, State, Tally};

use super::slot::{Slot, Whose};
use super::{KeyedObserver, Place, Registry};

/// Which slots are free, and where the search for a victim goes on.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Those below were given away once.
    fresh: usize,
    /// The hand of the clock that goes round ("second chance": Corbató, A Paging Experiment, 1968).
    hand: usize,
}

/// How many slots are looked at for one without counted failures, before one with some is taken.
const LOOKS: usize = 64;

/// What a slot is worth to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// Closed and clear: as good as absent.
    Nothing,
    /// Closed, with failures counted.
    Counts,
    /// Everything else.
    Kept,
}

impl<K, C, T, O, S> Registry<K, C, T, O, S>
where
    K: Hash + Eq + Clone,
    C: Clock,
    T: Tally,
    O: KeyedObserver<K>,
    S: BuildHasher,
{
    pub(super) fn places(&self) -> MutexGuard<'_, Places> {
        // What is done under it leaves it whole, unless a key's own `Hash`, `Eq` or `Clone` panics: then a slot
        // is lost at worst.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of a key, a new one if need be; `None`, and counted, if there is no room.
    pub(super) fn insert(&self, key: &K) -> Option<(Place, &Slot<K, T>)> {
        if let Some(found) = self.find(key) {
            return Some(found);
        }
        let placed = if self.is_known_to_be_full() {
            None
        } else {
            self.place(key, &mut self.places())
        };
        if placed.is_none() {
            // A counter that nothing else depends on.
            self.unguarded.fetch_add(1, Ordering::Relaxed);
        }
        placed
    }

    /// [`insert`](Self::insert) under the lock.
    pub(super) fn place(&self, key: &K, places: &mut Places) -> Option<(Place, &Slot<K, T>)> {
        // Somebody else may have been faster.
        if let Some(found) = self.find(key) {
            return Some(found);
        }
        let Some(index) = self.free_slot(places) else {
            self.note_full();
            return None;
        };
        let slot = &self.slots[index];
        let place = Place {
            slot: index as u32,
            turn: slot.turn.get(),
        };
        let epoch = self.breaker(slot, Whose::Nobody).snapshot().epoch();
        slot.born.store(epoch, Ordering::Relaxed);
        // Not yet: those that fail once and never come again are the first to go.
        slot.is_used.store(false, Ordering::Relaxed);
        slot.key.store(Some(Arc::new(key.clone())));
        self.map.pin().insert(key.clone(), place);
        Some((place, slot))
    }

    fn free_slot(&self, places: &mut Places) -> Option<usize> {
        if places.fresh < self.capacity() {
            places.fresh += 1;
            return Some(places.fresh - 1);
        }
        let mut second_best = None;
        // Twice round: those that were used lately are spared at first.
        for look in 0..2 * self.capacity() {
            let index = places.hand;
            places.hand = (index + 1) % self.capacity();
            match self.worth(&self.slots[index]) {
                Worth::Nothing if self.evict(index) => return Some(index),
                Worth::Counts => {
                    second_best.get_or_insert(index);
                }
                Worth::Nothing | Worth::Kept => {}
            }
            if look + 1 >= LOOKS.min(self.capacity()) {
                if let Some(index) = second_best.take().filter(|&index| self.evict(index)) {
                    return Some(index);
                }
            }
        }
        None
    }

    fn worth(&self, slot: &Slot<K, T>) -> Worth {
        let snapshot = self.breaker(slot, Whose::Nobody).snapshot();
        if slot.is_pinned()
            || snapshot.state() != State::Closed
            || slot.is_used.swap(false, Ordering::Relaxed)
        {
            Worth::Kept
        } else if snapshot.failures() == 0 {
            Worth::Nothing
        } else {
            Worth::Counts
        }
    }

    /// Takes the slot from its key, unless it has opened meanwhile.
    fn evict(&self, index: usize) -> bool {
        let slot = &self.slots[index];
        let key = slot.key.load_full();
        let turn = slot.turn.raise();
        if !self.breaker(slot, Whose::Nobody).retire() {
            // Its key keeps it. Callers who looked it up before ask again.
            if let Some(key) = key {
                let place = Place {
                    slot: index as u32,
                    turn,
                };
                self.map.pin().insert((*key).clone(), place);
            }
            return false;
        }
        if let Some(key) = key {
            self.map.pin().remove(&*key);
        }
        slot.key.store(None);
        slot.last_failure.clear();
        self.evicted.fetch_add(1, Ordering::Relaxed);
        true
    }
}
