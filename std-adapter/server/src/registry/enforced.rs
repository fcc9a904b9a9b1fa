// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which rejections are enforced.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::Ordering;

use atomic_breaker::{Clock, Rejected, State, Tally};

use super::cap::{Cap, KEY};
use super::insertion::At;
use super::places::MOST_LOOKS;
use super::slot::Slot;
use super::{KeyedObserver, Registry};

impl<K: Hash + Eq + Clone, C: Clock, T: Tally, O: KeyedObserver<K>, S: BuildHasher>
    Registry<K, C, T, O, S>
{
    /// Whether a rejection is enforced; notifies the observer of it.
    pub(super) fn is_enforced(
        &self,
        key: &K,
        rejected: Rejected,
        random: impl Fn() -> u32,
    ) -> bool {
        let mut drawn = None;
        let mut random = || *drawn.get_or_insert_with(&random);
        let is_enforced = self.enforcement.is_enforced(&mut random)
            && match &self.cap {
                Some(cap) if rejected.state() != State::ForcedOpen => {
                    self.count_some(cap);
                    cap.admits(random)
                }
                _ => true,
            };
        if self.observer.is_listening() {
            if is_enforced {
                self.observer.rejected(key, rejected);
            } else {
                self.observer.would_reject(key, rejected);
            }
        }
        is_enforced
    }

    /// Recounts the next block of slots, unless one was counted just now.
    fn count_some(&self, cap: &Cap) {
        let now_ms = self.clock.now_ms();
        let until_ms = cap.until_ms.load(Ordering::Relaxed);
        if until_ms != 0 && self.is_ahead(until_ms, now_ms) {
            return;
        }
        let next_ms = now_ms.wrapping_add(self.step_ms()).max(1);
        let won =
            cap.until_ms
                .compare_exchange(until_ms, next_ms, Ordering::Relaxed, Ordering::Relaxed);
        if won.is_err() {
            return;
        }
        // The lock is held for this statement only.
        let in_use = self.places().fresh;
        let slots = &self.slots[..in_use];
        let blocks = in_use.div_ceil(MOST_LOOKS).max(1);
        let block = cap.next.fetch_add(1, Ordering::Relaxed) % blocks;
        let slots = slots.chunks(MOST_LOOKS).nth(block).unwrap_or_default();
        let now = At(now_ms);
        let shut_out = slots.iter().map(|slot| self.shut_out(slot, now)).sum();
        cap.note(block, shut_out);
    }

    /// The share of a key's calls that its breaker itself rejects, in hundredths. A breaker whose next call would be a
    /// probe rejects no calls, even if no one calls it any more.
    fn shut_out(&self, slot: &Slot<K, T>, now: At) -> u32 {
        let snapshot = self.snapshot_at(slot, now);
        match snapshot.state() {
            State::Open | State::HalfOpen if !snapshot.is_due() => KEY as u32,
            State::Returning => KEY as u32 - u32::from(snapshot.returning_percent().unwrap_or(100)),
            _ => 0,
        }
    }
}
