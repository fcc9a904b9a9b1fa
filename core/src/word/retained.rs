// SPDX-License-Identifier: MIT OR Apache-2.0
//! A word in memory that survives a reset, and whether it did.

use core::sync::atomic::Ordering;

use super::{AtomicU32, Word, load_acquire, store};

/// A word with a mark beside it, for RAM that keeps its content over a reset but not over a loss of
/// power: then it starts with random bits, many of which look like the state of a breaker.
///
/// Put it where the start-up code does not clear memory, and call [`Breaker::restore`] once after each reset, before
/// anything else: it trusts the word only if the mark is there.
///
/// ```
/// use atomic_breaker::{Breaker, Config, ManualClock, word::Retained};
///
/// // On a chip: #[unsafe(link_section = ".uninit.BREAKER")]
/// static WORD: Retained = Retained::new();
/// static CLOCK: ManualClock = ManualClock::new();
/// static RADIO: Breaker<&ManualClock, &Retained> = Breaker::over(&WORD, Config::new(), &CLOCK);
///
/// // After each reset, before the first call:
/// if RADIO.restore().is_err() {
///     // The memory lost its content: the breaker starts closed.
/// }
/// assert!(RADIO.acquire().is_ok());
/// ```
///
/// The mark is 64 bits, so random bits match it once in 2⁶⁴ losses of power. The word and the mark
/// take 12 bytes with a 32-bit word.
///
/// [`Breaker::restore`]: crate::Breaker::restore
#[derive(Debug)]
#[repr(C)]
pub struct Retained<W = AtomicU32> {
    word: W,
    mark: [AtomicU32; 2],
}

/// "atomic-breaker 2": the second layout of the word. Another layout has another mark, so that new
/// firmware does not take up the word of old firmware.
const MARK: [u32; 2] = [0xA70B_4EAC, 0x5EC0_2D02];

impl Retained {
    /// A fresh word without the mark, as after a loss of power.
    pub const fn new() -> Self {
        Self::over(AtomicU32::new(0))
    }
}

impl Default for Retained {
    fn default() -> Self {
        Self::new()
    }
}

impl<W> Retained<W> {
    /// [`new`](Retained::new) around a word of any kind.
    pub const fn over(word: W) -> Self {
        Self {
            word,
            mark: [AtomicU32::new(0), AtomicU32::new(0)],
        }
    }

    /// The word, without its mark: for a breaker that is not to restore it.
    pub const fn word(&self) -> &W {
        &self.word
    }
}

impl<W: Word> Word for Retained<W> {
    type Bits = W::Bits;

    fn load(&self, order: Ordering) -> Self::Bits {
        self.word.load(order)
    }

    fn compare_exchange_weak(
        &self,
        current: Self::Bits,
        new: Self::Bits,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self::Bits, Self::Bits> {
        self.word
            .compare_exchange_weak(current, new, success, failure)
    }

    fn has_mark(&self, tick_log2: u32) -> bool {
        self.mark.each_ref().map(load_acquire) == mark(tick_log2) && self.word.has_mark(tick_log2)
    }

    fn set_mark(&self, tick_log2: u32) {
        for (half, mark) in self.mark.iter().zip(mark(tick_log2)) {
            store(half, mark);
        }
        self.word.set_mark(tick_log2);
    }
}

/// The tick is part of the mark, because words with different ticks are not compatible.
const fn mark(tick_log2: u32) -> [u32; 2] {
    [MARK[0] ^ tick_log2, MARK[1]]
}
