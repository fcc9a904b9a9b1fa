//! Where things lie in the memory, in words of 64 bits in the machine's own byte order.
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
//! Words 0 to 3 have this meaning in every version. Without a file, only the secret and what comes after it are used.

pub(super) const SECRET: usize = 9;
pub(super) const KEYS: usize = 16;
pub(super) const REFUSED: usize = 17;
pub(super) const SINGLE: usize = 24;
pub(super) const HEADER: usize = 32;

pub(super) const TAG: usize = 0;
pub(super) const WORD: usize = 1;
pub(super) const KEY: usize = 2;

/// Bytes of a key in one word, whose top byte says that it was written.
pub(super) const BYTES_IN_WORD: usize = 7;
/// Slots start on cache lines.
const STEP: usize = 8;

pub(super) const MAX_CAPACITY: u32 = 1 << 20;
pub(super) const MAX_KEY_BYTES: u32 = 1_000;

/// How many keys, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// 0 for a single breaker.
    pub(super) capacity: u32,
    pub(super) key_bytes: u32,
}

impl Shape {
    pub(super) const SINGLE: Self = Self {
        capacity: 0,
        key_bytes: 0,
    };

    /// Words from one slot to the next.
    pub(super) const fn stride(self) -> usize {
        (KEY + (self.key_bytes as usize).div_ceil(BYTES_IN_WORD)).next_multiple_of(STEP)
    }

    /// Half of the slots stay free, so that searches are short.
    pub(super) const fn slots(self) -> usize {
        self.capacity as usize * 2
    }

    pub(super) const fn words(self) -> usize {
        HEADER + self.slots() * self.stride()
    }
}
