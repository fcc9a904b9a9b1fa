// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hand-over of a slot's word from key to key.

use std::sync::atomic::Ordering;

use atomic_breaker::word::Word;

/// The number of times that the word of a slot has changed hands. Raised under the lock of the registry, before the
/// word is retired:
///
/// | who | in this order |
/// |---|---|
/// | an eviction | raises the turn · [retires](atomic_breaker::Breaker::retire) the word, which begins an epoch |
/// | a caller | looks up the slot and its turn · acquires from the word · asks whether the turn [is still](Self::is_still) the same |
///
/// A caller that was admitted in the new epoch saw the retired word, so it also sees the raised turn and
/// gives the permit back. A caller that was admitted in the old epoch may continue: its report is stale, and
/// it checks the turn again so that the report is not mistaken for a current one once epochs have wrapped
/// around.
///
/// The highest bit is no part of it: see [`NOT_CALLED`].
#[derive(Debug, Default)]
pub(super) struct Turn<T>(pub(super) T);

/// No call of the slot's key has been admitted, rejected or reported since this was set, or the slot has no key. A caller
/// sees a turn that is not the one it expects, and clears the bit off its fast path, which so pays nothing for it.
const NOT_CALLED: u32 = 1 << 31;

impl<T: Word<Bits = u32>> Turn<T> {
    pub(super) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed) & !NOT_CALLED
    }

    /// Returns whether the value that was just acquired from `word` belongs to this turn, and the key is known to be
    /// called. If not, [`note_call`](Self::note_call) may say that only the latter is missing.
    pub(super) fn is_still(&self, turn: u32, word: &impl Word) -> bool {
        // The closed path loads the word without ordering. This load sees what that one saw, or something
        // later, and pairs with the release of the retirement.
        let _ = word.load(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) == turn
    }

    /// [`is_still`](Self::is_still), whether or not the key is known to be called.
    pub(super) fn is_same(&self, turn: u32, word: &impl Word) -> bool {
        // As above.
        let _ = word.load(Ordering::Acquire);
        self.get() == turn
    }

    /// Notes that the key is called, if that is missing. Returns whether it was noted by this; `None` if it is not missing,
    /// or this turn is over.
    pub(super) fn note_call(&self, turn: u32, word: &impl Word) -> Option<bool> {
        // As above.
        let _ = word.load(Ordering::Acquire);
        let missing = turn | NOT_CALLED;
        let mut seen = self.0.load(Ordering::Relaxed);
        if seen != missing {
            return None;
        }
        while seen == missing {
            match self
                .0
                .compare_exchange_weak(missing, turn, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Some(true),
                Err(found) => seen = found,
            }
        }
        // Another call was faster, or an eviction, which has to wait for no call that came before it.
        Some(false)
    }

    /// Forgets that the key is called, until the next call. Called under the lock of the registry.
    pub(super) fn forget_call(&self) {
        self.change(|seen| seen | NOT_CALLED);
    }

    /// The slot has got a key, which is about to be called. Called under the lock of the registry.
    pub(super) fn begin(&self) {
        self.change(|seen| seen & !NOT_CALLED);
    }

    /// Raises the turn, of which no call is known. Ordered by the release of the retirement that follows, and by the lock
    /// of the registry. Returns whether the key was called.
    pub(super) fn raise(&self) -> bool {
        self.change(|seen| next(seen) | NOT_CALLED) & NOT_CALLED == 0
    }

    /// Undoes the raise if the key keeps its slot. A caller that saw the raised turn meanwhile waits for the
    /// lock of the registry, and looks again.
    pub(super) fn lower(&self) {
        self.change(|seen| seen.wrapping_sub(1) & !NOT_CALLED);
    }

    /// Returns what was there before. Only under the lock of the registry is the turn itself changed.
    fn change(&self, to: impl Fn(u32) -> u32) -> u32 {
        let mut seen = self.0.load(Ordering::Relaxed);
        while let Err(found) =
            self.0
                .compare_exchange_weak(seen, to(seen), Ordering::Relaxed, Ordering::Relaxed)
        {
            seen = found;
        }
        seen
    }
}

/// The turn that follows.
pub(super) const fn next(turn: u32) -> u32 {
    turn.wrapping_add(1) & !NOT_CALLED
}

/// Every interleaving of a caller and an eviction.
#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;
    use atomic_breaker::{Breaker, Config, ManualClock, Rules};
    use std::sync::Arc;

    macro_rules! loom_word {
        ($name:ident, $atomic:ident, $bits:ty) => {
            #[derive(Debug)]
            struct $name(loom::sync::atomic::$atomic, Ordering);

            impl Word for $name {
                type Bits = $bits;

                fn load(&self, order: Ordering) -> $bits {
                    let order = if order == Ordering::Acquire {
                        self.1
                    } else {
                        order
                    };
                    self.0.load(order)
                }

                fn compare_exchange_weak(
                    &self,
                    current: $bits,
                    new: $bits,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$bits, $bits> {
                    // A loop around a spurious failure would never end under loom.
                    self.0.compare_exchange(current, new, success, failure)
                }
            }
        };
    }
    loom_word!(Word64, AtomicU64, u64);
    loom_word!(Word32, AtomicU32, u32);

    /// The slot of one key is evicted and given to another, while a caller makes a call with the first key
    /// and fails. Returns whether the failure counted against the other key.
    fn a_failure_against_an_eviction(acquiring: Ordering, raises_first: bool) {
        let rules = Rules::new(Config::new().consecutive_failures(9));
        loom::model(move || {
            let word = Arc::new(Word64(loom::sync::atomic::AtomicU64::new(0), acquiring));
            let turn = Arc::new(Turn(Word32(
                loom::sync::atomic::AtomicU32::new(0),
                Ordering::Acquire,
            )));
            let caller = loom::thread::spawn({
                let (word, turn) = (Arc::clone(&word), Arc::clone(&turn));
                move || {
                    let looked_up = 0;
                    let breaker = Breaker::from_parts(&*word, &rules, ManualClock::new(), (), ());
                    let permit = breaker.acquire().unwrap();
                    if turn.is_still(looked_up, &*word) {
                        permit.failure();
                    }
                }
            });
            let breaker = Breaker::from_parts(&*word, &rules, ManualClock::new(), (), ());
            if raises_first {
                turn.raise();
            }
            assert!(breaker.retire());
            if !raises_first {
                turn.raise();
            }
            let evicted = breaker.snapshot().epoch();
            caller.join().unwrap();
            let snapshot = breaker.snapshot();
            assert_eq!(snapshot.epoch(), evicted);
            assert_eq!(snapshot.failures(), 0, "of another key");
        });
    }

    #[test]
    fn a_failure_of_the_key_that_was_evicted_never_counts_for_the_next_one() {
        a_failure_against_an_eviction(Ordering::Acquire, true);
    }

    /// Notes that the key is called, while its slot is evicted.
    #[test]
    fn a_call_that_is_noted_never_undoes_an_eviction() {
        let rules = Rules::new(Config::new().consecutive_failures(9));
        loom::model(move || {
            let word = Arc::new(Word64(
                loom::sync::atomic::AtomicU64::new(0),
                Ordering::Acquire,
            ));
            let turn = Arc::new(Turn(Word32(
                loom::sync::atomic::AtomicU32::new(NOT_CALLED),
                Ordering::Acquire,
            )));
            let caller = loom::thread::spawn({
                let (word, turn) = (Arc::clone(&word), Arc::clone(&turn));
                move || {
                    let looked_up = 0;
                    let breaker = Breaker::from_parts(&*word, &rules, ManualClock::new(), (), ());
                    let permit = breaker.acquire().unwrap();
                    let is_still = turn.is_still(looked_up, &*word);
                    let noted = turn.note_call(looked_up, &*word);
                    assert!(!is_still);
                    if noted.is_some() {
                        permit.failure();
                    }
                    noted == Some(true)
                }
            });
            let breaker = Breaker::from_parts(&*word, &rules, ManualClock::new(), (), ());
            let was_called = turn.raise();
            assert!(breaker.retire());
            let evicted = breaker.snapshot().epoch();
            assert_eq!(caller.join().unwrap(), was_called, "counted once");
            let snapshot = breaker.snapshot();
            assert_eq!((snapshot.epoch(), snapshot.failures()), (evicted, 0));
            assert_eq!((turn.get(), turn.raise()), (1, false));
        });
    }

    #[test]
    #[should_panic(expected = "of another key")]
    fn control_a_turn_that_is_raised_last_comes_too_late() {
        a_failure_against_an_eviction(Ordering::Acquire, false);
    }

    #[test]
    #[should_panic(expected = "of another key")]
    fn control_without_the_acquiring_load_the_turn_may_look_the_same() {
        a_failure_against_an_eviction(Ordering::Relaxed, true);
    }
}
