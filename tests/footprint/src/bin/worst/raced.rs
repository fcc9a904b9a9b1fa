// SPDX-License-Identifier: MIT OR Apache-2.0
//! A word whose exchange can be lost, without an instruction more.

use core::sync::atomic::Ordering;

use atomic_breaker::word::{AtomicU32, Word};
use portable_atomic::Ordering::Relaxed;

/// A word, and what it was before another caller changed it: what the load before an exchange still reads. Where both
/// are the same, this is a word like any other.
#[repr(C)]
pub(crate) struct Raced {
    // The first, as an exchange takes no offset.
    word: AtomicU32,
    before: AtomicU32,
}

impl Raced {
    pub(crate) const fn new() -> Self {
        Self {
            word: AtomicU32::new(0),
            before: AtomicU32::new(0),
        }
    }

    pub(crate) fn set(&self, before: u32, word: u32) {
        self.before.store(before, Relaxed);
        self.word.store(word, Relaxed);
    }

    pub(crate) fn get(&self) -> u32 {
        self.word.load(Relaxed)
    }
}

impl Word for Raced {
    type Bits = u32;

    #[inline]
    fn load(&self, order: Ordering) -> u32 {
        // The load of the closed path is relaxed, and no exchange follows it.
        if order == Relaxed {
            self.word.load(order)
        } else {
            self.before.load(order)
        }
    }

    #[inline]
    fn compare_exchange_weak(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        self.word
            .compare_exchange_weak(current, new, success, failure)
    }
}
