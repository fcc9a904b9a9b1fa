//! What happens when no slot is available.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::Ordering;
use std::time::Duration;

use atomic_breaker::{Clock, Rejected, State, Tally};

use super::admission::acquired;
use super::granted::Granted;
use super::insertion::MOST_LOOKS;
use super::{KeyedObserver, Registry, WhenFull};
use crate::registry::Place;
use atomic_breaker_resource::Rejection;

/// How long a rejected caller should wait; the search for room is repeated at least this often.
pub(super) const COME_BACK_IN: Duration = Duration::from_millis(100);

impl<K, C, T, O, S> Registry<K, C, T, O, S>
where
    K: Hash + Eq + Clone,
    C: Clock,
    T: Tally,
    O: KeyedObserver<K>,
    S: BuildHasher,
{
    #[cold]
    pub(super) fn admit_when_full(&self, key: &K) -> Result<Granted, Rejection> {
        self.count_unguarded();
        if self.when_full == WhenFull::Share {
            let slot = &self.slots[self.capacity()];
            return acquired(self.shared(), &self.breaker(slot, ()))
                .or_else(|rejected| self.reject(key, slot, rejected));
        }
        let rejected = Rejected::new(State::Open, COME_BACK_IN);
        if self.is_enforced(key, rejected) {
            return Err(rejected.into());
        }
        Ok(Granted::UNGUARDED)
    }

    /// The slot shared by the keys that got none.
    pub(super) fn shared(&self) -> Place {
        Place::new(self.capacity() as u32, 0)
    }

    pub(super) fn count_unguarded(&self) {
        // A counter on which nothing else depends.
        self.unguarded.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether no slot was available recently, and none is available now.
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

    /// Whether a search for a slot has just found none.
    pub(super) fn is_noted_as_full(&self) -> bool {
        let until_ms = self.full_until_ms.load(Ordering::Relaxed);
        until_ms != 0 && self.is_ahead(until_ms, self.clock.now_ms())
    }

    /// Whether a recently set time is still ahead.
    pub(super) fn is_ahead(&self, until_ms: u32, now_ms: u32) -> bool {
        // Further ahead than was set: it has passed, perhaps long ago, or the clock stepped back.
        (1..=self.step_ms()).contains(&until_ms.wrapping_sub(now_ms))
    }

    /// Prevents another search for a slot for a moment.
    pub(super) fn note_full(&self) {
        let until_ms = self.clock.now_ms().wrapping_add(self.step_ms());
        self.full_until_ms.store(until_ms.max(1), Ordering::Relaxed);
    }

    /// How long a look at some of the slots stays valid, such as a search that found no slot: at most a tenth of a
    /// second, and short enough for all slots to be looked at within a second.
    pub(super) fn step_ms(&self) -> u32 {
        let share = 1_000 * MOST_LOOKS / self.capacity();
        share.clamp(1, 100) as u32
    }
}
