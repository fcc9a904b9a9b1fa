// SPDX-License-Identifier: MIT OR Apache-2.0
//! The last calls as a bit history in one more atomic word.

use super::{Call, ConstTally, Tally, Verdict};
use crate::config::{Memory, Ratio};
use crate::word::{self, Bits, NativeWord, Word};

/// The share of failures among the last calls, in one atomic word.
///
/// ```text
/// ┌──────────────────────────────────────────┬───────┐
/// │ 0…0 1 h h h … h   (1 marks the oldest)   │ epoch │
/// └──────────────────────────────────────────┴───────┘
/// ```
///
/// Each call shifts one bit in (1 = failed), which leaves room for the last 59 calls (27 in a 32-bit word). A call of
/// another epoch begins a new history, and the breaker clears it before it closes, so nothing learned before a trip
/// counts after it. (Another breaker over the same word that has another tally, or none, does not clear this one.)
///
/// It is only memory; the rules say which share trips: [`Config::failure_ratio`]. As long as a failure is remembered,
/// recording costs a compare-and-swap per closed call, on memory that all callers share; otherwise it only reads.
///
/// [`Config::failure_ratio`]: crate::Config::failure_ratio
#[derive(Debug, Default)]
pub struct LastCalls<W = NativeWord>(W);

const EPOCH_BITS: u32 = 4;
const EPOCH_MASK: u64 = (1 << EPOCH_BITS) - 1;

impl LastCalls {
    /// An empty history.
    pub const fn new() -> Self {
        Self::over(NativeWord::new(0))
    }
}

impl<W: Word> LastCalls<W> {
    /// The largest number of calls that can be remembered: 59 in a 64-bit word, 27 in a 32-bit
    /// word.
    pub const MAX_CALLS: u32 = size_of::<W::Bits>() as u32 * 8 - EPOCH_BITS - 1;

    /// [`new`](LastCalls::new) over a word of any kind. All bits zero is an empty history.
    pub const fn over(word: W) -> Self {
        Self(word)
    }

    /// The number of calls that are remembered, and how many of them failed.
    pub fn seen_and_failed(&self) -> (u32, u32) {
        History::unpack(word::load_acquire(&self.0)).seen_and_failed()
    }

    /// Takes a step, again if another caller was faster.
    fn apply(&self, step: impl Fn(History) -> Option<History>) -> Option<History> {
        let mut bits = word::load_acquire(&self.0);
        loop {
            let next = step(History::unpack(bits))?;
            let new_bits = next.pack();
            // One more success after nothing but successes: not written, so that the callers of a healthy
            // resource do not wait for each other.
            if new_bits == bits {
                return Some(next);
            }
            match word::compare_exchange(&self.0, bits, new_bits) {
                Ok(()) => return Some(next),
                Err(found) => bits = found,
            }
        }
    }
}

impl<W: Word> Tally for LastCalls<W> {
    #[inline]
    fn memory(&self) -> Memory {
        Self::MEMORY
    }

    fn record(&self, call: Call, ratio: Option<Ratio>) -> Verdict {
        let Some(ratio) = ratio else {
            return Verdict::Keep;
        };
        let Some(calls) = ratio.calls() else {
            // A ratio within a time, but this remembers no times. The rules of a breaker never ask for it.
            return Verdict::Keep;
        };
        let epoch = u64::from(call.epoch) & EPOCH_MASK;
        let limit = calls.min(Self::MAX_CALLS);
        let failed = call.failure.is_some();
        match self.apply(|history| Some(history.push(epoch, failed, limit))) {
            // Only a failure can trip.
            Some(history) if failed && history.reaches(ratio) => Verdict::Trip,
            _ => Verdict::Keep,
        }
    }

    fn clear(&self) {
        self.apply(History::forgotten);
    }
}

impl<W: Word> ConstTally for LastCalls<W> {
    const MEMORY: Memory = Memory::NONE.max_calls(Self::MAX_CALLS);
}

/// The unpacked word. Total: every pattern is a history, though not always one that was recorded.
#[derive(Clone, Copy)]
struct History {
    epoch: u64,
    /// A leading one, then a bit per call, the last call lowest. 0 means empty, as 1 does.
    calls: u64,
}

impl History {
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn unpack<B: Bits>(bits: B) -> Self {
        let bits = bits.to_u64();
        Self {
            epoch: bits & EPOCH_MASK,
            calls: bits >> EPOCH_BITS,
        }
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    fn pack<B: Bits>(self) -> B {
        B::from_u64(self.calls << EPOCH_BITS | self.epoch)
    }

    /// The history with no calls, if there are any.
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn forgotten(self) -> Option<Self> {
        (self.calls > 1).then_some(Self { calls: 0, ..self })
    }

    /// The history with one more call; a new history when the call is of another epoch.
    #[cfg_attr(target_pointer_width = "64", inline)]
    fn push(self, epoch: u64, failed: bool, limit: u32) -> Self {
        let calls = if epoch == self.epoch {
            self.calls.max(1)
        } else {
            1
        };
        let longer = calls << 1 | u64::from(failed);
        let full = 1 << limit;
        // Fewer calls may be looked at than before: the rules can be replaced.
        let calls = if longer >= full * 2 {
            longer & (full - 1) | full
        } else {
            longer
        };
        Self { epoch, calls }
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    fn reaches(self, ratio: Ratio) -> bool {
        let (seen, failed) = self.seen_and_failed();
        ratio.is_reached(seen, failed)
    }

    #[cfg_attr(target_pointer_width = "64", inline)]
    fn seen_and_failed(self) -> (u32, u32) {
        let seen = self.calls.max(1).ilog2();
        // Without the leading one, which an empty history may lack.
        (seen, self.calls.count_ones().saturating_sub(1))
    }
}
