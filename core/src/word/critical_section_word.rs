// SPDX-License-Identifier: MIT OR Apache-2.0
//! A 64-bit word for chips without 64-bit atomics.

use core::cell::Cell;
use core::fmt;
use core::sync::atomic::Ordering;

use critical_section::Mutex;

use super::Word;

/// The 64-bit word behind a critical section, for chips without 64-bit atomics.
///
/// Each access takes the critical section that the application provides, so it is safe in handlers. Use it when
/// millisecond ticks, long open times or many epochs are worth more than the speed of a 32-bit load.
pub struct CriticalSectionWord(Mutex<Cell<u64>>);

impl CriticalSectionWord {
    /// A fresh, closed word.
    pub const fn new() -> Self {
        Self(Mutex::new(Cell::new(0)))
    }
}

impl From<u64> for CriticalSectionWord {
    fn from(bits: u64) -> Self {
        Self(Mutex::new(Cell::new(bits)))
    }
}

impl Default for CriticalSectionWord {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CriticalSectionWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = critical_section::with(|section| self.0.borrow(section).get());
        f.debug_tuple("CriticalSectionWord").field(&bits).finish()
    }
}

// A critical section orders everything, so the orderings asked for are always met.
impl Word for CriticalSectionWord {
    type Bits = u64;

    // Once in flash: 40 bytes less on a Cortex-M0.
    #[inline(never)]
    fn load(&self, _order: Ordering) -> u64 {
        critical_section::with(|section| self.0.borrow(section).get())
    }

    fn compare_exchange_weak(
        &self,
        current: u64,
        new: u64,
        _success: Ordering,
        _failure: Ordering,
    ) -> Result<u64, u64> {
        critical_section::with(|section| {
            let cell = self.0.borrow(section);
            let found = cell.get();
            if found == current {
                cell.set(new);
                Ok(found)
            } else {
                Err(found)
            }
        })
    }
}
