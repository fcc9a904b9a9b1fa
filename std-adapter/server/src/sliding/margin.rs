// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of further failures that cannot trip, so that in a storm not every failure looks at all the shards.
//!
//! ```text
//! 63          32 31       25 24    16 15      11 10      8 7     0
//! ┌─────────────┬───────────┬────────┬──────────┬─────────┬───────┐
//! │ until    32 │ share   7 │ epoch 9│ digest 5 │ version3│ left 8│
//! └─────────────┴───────────┴────────┴──────────┴─────────┴───────┘
//! ```
//!
//! A thread that has looked at all the shards knows how many failures are still missing to reach the share: successes
//! only raise that number, until a slice leaves the span. So the margin is valid until then, for this share, epoch and
//! span, however many calls the rules require: while the share is not reached, nothing trips. A thread that begins a
//! slice revokes it: if the clock steps back, it could become valid again, after the counts it was granted for have left
//! the span.

use std::sync::atomic::Ordering;

use atomic_breaker::word::Word;

use super::head::Span;
use super::shard::Sum;

const MOST: u64 = (1 << 8) - 1;
const VERSION: u64 = 1 << 8;
const VERSIONS: u64 = 7 << 8;
const TERMS: u64 = 0xFFFF_F800;

/// The share, epoch and span that a margin is for.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    bits: u64,
    slice_ms: u32,
    /// In basis points.
    share: u64,
}

/// 100 %, in basis points.
const ALL: u64 = 10_000;

/// Seven bits that tell one share from another: a whole percentage as it is, finer ones by their remainder, so that if
/// one finer share replaces another, the two are confused in one of 27 cases, until the slice ends.
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

    /// Returns whether that many failures reach the share.
    pub(super) fn are_reached(self, sum: Sum) -> bool {
        sum.failures * ALL >= sum.calls * self.share
    }

    /// The number of further failures that cannot trip.
    pub(super) fn margin(self, sum: Sum) -> u64 {
        let Sum {
            calls, failures, ..
        } = sum;
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

/// The compare-and-swap. A thread that finds what it leaves, also where it fails, sees each failure that was taken off
/// before in its shard: so the loads are acquire, too.
fn swap<W: Word<Bits = u64>>(word: &W, seen: u64, next: u64) -> Result<(), u64> {
    word.compare_exchange_weak(seen, next, Ordering::Release, Ordering::Acquire)
        .map(drop)
}

/// Takes one failure off the margin. If there is no margin, returns the word as it is before the shards are looked at.
pub(super) fn spend<W: Word<Bits = u64>>(word: &W, terms: Terms, now_ms: u32) -> Result<(), u64> {
    let mut seen = word.load(Ordering::Acquire);
    while terms.holds(seen, now_ms) {
        match swap(word, seen, seen - 1) {
            Ok(()) => return Ok(()),
            Err(found) => seen = found,
        }
    }
    Err(seen)
}

/// Grants a margin after a look at the shards, unless another thread has granted one meanwhile: that one may not
/// include this failure, so the failure is taken off it. The version tells other threads that a thread has looked.
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

/// Revokes the margin.
pub(super) fn revoke<W: Word<Bits = u64>>(word: &W) {
    let mut seen = word.load(Ordering::Relaxed);
    while let Err(found) = swap(word, seen, seen.wrapping_add(VERSION) & VERSIONS) {
        seen = found;
    }
}
