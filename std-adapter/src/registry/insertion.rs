//! Who gets a slot, and who loses it.

use std::hash::{BuildHasher, Hash};
use std::mem;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use atomic_breaker::{Breaker, Clock, Snapshot, State, Tally};

use super::slot::Slot;
use super::{KeyedObserver, Place, Registry};

/// Which slots are free, and where the search for a victim goes on.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Those below were given away once.
    fresh: usize,
    /// The hand of the clock that goes round ("second chance": Corbató, A Paging Experiment, 1968).
    hand: usize,
}

impl Places {
    /// How many slots were given away at least once: the first ones.
    pub(super) const fn fresh(&self) -> usize {
        self.fresh
    }
}

/// How many slots are looked at for one without counted failures, before one with some is taken.
const LOOKS: usize = 64;

/// How many slots are looked at in one search, at most: it holds the lock.
const MOST_LOOKS: usize = 1_024;

/// What a slot is worth to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// Closed and clear: as good as absent.
    Nothing,
    /// Closed, with failures counted; or open, half-open or returning for so long that nobody needs to wait any
    /// more, and nobody has called lately.
    Little,
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
        let place = Place::new(index as u32, slot.turn.get());
        let kept = Arc::new(key.clone());
        // Before the key can be found: who finds it sees these.
        slot.born
            .store(self.breaker(slot, ()).to_bits(), Ordering::Relaxed);
        // Not yet: those that fail once and never come again are the first to go.
        slot.is_used.store(false, Ordering::Relaxed);
        slot.key.store(Some(kept));
        self.map.pin().insert(key.clone(), place);
        self.inserted.fetch_add(1, Ordering::Relaxed);
        Some((place, slot))
    }

    fn free_slot(&self, places: &mut Places) -> Option<usize> {
        if places.fresh < self.capacity() {
            places.fresh += 1;
            return Some(places.fresh - 1);
        }
        let now = At(self.clock.now_ms());
        let mut second_best = None;
        // Twice round: those that were used lately are spared at first.
        for look in 0..(2 * self.capacity()).min(MOST_LOOKS) {
            let index = places.hand;
            places.hand = (index + 1) % self.capacity();
            match self.worth(&self.slots[index], &now) {
                Worth::Nothing if self.evict(index) => return Some(index),
                Worth::Little => {
                    second_best.get_or_insert(index);
                }
                Worth::Nothing | Worth::Kept => {}
            }
            if look + 1 >= LOOKS.min(self.capacity()) {
                if let Some(index) = second_best.take().filter(|&index| self.evict(index)) {
                    // The search goes on beside it, or most slots would never change hands.
                    places.hand = (index + 1) % self.capacity();
                    return Some(index);
                }
            }
        }
        second_best.filter(|&index| self.evict(index))
    }

    /// Whether some slot could be had.
    pub(super) fn has_room(&self, places: &Places) -> bool {
        let now = At(self.clock.now_ms());
        let is_free = |slot: &Slot<K, T>| {
            let snapshot = Breaker::from_parts(
                &slot.word,
                &self.rules_of(slot).rules,
                &now,
                &slot.tally,
                (),
            )
            .snapshot();
            !slot.is_pinned() && can_go(&snapshot)
        };
        places.fresh < self.capacity() || self.slots[..self.capacity()].iter().any(is_free)
    }

    fn worth(&self, slot: &Slot<K, T>, now: &At) -> Worth {
        let rules = &self.rules_of(slot).rules;
        let snapshot = Breaker::from_parts(&slot.word, rules, now, &slot.tally, ()).snapshot();
        if slot.is_pinned() || !can_go(&snapshot) || slot.is_used.swap(false, Ordering::Relaxed) {
            Worth::Kept
        } else if snapshot.state() == State::Closed && snapshot.failures() == 0 {
            Worth::Nothing
        } else {
            Worth::Little
        }
    }

    /// Takes the slot from its key, unless it has opened meanwhile.
    fn evict(&self, index: usize) -> bool {
        let slot = &self.slots[index];
        let key = slot.key.load_full();
        // The key keeps its slot if anything goes wrong, a panic of a key's `Hash` included.
        let raised = Raised(slot);
        slot.turn.raise();
        if !self.breaker(slot, ()).retire() {
            return false;
        }
        if let Some(key) = key {
            self.map.pin().remove(&*key);
        }
        slot.key.store(None);
        slot.last_failure.clear();
        mem::forget(raised);
        self.evicted.fetch_add(1, Ordering::Relaxed);
        true
    }
}

/// Whether nobody needs to remember it.
fn can_go(snapshot: &Snapshot) -> bool {
    match snapshot.state() {
        State::Closed => true,
        State::Open | State::HalfOpen => snapshot.is_due(),
        State::Returning => snapshot.returning_percent() == Some(100),
        _ => false,
    }
}

/// Lowers the turn of a slot again.
struct Raised<'a, K, T>(&'a Slot<K, T>);

impl<K, T> Drop for Raised<'_, K, T> {
    fn drop(&mut self) {
        self.0.turn.lower();
    }
}

/// The time of a search: read once.
struct At(u32);

impl Clock for At {
    fn now_ms(&self) -> u32 {
        self.0
    }
}
