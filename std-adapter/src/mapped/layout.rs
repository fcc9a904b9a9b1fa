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
//! The words 0 to 3 have this meaning in every version.

use atomic_breaker::word::AtomicU64;

pub(super) const WHOLE: usize = 0;
pub(super) const VERSION: usize = 1;
pub(super) const BOOT: usize = 2;
pub(super) const CAPACITY: usize = 4;
pub(super) const KEY_BYTES: usize = 5;
pub(super) const CLOCK: usize = 6;
pub(super) const RULES: usize = 7;
pub(super) const TIME_NAMESPACE: usize = 8;
pub(super) const SECRET: usize = 9;
pub(super) const KEYS: usize = 16;
pub(super) const REFUSED: usize = 17;
pub(super) const SINGLE: usize = 24;
pub(super) const HEADER: usize = 32;

pub(super) const WORD_BYTES: usize = size_of::<AtomicU64>();

/// "`AtomBrkr`": a file of ours that is whole.
pub(super) const IS_WHOLE: u64 = u64::from_be_bytes(*b"AtomBrkr");
/// A file of ours that is being written.
pub(super) const IS_BEGUN: u64 = u64::from_be_bytes(*b"AtomBrk?");
/// Covers the layout of the breaker's word as well.
pub(super) const THIS_VERSION: u64 = 1;

pub(super) const TAG: usize = 0;
pub(super) const WORD: usize = 1;
pub(super) const KEY: usize = 2;

/// Bytes of a key in one word; its top byte says that it was written.
pub(super) const BYTES_IN_WORD: usize = 7;
/// Slots begin at cache lines.
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

    pub(super) const fn bytes(self) -> u64 {
        (self.words() * WORD_BYTES) as u64
    }
}
