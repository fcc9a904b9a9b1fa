// SPDX-License-Identifier: MIT OR Apache-2.0
//! The slow calls of two slices in one word, beside the words of these slices.
//!
//! ```text
//! 63       38 37   35 34    32 31        6 5     3 2      0
//! ┌──────────┬───────┬────────┬───────────┬───────┬────────┐
//! │ slow  26 │ turn 3│ epoch 3│  slow  26 │ turn 3│ epoch 3│
//! └──────────┴───────┴────────┴───────────┴───────┴────────┘
//!   the slice of the odd number  that of the even one before
//! ```
//!
//! A count belongs to the slice whose number and epoch it has, as far as they fit: the turn is how often the numbers have
//! gone round the eight slices. It is emptied when a slice begins, so that it is never mistaken for one of 64 slices ago.

use super::head::SLICES;
use super::slice::Tag;

const TAG_BITS: u32 = 6;
const ONE: u64 = 1 << TAG_BITS;
const HALF: u64 = (1 << u32::BITS) - 1;
const TURNS: u64 = 8;
const EPOCHS: u64 = 8;

/// The place of a slice's slow calls, and their tag.
#[derive(Clone, Copy)]
pub(super) struct Slow {
    shift: u32,
    tag: u64,
}

impl Slow {
    pub(super) const fn of(tag: Tag) -> Self {
        let number = tag.number();
        let turn = number / SLICES as u64 % TURNS;
        Self {
            shift: (number % 2) as u32 * u32::BITS,
            tag: turn * EPOCHS + tag.epoch() % EPOCHS,
        }
    }

    /// The word of a slice.
    pub(super) const fn word(number: u64) -> usize {
        (number % SLICES as u64 / 2) as usize
    }

    const fn half(self, word: u64) -> u64 {
        word >> self.shift & HALF
    }

    const fn with_half(self, word: u64, half: u64) -> u64 {
        word & !(HALF << self.shift) | half << self.shift
    }

    /// The number of slow calls.
    pub(super) const fn count(self, word: u64) -> u64 {
        let half = self.half(word);
        if half % ONE == self.tag {
            half / ONE
        } else {
            0
        }
    }

    /// With one more, unless the word has gone on to a younger slice.
    pub(super) const fn with_one(self, word: u64) -> Option<u64> {
        let half = self.half(word);
        if half % ONE == self.tag {
            // A full count stays full.
            let next = if half / ONE == HALF / ONE {
                half
            } else {
                half + ONE
            };
            return Some(self.with_half(word, next));
        }
        let ahead = (half % ONE / EPOCHS).wrapping_sub(self.tag / EPOCHS) % TURNS;
        let is_younger = half >= ONE && ahead > 0 && ahead < TURNS / 2;
        if is_younger {
            None
        } else {
            Some(self.with_half(word, ONE | self.tag))
        }
    }

    /// With half of them, as the other counts of the slice are halved.
    pub(super) const fn halved(self, word: u64) -> u64 {
        match self.count(word) {
            0 => word,
            count => self.with_half(word, self.tag + count.div_ceil(2) * ONE),
        }
    }

    /// Without those of earlier slices that had this place. The epoch may be any.
    pub(super) const fn without_old(self, word: u64) -> u64 {
        let half = self.half(word);
        if half % ONE / EPOCHS == self.tag / EPOCHS {
            word
        } else {
            self.with_half(word, 0)
        }
    }
}
