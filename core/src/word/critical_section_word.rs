//! A 64-bit word for chips without 64-bit atomics.

use core::cell::Cell;
use core::fmt;
use core::sync::atomic::Ordering;

use critical_section::Mutex;

use super::Word;

/// The 64-bit word behind a critical section, for chips without 64-bit atomics.
///
/// Each access turns interrupts off for a few instructions (what exactly happens is up to the
/// critical section that the application provides), so it is safe in handlers and cannot deadlock
/// with the code they interrupted. Use it when millisecond ticks, long open times or many epochs
/// are worth more than the speed of a 32-bit load.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, word::CriticalSectionWord};
///
/// static WORD: CriticalSectionWord = CriticalSectionWord::new();
/// let clock = ManualClock::new();
/// let breaker = Breaker::over(&WORD, Config::new(), &clock);
/// assert!(breaker.acquire().is_ok());
/// ```
pub struct CriticalSectionWord(Mutex<Cell<u64>>);

impl CriticalSectionWord {
    /// A fresh, closed word.
    pub const fn new() -> Self {
        Self::from_bits(0)
    }

    /// A word with the given content; see [`Bits::check`](super::Bits::check).
    pub const fn from_bits(bits: u64) -> Self {
        Self(Mutex::new(Cell::new(bits)))
    }
}

impl From<u64> for CriticalSectionWord {
    fn from(bits: u64) -> Self {
        Self::from_bits(bits)
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
