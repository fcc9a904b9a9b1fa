// SPDX-License-Identifier: MIT OR Apache-2.0
//! An operator's view and commands.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use atomic_breaker::{Clock, Snapshot, State, Tally};

use super::admission::KeyBreaker;
use super::breakers::Place;
use super::slot::Slot;
use super::{KeyedObserver, ObserverOfKey, Registry, RegistryError};
use crate::on_drop::OnDrop;
use crate::permit::LastFailure;

/// The current state of a key that has a slot.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry<K> {
    /// The key.
    pub key: Arc<K>,
    /// Its breaker.
    pub snapshot: Snapshot,
    /// The failure that last opened it.
    pub last_failure: Option<Arc<LastFailure>>,
    /// `true` if it has rules of its own: those of [`set_config_of`](Registry::set_config_of), not those of a class.
    pub has_own_rules: bool,
}

/// Counts of the keys of a registry, and of events that happened to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistryStats {
    /// Keys that have a slot.
    pub keys: usize,
    /// Keys that lost their slot, since the start.
    pub evicted: u64,
    /// The number of calls that found no slot, since the start: depending on [`WhenFull`](super::WhenFull), they passed
    /// without being counted, or were rejected.
    pub unguarded: u64,
}

impl<K: Hash + Eq + Clone, C: Clock, T: Tally, O: KeyedObserver<K>, S: BuildHasher>
    Registry<K, C, T, O, S>
{
    /// Returns all keys that have a slot, one after another: each is read when its turn comes, and each entry is
    /// consistent in itself. Keys that get a slot meanwhile are missing, and no key appears twice. Calls of keys do not
    /// wait for this.
    ///
    /// ```
    /// use atomic_breaker_server::{Config, Guard, Registry, State};
    ///
    /// let hosts = Registry::new(Config::new().consecutive_failures(1))?;
    /// let _ = hosts.of("a.example").call(|| Err::<(), _>("no answer"));
    /// assert_eq!(hosts.entries().filter(|host| host.snapshot.state() == State::Open).count(), 1);
    /// # Ok::<(), atomic_breaker_server::RegistryError>(())
    /// ```
    pub fn entries(&self) -> impl Iterator<Item = Entry<K>> {
        // Slots that were never given away need not be looked at; a key that gets one meanwhile may already have been
        // seen in another slot.
        let places = self.places();
        let (slots, newest) = (&self.slots[..places.fresh], self.newest());
        drop(places);
        slots
            .iter()
            .filter_map(move |slot| self.describe(slot, newest))
    }

    /// Returns the state of a key if it has a slot. A key without one is closed and clear.
    pub fn entry(&self, key: &K) -> Option<Entry<K>> {
        let (_, slot) = self.find(key)?;
        self.describe(slot, u64::MAX)
            .filter(|entry| *entry.key == *key)
    }

    /// The key of a slot, if it got the slot no later than the key with this number.
    fn describe(&self, slot: &Slot<K, T>, newest: u64) -> Option<Entry<K>> {
        loop {
            let turn = slot.turn.get();
            let key = slot.key.load_full()?;
            let since = slot.inserted_as.load(Ordering::Relaxed);
            let entry = Entry {
                snapshot: self.breaker(slot, ()).snapshot(),
                last_failure: slot.last_failure.get(),
                has_own_rules: slot.own_rules().is_some(),
                key: Arc::clone(&key),
            };
            // Within one turn the slot first belongs to the key that is being evicted, then to the next.
            let is_same = slot
                .key
                .load()
                .as_ref()
                .is_some_and(|now| Arc::ptr_eq(now, &key));
            if is_same && slot.turn.is_same(turn, &slot.word) {
                return (since <= newest).then_some(entry);
            }
            drop(self.places());
        }
    }

    /// Returns the state of a key; asking does not count as using the key.
    pub fn state(&self, key: &K) -> State {
        self.entry(key)
            .map_or(State::Closed, |entry| entry.snapshot.state())
    }

    /// Runs a command on a key: trips, forces open, releases, resets, disables or enables it. The key gets a slot if it
    /// has none.
    pub fn command<R>(
        &self,
        key: &K,
        command: impl FnOnce(&KeyBreaker<'_, K, C, T, O>) -> R,
    ) -> Result<R, RegistryError> {
        let (place, _) = self.pinned(key)?;
        Ok(self.act(key, place, command))
    }

    /// [`command`](Self::command) for a key that already has a slot; if it has none, returns `None` and does nothing.
    pub fn command_if_present<R>(
        &self,
        key: &K,
        command: impl FnOnce(&KeyBreaker<'_, K, C, T, O>) -> R,
    ) -> Option<R> {
        let places = self.places();
        let (place, slot) = self.find(key)?;
        slot.pin();
        drop(places);
        Some(self.act(key, place, command))
    }

    fn act<R>(
        &self,
        key: &K,
        place: Place,
        command: impl FnOnce(&KeyBreaker<'_, K, C, T, O>) -> R,
    ) -> R {
        let pinned = &self.slots[place.slot()];
        // Even if the command panics.
        let _unpin = OnDrop::new(|| {
            self.note_state(place.slot());
            pinned.unpin();
        });
        pinned.note_failure(self.newest());
        let observer = ObserverOfKey {
            key,
            observer: &self.observer,
        };
        command(&self.breaker(pinned, observer))
    }

    /// Returns what has happened to the keys.
    pub fn stats(&self) -> RegistryStats {
        RegistryStats {
            keys: self.map.len(),
            // Counters on which nothing else depends.
            evicted: self.evicted.load(Ordering::Relaxed),
            unguarded: self.unguarded.load(Ordering::Relaxed),
        }
    }

    /// The number of the last key that got a slot, or of the last replacement of rules.
    #[inline]
    pub(super) fn newest(&self) -> u64 {
        self.newest.load(Ordering::Relaxed)
    }

    /// The slot of a key, which stays in place until it is unpinned.
    fn pinned(&self, key: &K) -> Result<(Place, &Slot<K, T>), RegistryError> {
        let class = self.class_of(key);
        let mut places = self.places();
        let found = self
            .place(key, class, &mut places)
            .ok_or(RegistryError::Full)?;
        found.1.pin();
        Ok(found)
    }
}
