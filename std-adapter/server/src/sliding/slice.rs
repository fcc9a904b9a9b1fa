// SPDX-License-Identifier: MIT OR Apache-2.0
//! A slice of time in one word.
//!
//! ```text
//! 63           38 37         18 17      9 8        0
//! ┌──────────────┬─────────────┬─────────┬──────────┐
//! │ calls     26 │ failures 20 │ epoch 9 │ number 9 │
//! └──────────────┴─────────────┴─────────┴──────────┘
//! ```
//!
//! The number and the epoch of the slice share its word with the counts, so one exchange both begins a new
//! slice and counts in it. A word without calls is empty, whatever its other bits are.

const NUMBER_BITS: u32 = 9;
const EPOCH_BITS: u32 = 9;
const FAILURE_BITS: u32 = 20;
const TAG_BITS: u32 = NUMBER_BITS + EPOCH_BITS;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
const NUMBERS: u64 = 1 << NUMBER_BITS;
const ONE_FAILURE: u64 = 1 << TAG_BITS;
const ONE_CALL: u64 = 1 << (TAG_BITS + FAILURE_BITS);
const MOST_CALLS: u64 = u64::MAX / ONE_CALL;
const MOST_FAILURES: u64 = (1 << FAILURE_BITS) - 1;

/// The mark that distinguishes a slice from others: the epoch and the number, which wraps at 512.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u64);

impl Tag {
    #[inline]
    pub(super) fn new(epoch: u16, number: u64) -> Self {
        let epoch = u64::from(epoch) & ((1 << EPOCH_BITS) - 1);
        Self(epoch * NUMBERS + number % NUMBERS)
    }

    /// The number of the slice, modulo 512.
    pub(super) const fn number(self) -> u64 {
        self.0 % NUMBERS
    }

    pub(super) const fn epoch(self) -> u64 {
        self.0 / NUMBERS
    }
}

/// The content of the word of a slice. Any bits are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice(pub(super) u64);

impl Slice {
    pub(super) const EMPTY: Self = Self(0);

    pub(super) const fn calls(self) -> u64 {
        self.0 / ONE_CALL
    }

    pub(super) const fn failures(self) -> u64 {
        self.0 >> TAG_BITS & MOST_FAILURES
    }

    pub(super) const fn is_empty(self) -> bool {
        self.calls() == 0
    }

    pub(super) const fn tag(self) -> Tag {
        Tag(self.0 & TAG_MASK)
    }

    /// Returns whether it belongs to the same epoch.
    pub(super) const fn is_of(self, tag: Tag) -> bool {
        (self.0 & TAG_MASK) / NUMBERS == tag.0 / NUMBERS
    }

    /// The number of slices by which it is older than the one of this number, if it is not younger; its own number is
    /// in the lowest bits. Numbers differ only by a few, because all words start again whenever eight slices pass.
    pub(super) const fn age_at(self, number: u64) -> Option<u64> {
        let age = number.wrapping_sub(self.0) % NUMBERS;
        if age < NUMBERS / 2 { Some(age) } else { None }
    }

    /// With one more success, if it is this slice, begun and not full.
    #[inline]
    pub(super) fn with_success(self, tag: Tag) -> Option<Self> {
        // A full slice overflows.
        let next = self.0.checked_add(ONE_CALL)?;
        (self.tag() == tag && !self.is_empty()).then_some(Self(next))
    }

    /// With one more call, in this slice or, if the tag is of another one, in a new slice that takes its
    /// place.
    #[inline]
    pub(super) const fn with_call(self, tag: Tag, failed: bool) -> Self {
        let one = if failed {
            ONE_CALL + ONE_FAILURE
        } else {
            ONE_CALL
        };
        if self.0 & TAG_MASK != tag.0 {
            return Self(one | tag.0);
        }
        if self.is_full(failed) {
            return Self(self.halved().0 + one);
        }
        Self(self.0 + one)
    }

    /// Returns whether one more such call halves the counts.
    #[inline]
    pub(super) const fn is_full(self, failed: bool) -> bool {
        self.calls() == MOST_CALLS || failed && self.failures() == MOST_FAILURES
    }

    /// The content of a full slice after it is halved: half of the calls and of the failures, so that the share stays
    /// the same.
    #[cold]
    const fn halved(self) -> Self {
        let calls = self.calls().div_ceil(2) * ONE_CALL;
        let failures = self.failures().div_ceil(2) * ONE_FAILURE;
        Self(calls | failures | self.0 & TAG_MASK)
    }
}
