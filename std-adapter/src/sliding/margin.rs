//! How many failures more cannot trip, so that not each of a storm looks at all the shards.
//!
//! ```text
//! 63          32 31       25 24    16 15      11 10      8 7     0
//! ┌─────────────┬───────────┬────────┬──────────┬─────────┬───────┐
//! │ until    32 │ share   7 │ epoch 9│ digest 5 │ version3│ left 8│
//! └─────────────┴───────────┴────────┴──────────┴─────────┴───────┘
//! ```
//!
//! Who has looked at all the shards knows how many failures are missing to the share: successes only raise
//! that number, until a slice leaves the span. So it holds to that time, for this share, epoch and span. It
//! is never given because too few calls were seen: successes change that. Whoever begins a slice takes it back:
//! a clock that steps back comes into its time again, when what it was given for has left the span.

use std::sync::atomic::Ordering;

use atomic_breaker::word::Word;

use super::head::Span;
use super::shard::{Sum, swap};

const MOST: u64 = (1 << 8) - 1;
const VERSION: u64 = 1 << 8;
const VERSIONS: u64 = 7 << 8;
const TERMS: u64 = 0xFFFF_F800;

/// For which share, epoch and span.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    bits: u64,
    slice_ms: u32,
    /// Basis points.
    share: u64,
}

/// All, in basis points.
const ALL: u64 = 10_000;

/// Seven bits that tell one share from another: a whole percentage as it is, finer ones by their remainder, so that two
/// finer ones that take each other's place are taken for the same in one of 27 cases, until the slice ends.
const fn code(share: u64) -> u64 {
    if share.is_multiple_of(100) {
        share / 100
    } else {
        101 + share % 27
    }
}

impl Terms {
    pub(super) fn new(share: u32, epoch: u16, span: Span) -> Self {
        let share = u64::from(share).min(ALL);
        Self {
            bits: code(share) << 25 | u64::from(epoch & 511) << 16 | span.digest() << 11,
            slice_ms: span.slice_ms(),
            share,
        }
    }

    /// Whether so many failures are the share.
    pub(super) fn are_reached(self, sum: Sum) -> bool {
        sum.failures * ALL >= sum.calls * self.share
    }

    /// How many failures after these cannot trip.
    pub(super) fn margin(self, sum: Sum) -> u64 {
        let Sum { calls, failures } = sum;
        let missing = (calls * self.share).saturating_sub(failures * ALL);
        match ALL - self.share {
            0 if missing > 0 => MOST,
            0 => 0,
            // Each of them counts as a call, too.
            rest => missing.div_ceil(rest).saturating_sub(1).min(MOST),
        }
    }

    fn holds(self, bits: u64, now_ms: u32) -> bool {
        let left_ms = ((bits >> 32) as u32).wrapping_sub(now_ms);
        bits & MOST > 0 && bits & TERMS == self.bits && left_ms > 0 && left_ms <= self.slice_ms
    }
}

/// Takes one failure off the margin. Answers the word where there is none: before a look at the shards.
pub(super) fn spend<W: Word<Bits = u64>>(word: &W, terms: Terms, now_ms: u32) -> Result<(), u64> {
    let mut seen = word.load(Ordering::SeqCst);
    while terms.holds(seen, now_ms) {
        match swap(word, seen, seen - 1) {
            Ok(()) => return Ok(()),
            Err(found) => seen = found,
        }
    }
    Err(seen)
}

/// Grants a margin after a look at the shards, unless somebody else has meanwhile: that one may not have
/// seen this failure, so it is taken off. A version tells the others that somebody has looked.
pub(super) fn grant<W: Word<Bits = u64>>(
    word: &W,
    terms: Terms,
    seen: u64,
    margin: u64,
    (now_ms, left_ms): (u32, u32),
) {
    let until = u64::from(now_ms.wrapping_add(left_ms));
    let version = seen.wrapping_add(VERSION) & VERSIONS;
    let next = until << 32 | terms.bits | version | margin;
    loop {
        match swap(word, seen, next) {
            Ok(()) => return,
            Err(found) if found == seen => {}
            Err(_) => {
                let _ = spend(word, terms, now_ms);
                return;
            }
        }
    }
}

/// Takes the margin back.
pub(super) fn revoke<W: Word<Bits = u64>>(word: &W) {
    let mut seen = word.load(Ordering::SeqCst);
    while let Err(found) = swap(word, seen, seen.wrapping_add(VERSION) & VERSIONS) {
        seen = found;
    }
}
