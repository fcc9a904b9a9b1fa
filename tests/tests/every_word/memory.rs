// SPDX-License-Identifier: MIT OR Apache-2.0
//! The word, the clock and the observer, all in cells: threads are the matter of other tests.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use atomic_breaker::word::{TickBits, Word};
use atomic_breaker::{Clock, Observer, Transition};

/// Ticks of a millisecond.
pub(crate) type Ticked = TickBits<0>;

/// The word, in a cell, and what the observer was told.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) word: Cell<u32>,
    pub(crate) now_ms: Cell<u32>,
    pub(crate) random: Cell<u32>,
    pub(crate) made: Cell<Option<Transition>>,
    pub(crate) transitions: Cell<u32>,
}

impl Word for Memory {
    type Bits = Ticked;

    fn load(&self, _: Ordering) -> Ticked {
        TickBits(self.word.get())
    }

    fn compare_exchange_weak(
        &self,
        current: Ticked,
        new: Ticked,
        _: Ordering,
        _: Ordering,
    ) -> Result<Ticked, Ticked> {
        let seen = self.load(Ordering::Relaxed);
        if seen == current {
            self.word.set(new.0);
            Ok(seen)
        } else {
            Err(seen)
        }
    }
}

impl Clock for Memory {
    fn now_ms(&self) -> u32 {
        self.now_ms.get()
    }

    fn random(&self) -> u32 {
        self.random.get()
    }
}

impl Observer for Memory {
    fn transition(&self, transition: &Transition) {
        self.made.set(Some(*transition));
        self.transitions.set(self.transitions.get() + 1);
    }
}
