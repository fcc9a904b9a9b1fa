// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guard inside the probe of its own breaker: known while the operation of a retry is polled.

use crate::breaker::Breaker;
use crate::circuit::Circuit;
use crate::clock::Clock;
use crate::config::AsRules;
use crate::observer::Observer;
use crate::tally::Tally;
use crate::word::{self, AtomicU32, Word};

/// The mark of the breaker whose probe is polled now; 0 if none is. With several threads it may be that of another one, so
/// it decides nothing but whether an operation runs as part of the probe of a half-open breaker.
static WITHIN: AtomicU32 = AtomicU32::new(0);

/// Sets the mark of a breaker until it is dropped.
#[derive(Debug)]
pub(super) struct Within {
    mark: u32,
}

impl Within {
    pub(super) fn enter(mark: u32) -> Self {
        word::store(&WITHIN, mark);
        Self { mark }
    }
}

impl Drop for Within {
    /// Takes back its own mark only, and restores no other: of two threads that do not end in the reverse order, one would
    /// restore the mark of a probe that is over, and the guards of that breaker would never reject again.
    fn drop(&mut self) {
        if word::load_acquire(&WITHIN) == self.mark {
            word::store(&WITHIN, 0);
        }
    }
}

impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// A number that tells breakers apart, not 0: where it lies.
    pub(super) fn mark(&self) -> u32 {
        (&raw const *self).addr() as u32 | 1
    }

    /// Returns whether the caller is part of a probe of this breaker, which a retry makes: the driver that it calls has
    /// a guard with the same breaker inside, and keeps nothing of its error.
    ///
    /// With several threads it may be part of nothing, while the probe of another one is polled; so a probe must be under
    /// way, and what a closed breaker admits is counted.
    pub(crate) fn is_within_own_probe(&self) -> bool {
        word::load_acquire(&WITHIN) == self.mark()
            && Circuit::of_valid(word::load_acquire(&self.word)).is_half_open()
    }
}
