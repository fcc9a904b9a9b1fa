// SPDX-License-Identifier: MIT OR Apache-2.0
//! The atomic word: where the state of a breaker lives.
//!
//! # The layout
//!
//! ```text
//! AtomicU64   63      55 54                    23 22             7 6      2 1   0
//!            ┌──────────┬────────────────────────┬────────────────┬────────┬─────┐
//!            │ epoch  9 │        time  32        │   payload 16   │trips  5│ st 2│
//!            └──────────┴────────────────────────┴────────────────┴────────┴─────┘
//! AtomicU32   31      28 27                    13 12             5 4      2 1   0
//!            ┌──────────┬────────────────────────┬────────────────┬────────┬─────┐
//!            │ epoch  4 │        time  15        │   payload  8   │trips  3│ st 2│
//!            └──────────┴────────────────────────┴────────────────┴────────┴─────┘
//! ```
//!
//! | st | trips | state | payload | time |
//! |---|---|---|---|---|
//! | 0 | 0 | closed | failures counted | start of the window of failures |
//! | 0 | trips in a row | returning | failures counted | when the return began |
//! | 1 | trips in a row | open | top bit: the open time was demanded; rest: the open time, a small float rounded up | the deadline less the open time |
//! | 2 | trips in a row | half-open | probes in flight (high half), successes so far (low half) | last probe admitted at |
//! | 3 | trips in a row | half-open after lost rounds | top bit: the probe is in flight; then rounds lost, less one; low half: successes so far | last probe admitted at |
//! | 3 | 0 | forced open or disabled | 1 forced open, 2 disabled, 3 disabled while forced open, 4 forced open while disabled | 0 |
//!
//! All bits zero is a fresh, closed breaker, so `.bss` and a zeroed page are valid words. The permitted changes, and
//! who makes each, always with one compare-and-swap of the whole word:
//!
//! | change | epoch | made by |
//! |---|---|---|
//! | count a failure, clear the count | stays | a report in the same epoch |
//! | take or give back a probe's slot | stays | `acquire` · a report or drop in the same epoch |
//! | move a deadline later, as a late `Retry-After` demands | stays | a report of the epoch before |
//! | mark the open time as demanded | stays | a report of the epoch before · `trip_for` |
//! | any change of state, a new round of probes, a reset | +1 | exactly one caller, who then notifies the observer |
//!
//! # Orderings
//!
//! The word is the only shared memory of a breaker, and every change of it is a compare-and-swap, so its history is
//! linear and `Relaxed` is enough for the breaker's own correctness.
//!
//! - The closed path loads `Relaxed`: it reads nothing else that another thread wrote.
//! - Everything off the closed path loads `Acquire` and swaps `AcqRel`. This buys one promise: what a caller did before
//!   a report that changed the word is visible to any caller that is rejected, probes or reports because of it. An
//!   adapter that keeps the last error in a cell beside the breaker, and hands it out with the rejection, relies on it.
//! - Each of the four is needed: the load and the failed exchange acquire for callers that are rejected because of what
//!   they saw, the exchange releases for them. The exchange also acquires, because the word may have changed and
//!   changed back since it was loaded: the bits are the same, the report behind them is not.
//!
//! Loom models (`races` of the tests) show that the promise holds, and that it breaks if any one of the four is
//! weakened.
//!
//! The orderings are arguments of [`Word`], so the models run the shipped code over loom's atomics.

mod bits;
#[cfg(feature = "wide")]
mod critical_section_word;
mod layout;
pub(crate) mod open_time;
mod peek;
mod retained;
mod ticks;

pub use bits::{Bits, TickBits};
#[cfg(feature = "wide")]
pub use critical_section_word::CriticalSectionWord;
pub use layout::Layout;
pub(crate) use layout::{Field, code};
pub(crate) use peek::{Peek, is_valid};
pub use retained::Retained;
pub use ticks::Ticks;

use core::sync::atomic::Ordering;

/// An atomic word that holds the state of a breaker.
///
/// Implemented for `AtomicU32`, for `AtomicU64` where the target has 64-bit atomics, and for references to any word.
/// Implement it for your own memory (retained RAM, a mapped file, a model checker's atomic) by forwarding to an atomic.
///
/// # What an implementation must do
///
/// - `load` and `compare_exchange_weak` act on one and the same memory, atomically, with at least the given
///   orderings.
/// - No method blocks for long or panics: they are called from interrupt handlers.
/// - `compare_exchange_weak` may fail spuriously; `Err` carries the value that it saw.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an atomic word that a circuit breaker can live in",
    note = "use `AtomicU64` or `AtomicU32` of `atomic_breaker::word`, a reference to one, or `Retained`, \
            `Ticks` or `CriticalSectionWord` of that module"
)]
pub trait Word {
    /// `u32`, `u64` or [`TickBits`]: decides the layout and the tick.
    type Bits: Bits;

    /// Reads the word.
    fn load(&self, order: Ordering) -> Self::Bits;

    /// Replaces `current` with `new`, or returns what was there instead.
    ///
    /// # Errors
    /// The value found, when it was not `current` or when the exchange failed spuriously.
    fn compare_exchange_weak(
        &self,
        current: Self::Bits,
        new: Self::Bits,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self::Bits, Self::Bits>;

    /// Returns whether the memory still holds a word that a breaker with this tick wrote: whether the
    /// [mark](Self::set_mark) is there. Memory without a mark cannot tell.
    ///
    /// Called by [`Breaker::restore`](crate::Breaker::restore). If you wrap [`Retained`] in your own word, forward this
    /// and `set_mark`.
    fn has_mark(&self, tick_log2: u32) -> bool {
        let _ = tick_log2;
        true
    }

    /// Sets the mark beside the word, where there is one. Called by
    /// [`Breaker::restore`](crate::Breaker::restore) once the word holds a valid state.
    fn set_mark(&self, tick_log2: u32) {
        let _ = tick_log2;
    }
}

/// Words that lead to another one.
macro_rules! forward_word {
    ([$($generics:tt)*] $whole:ty: |$it:ident| $word:expr, $inner:ty) => {
        impl<$($generics)*> $crate::word::Word for $whole {
            type Bits = <$inner as $crate::word::Word>::Bits;

            #[inline]
            fn load(&self, order: core::sync::atomic::Ordering) -> Self::Bits {
                let $it = self;
                $word.load(order)
            }

            #[inline]
            fn compare_exchange_weak(
                &self,
                current: Self::Bits,
                new: Self::Bits,
                success: core::sync::atomic::Ordering,
                failure: core::sync::atomic::Ordering,
            ) -> Result<Self::Bits, Self::Bits> {
                let $it = self;
                $word.compare_exchange_weak(current, new, success, failure)
            }

            #[inline]
            fn has_mark(&self, tick_log2: u32) -> bool {
                let $it = self;
                $word.has_mark(tick_log2)
            }

            #[inline]
            fn set_mark(&self, tick_log2: u32) {
                let $it = self;
                $word.set_mark(tick_log2);
            }
        }
    };
    ($pointer:ty) => {
        forward_word!([T: Word + ?Sized] $pointer: |it| (**it), T);
    };
}
pub(crate) use forward_word;

for_pointers!(forward_word);

macro_rules! word_of_atomic {
    ($($atomic:ty => $bits:ty),*) => {$(
        impl Word for $atomic {
            type Bits = $bits;

            #[inline]
            fn load(&self, order: Ordering) -> $bits {
                self.load(order)
            }

            #[inline]
            fn compare_exchange_weak(
                &self,
                current: $bits,
                new: $bits,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$bits, $bits> {
                self.compare_exchange_weak(current, new, success, failure)
            }
        }
    )*};
}

pub use portable_atomic::AtomicU32;
word_of_atomic!(AtomicU32 => u32);

// Only where 64-bit atomics are real: portable-atomic's fallback takes a spin lock, which can
// deadlock between a handler and the code it interrupted.
#[cfg(target_has_atomic = "64")]
pub use portable_atomic::AtomicU64;
#[cfg(target_has_atomic = "64")]
word_of_atomic!(AtomicU64 => u64);

/// The word that the target handles natively: `AtomicU64` where 64-bit atomics are lock-free,
/// `AtomicU32` elsewhere (Cortex-M, `riscv32`).
#[cfg(target_has_atomic = "64")]
pub type NativeWord = AtomicU64;
/// The word that the target handles natively: `AtomicU32`.
#[cfg(not(target_has_atomic = "64"))]
pub type NativeWord = AtomicU32;

/// The bits of [`NativeWord`].
pub type NativeBits = <NativeWord as Word>::Bits;

// The atomic accesses of this crate. `Ordering::` appears nowhere else.

/// The load of the closed path.
#[inline]
pub(crate) fn load_relaxed<W: Word>(word: &W) -> W::Bits {
    word.load(Ordering::Relaxed)
}

/// The load of everything else. Its partner is the release in [`compare_exchange`].
#[inline]
pub(crate) fn load_acquire<W: Word>(word: &W) -> W::Bits {
    word.load(Ordering::Acquire)
}

/// The compare-and-swap. Acquires when it fails, as the loop goes on with what it saw.
#[inline]
pub(crate) fn compare_exchange<W: Word>(
    word: &W,
    current: W::Bits,
    new: W::Bits,
) -> Result<(), W::Bits> {
    word.compare_exchange_weak(current, new, Ordering::AcqRel, Ordering::Acquire)
        .map(drop)
}

/// Stores a value beside a word, before it is shared.
pub(crate) fn store(word: &AtomicU32, bits: u32) {
    word.store(bits, Ordering::Relaxed);
}

/// The next number of a sequence. Nothing else depends on the order in which callers draw.
pub(crate) fn draw(sequence: &AtomicU32, step: u32) -> u32 {
    sequence.fetch_add(step, Ordering::Relaxed)
}
