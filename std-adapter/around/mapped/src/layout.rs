// SPDX-License-Identifier: MIT OR Apache-2.0
//! The positions of all parts in the memory, in words of 64 bits in the machine's own byte order.
//!
//! ```text
//! 0  whole: the last word written      6  clock
//! 1  version of the format             7  rules
//! 2  boot, 2 words                     8  time namespace
//! 4  keys that fit                     9  secret of the hash, 2 words
//! 5  bytes of a key                    16 keys that have a slot    17 refused a slot
//!                                      24 the word of a single breaker
//! 32 slots: tag, word of the breaker, key
//! ```
//!
//! `docs/shared-file.md` promises this to other languages, with what the words of breakers hold: a change is another version.
//! Words 0 to 3 have this meaning in every version. Without a file, only the secret and what comes after it are used.

use crate::error::{MappedError, MappedErrorKind};

pub(crate) const SECRET: usize = 9;
pub(crate) const KEYS: usize = 16;
pub(crate) const REFUSED: usize = 17;
pub(crate) const SINGLE: usize = 24;
pub(crate) const HEADER: usize = 32;

pub(crate) const TAG: usize = 0;
pub(crate) const WORD: usize = 1;
pub(crate) const KEY: usize = 2;

/// Bytes of a key in one word, whose top byte says that it was written.
pub(crate) const BYTES_IN_WORD: usize = 7;
/// Slots start on cache lines.
const STEP: usize = 8;

const MAX_CAPACITY: u32 = 1 << 20;
const MAX_KEY_BYTES: u32 = 1_000;

/// The number of keys, and their length. Both are 0 for a single breaker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) capacity: u32,
    pub(crate) key_bytes: u32,
}

impl Shape {
    /// The layout of a single breaker.
    pub(crate) const SINGLE: Self = Self {
        capacity: 0,
        key_bytes: 0,
    };

    /// The layout of a slab, if it is within the limits.
    pub(crate) fn check(self) -> Result<Self, MappedError> {
        let Self {
            capacity,
            key_bytes,
        } = self;
        if !(1..=MAX_CAPACITY).contains(&capacity) {
            let text = format!("{capacity} keys: set at least 1, at most {MAX_CAPACITY}");
            return Err(MappedError::new(MappedErrorKind::Settings, text));
        }
        if !(1..=MAX_KEY_BYTES).contains(&key_bytes) {
            let text =
                format!("keys of {key_bytes} bytes: set at least 1, at most {MAX_KEY_BYTES}");
            return Err(MappedError::new(MappedErrorKind::Settings, text));
        }
        Ok(self)
    }

    /// Words from one slot to the next.
    pub(crate) const fn stride(self) -> usize {
        (KEY + (self.key_bytes as usize).div_ceil(BYTES_IN_WORD)).next_multiple_of(STEP)
    }

    /// Half of the slots stay free, so that searches are short.
    pub(crate) const fn slots(self) -> usize {
        self.capacity as usize * 2
    }

    pub(crate) const fn words(self) -> usize {
        HEADER + self.slots() * self.stride()
    }
}
