// SPDX-License-Identifier: MIT OR Apache-2.0
//! The word, the clock and the observer, all in cells: threads are the matter of other tests.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use atomic_breaker::word::Word;
use atomic_breaker::{Clock, Observer, SharedClock, Transition};

use crate::fault::Fault;
use crate::form::Form;

/// The word, in a cell, and what the observer was told.
pub(crate) struct Memory<F: Form> {
    pub(crate) word: Cell<F>,
    pub(crate) now_ms: Cell<u32>,
    pub(crate) random: Cell<u32>,
    pub(crate) made: Cell<Option<Transition>>,
    pub(crate) transitions: Cell<u64>,
    /// The word before the operation.
    before: Cell<F>,
    is_hit: Cell<bool>,
    /// Whether the fault ever changed anything.
    pub(crate) is_changed: Cell<bool>,
    /// What a mutated breaker would do.
    fault: Option<Fault>,
}

impl<F: Form> Memory<F> {
    pub(crate) const fn new(fault: Option<Fault>) -> Self {
        Self {
            word: Cell::new(F::FRESH),
            now_ms: Cell::new(0),
            random: Cell::new(0),
            made: Cell::new(None),
            transitions: Cell::new(0),
            before: Cell::new(F::FRESH),
            is_hit: Cell::new(false),
            is_changed: Cell::new(false),
            fault,
        }
    }

    /// Before an operation.
    pub(crate) fn begin(&self, word: u64) {
        self.word.set(F::of(word));
        self.before.set(F::of(word));
        self.made.set(None);
        self.transitions.set(0);
        self.is_hit.set(false);
    }

    pub(crate) fn bits(&self) -> u64 {
        self.word.get().to_u64()
    }
}

impl<F: Form> Word for Memory<F> {
    type Bits = F;

    fn load(&self, _: Ordering) -> F {
        self.word.get()
    }

    fn compare_exchange_weak(&self, current: F, new: F, _: Ordering, _: Ordering) -> Result<F, F> {
        let seen = self.word.get();
        if seen == current {
            self.word.set(new);
            Ok(seen)
        } else {
            Err(seen)
        }
    }
}

impl<F: Form> Clock for Memory<F> {
    fn now_ms(&self) -> u32 {
        self.now_ms.get()
    }

    fn random(&self) -> u32 {
        self.random.get()
    }
}

impl<F: Form> Observer for Memory<F> {
    fn transition(&self, transition: &Transition) {
        let told = match self.fault {
            // Once in an operation: what is not taken may be tried again.
            Some(fault) if fault.hits(transition) && !self.is_hit.replace(true) => {
                let bits = fault.word::<F>(self.before.get().to_u64(), self.bits());
                let told = fault.told(*transition);
                if bits != self.bits() || told != Some(*transition) {
                    self.is_changed.set(true);
                }
                self.word.set(F::of(bits));
                told
            }
            _ => Some(*transition),
        };
        if told.is_some() {
            self.made.set(told);
            self.transitions.set(self.transitions.get() + 1);
        }
    }
}

/// One clock for all that look at the word, which are one.
impl<F: Form> SharedClock for Memory<F> {}
