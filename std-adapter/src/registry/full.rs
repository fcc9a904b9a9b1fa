//! When there is no slot to be had.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::Ordering;
use std::time::Duration;

use atomic_breaker::{Clock, Rejected, State, Tally};

use super::admission::acquired;
use super::granted::Granted;
use super::{KeyedObserver, Place, Registry, WhenFull};
use crate::resource::Rejection;

/// For how long a search for a slot that found none is taken for the answer.
const FULL_FOR: Duration = Duration::from_millis(100);

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
        if self.when_full == WhenFull::Share {
            let shared = self.shared();
            let slot = &self.slots[self.capacity()];
            return match acquired(&self.breaker(slot, ())) {
                Ok((is_probe, token)) => Ok(Granted::admitted(shared, is_probe, token)),
                Err(rejected) => self.reject(key, slot, rejected),
            };
        }
        let rejected = Rejected::new(State::Open, FULL_FOR);
        if self.is_enforced(key, rejected) {
            return Err(rejected.into());
        }
        Ok(Granted::UNGUARDED)
    }

    /// The slot of those who got none.
    pub(super) fn shared(&self) -> Place {
        Place::new(self.capacity() as u32, 0)
    }

    /// Whether no slot was to be had lately, and none is to be had now. Looked at again every tenth of a second.
    #[inline]
    pub(super) fn is_known_to_be_full(&self) -> bool {
        let until_ms = self.full_until_ms.load(Ordering::Relaxed);
        until_ms != 0 && self.is_full_until(until_ms)
    }

    #[cold]
    fn is_full_until(&self, until_ms: u32) -> bool {
        // More than was set: it has passed, long ago perhaps, or the clock stepped back.
        let left_ms = until_ms.wrapping_sub(self.clock.now_ms());
        if (1..=FULL_FOR.as_millis() as u32).contains(&left_ms) {
            return true;
        }
        let places = self.places();
        if self.has_room(&places) {
            self.full_until_ms.store(0, Ordering::Relaxed);
            return false;
        }
        self.note_full();
        true
    }

    /// For a moment nobody looks for a slot again.
    pub(super) fn note_full(&self) {
        let until_ms = self
            .clock
            .now_ms()
            .wrapping_add(FULL_FOR.as_millis() as u32);
        self.full_until_ms.store(until_ms.max(1), Ordering::Relaxed);
    }
}
