// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words over loom's atomics.

use atomic_breaker::word::Word;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A 64-bit word in loom's memory model, with the orderings that the breaker asks for.
///
/// Loom 0.7 remembers only the last access of an atomic when it looks for orders to try. Where one
/// thread loads, and another loads and then swaps, it forgets the first load and never tries the swap
/// before it. So each access passes a turnstile first: a relaxed read-modify-write of another atomic,
/// which orders nothing in the memory model, but makes every two accesses conflict, so that all their
/// orders are tried. `every_order_of_load_and_swap_is_tried` pins that it helps.
pub(crate) struct LoomWord {
    word: AtomicU64,
    turnstile: AtomicU32,
}

impl LoomWord {
    pub(crate) fn new() -> Self {
        Self::of(0)
    }

    pub(crate) fn of(bits: u64) -> Self {
        Self {
            word: AtomicU64::new(bits),
            turnstile: AtomicU32::new(0),
        }
    }

    fn pass(&self) {
        self.turnstile.fetch_add(1, Ordering::Relaxed);
    }
}

impl Word for LoomWord {
    type Bits = u64;

    fn load(&self, order: Ordering) -> u64 {
        self.pass();
        self.word.load(order)
    }

    fn compare_exchange_weak(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.pass();
        // In loom the weak exchange does not fail spuriously either; `chaos` shows those failures.
        self.word.compare_exchange(current, new, success, failure)
    }
}

/// The control: the same word with other orderings than those asked for.
pub(crate) struct Deaf {
    word: LoomWord,
    load: Ordering,
    success: Ordering,
    failure: Ordering,
}

impl Deaf {
    pub(crate) fn with(load: Ordering, success: Ordering, failure: Ordering) -> Self {
        Self {
            word: LoomWord::new(),
            load,
            success,
            failure,
        }
    }

    /// Everything relaxed.
    pub(crate) fn relaxed() -> Self {
        Self::with(Ordering::Relaxed, Ordering::Relaxed, Ordering::Relaxed)
    }
}

impl Word for Deaf {
    type Bits = u64;

    fn load(&self, _order: Ordering) -> u64 {
        self.word.load(self.load)
    }

    fn compare_exchange_weak(
        &self,
        current: u64,
        new: u64,
        _success: Ordering,
        _failure: Ordering,
    ) -> Result<u64, u64> {
        self.word
            .compare_exchange_weak(current, new, self.success, self.failure)
    }
}

/// A word whose exchange ignores some bits: the control that shows what those bits are for.
pub(crate) struct Blind {
    word: LoomWord,
    compared: u64,
}

impl Blind {
    /// Compares the state alone.
    pub(crate) fn to_all_but_the_state() -> Self {
        Self {
            word: LoomWord::new(),
            compared: 0b11,
        }
    }
}

impl Word for Blind {
    type Bits = u64;

    fn load(&self, order: Ordering) -> u64 {
        self.word.load(order)
    }

    fn compare_exchange_weak(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        let found = self.word.load(failure);
        if (found ^ current) & self.compared == 0 {
            self.word
                .compare_exchange_weak(found, new, success, failure)
        } else {
            Err(found)
        }
    }
}

#[test]
fn every_order_of_load_and_swap_is_tried() {
    use loom::sync::Arc;
    use std::collections::HashSet;
    use std::sync::Mutex;

    let seen = std::sync::Arc::new(Mutex::new(HashSet::new()));
    let all = seen.clone();
    loom::model(move || {
        let word = Arc::new(LoomWord::new());
        let other = word.clone();
        let there = loom::thread::spawn(move || {
            let found = other.load(Ordering::Acquire);
            other.compare_exchange_weak(found, 1, Ordering::AcqRel, Ordering::Acquire)
        });
        let here = (word.load(Ordering::Relaxed), word.load(Ordering::Acquire));
        there.join().unwrap().unwrap();
        all.lock().unwrap().insert(here);
    });
    assert_eq!(
        *seen.lock().unwrap(),
        HashSet::from([(0, 0), (0, 1), (1, 1)])
    );
}
