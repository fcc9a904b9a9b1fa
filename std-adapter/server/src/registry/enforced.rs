// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rejections that are enforced, and the data that this depends on: the keys that are down, and the number of those
//! that are called.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::Ordering;

use atomic_breaker::{Clock, Rejected, State, Tally};

use super::cap::Cap;
use super::insertion::{At, is_long_over};
use super::places::MOST_LOOKS;
use super::{KeyedObserver, Registry};

impl<K: Hash + Eq + Clone, C: Clock, T: Tally, O: KeyedObserver<K>, S: BuildHasher>
    Registry<K, C, T, O, S>
{
    /// Returns whether a rejection is enforced, by the key of a slot or, if it has none, because the registry is full;
    /// notifies the observer of it.
    pub(super) fn is_enforced(
        &self,
        key: &K,
        slot: Option<usize>,
        rejected: Rejected,
        random: impl Fn() -> u32,
    ) -> bool {
        let is_enforced =
            self.enforcement.is_enforced(random) && self.is_within_cap(slot, rejected.state());
        if self.observer.is_listening() {
            if is_enforced {
                self.observer.rejected(key, rejected);
            } else {
                self.observer.would_reject(key, rejected);
            }
        }
        is_enforced
    }

    /// Returns whether a rejection in this state is enforced, as far as it depends on the number of keys that are shut
    /// out.
    pub(super) fn is_within_cap(&self, slot: Option<usize>, state: State) -> bool {
        let Some(cap) = &self.cap else {
            return true;
        };
        if state == State::ForcedOpen {
            return true;
        }
        self.look_at_some(cap);
        let Some(slot) = slot else {
            return cap.has_room();
        };
        if !cap.is_down(slot) {
            // Whoever has opened it has not noted that yet.
            self.note_state(slot);
        }
        // If it is up by now, it was down when it rejected.
        !cap.is_down(slot) || cap.shuts_out(slot)
    }

    /// Notes whether the key of a slot is down, after a transition. Calls no code of the user, so it cannot panic.
    #[cold]
    #[inline(never)]
    pub(super) fn note_state(&self, slot: usize) {
        if let Some(cap) = &self.cap {
            // Once more if it was noted as down, because it may have come up, and that been noted, in between.
            let _ = self.note_down(cap, slot) && self.note_down(cap, slot);
        }
    }

    /// Returns whether it was noted as down, and was not before.
    fn note_down(&self, cap: &Cap, slot: usize) -> bool {
        match self.breaker(&self.slots[slot], ()).state() {
            State::Open | State::HalfOpen | State::Returning => cap.note_down(slot, false),
            _ => {
                cap.note_up(slot);
                false
            }
        }
    }

    /// Looks at the next block of slots that are down, unless one was looked at just now: keys that are not called any more
    /// do not count once they admit a call.
    fn look_at_some(&self, cap: &Cap) {
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
        let look = cap.next_look();
        self.begin_periods(cap, look, now_ms);
        for slot in cap.block(look) {
            if self.is_idle(slot, At(now_ms)) {
                cap.note_down(slot, true);
            } else {
                self.note_state(slot);
            }
        }
    }

    /// Returns whether no call of a key that is down is rejected, and none has become a probe for a while.
    fn is_idle(&self, slot: usize, now: At) -> bool {
        let snapshot = self.snapshot_at(&self.slots[slot], now);
        match snapshot.entered() {
            State::Open => is_long_over(&snapshot, now),
            State::HalfOpen => snapshot.is_due(),
            State::Returning => snapshot.returning_percent() == Some(100),
            _ => false,
        }
    }

    /// Counts a key that is called: its first call in this period.
    pub(super) fn note_called(&self, slot: usize) {
        if let Some(cap) = &self.cap {
            cap.note_called(slot / MOST_LOOKS);
        }
    }

    /// A key has lost its slot. Called under the lock of the registry.
    pub(super) fn note_evicted(&self, slot: usize, was_called: bool) {
        let Some(cap) = &self.cap else {
            return;
        };
        cap.note_up(slot);
        if let Some(called) = cap.called.get(slot / MOST_LOOKS).filter(|_| was_called) {
            called.remove();
        }
    }

    /// Begins a period, if it is time, in the next blocks in which keys that are called are counted.
    fn begin_periods(&self, cap: &Cap, look: usize, now_ms: u32) {
        for block in cap.called_blocks(look) {
            let called = &cap.called[block];
            if !called.is_over(now_ms) {
                continue;
            }
            let places = self.places();
            // Another thread may have been faster.
            if called.is_over(now_ms) {
                called.begin(now_ms);
                let slots = self.slots[..places.fresh].chunks(MOST_LOOKS).nth(block);
                for slot in slots.unwrap_or_default() {
                    slot.turn.forget_call();
                }
                cap.note_change();
            }
        }
    }
}
