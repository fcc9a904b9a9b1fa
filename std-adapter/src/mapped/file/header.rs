//! What the memory says about itself, and what a process expects of it.

use std::sync::atomic::Ordering;

use atomic_breaker::word::AtomicU64;

use super::fault::Fault;
use super::machine::Machine;
use crate::mapped::layout::{HEADER, Shape};
use crate::mapped::slot::draw_secret;

// Positions: see the layout.
const WHOLE: usize = 0;
const VERSION: usize = 1;
const BOOT: usize = 2;
const CAPACITY: usize = 4;
const KEY_BYTES: usize = 5;
const CLOCK: usize = 6;
const RULES: usize = 7;
const TIME_NAMESPACE: usize = 8;

/// "`AtomBrkr`": a complete file of breakers.
const IS_WHOLE: u64 = u64::from_be_bytes(*b"AtomBrkr");
/// A file of breakers that is being written.
const IS_BEGUN: u64 = u64::from_be_bytes(*b"AtomBrk?");
/// Covers the layout of the breaker's word as well.
pub(super) const THIS_VERSION: u64 = 1;

const WORD_BYTES: usize = size_of::<AtomicU64>();
pub(super) const HEADER_BYTES: usize = HEADER * WORD_BYTES;

/// What all processes that share a file must agree on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub(super) machine: Machine,
    pub(super) shape: Shape,
    pub(super) clock: u64,
    pub(super) rules: u64,
}

impl Expected {
    /// How long the file is, in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        (self.shape.words() * WORD_BYTES) as u64
    }
}

/// What is in a file.
pub(super) enum Content {
    /// Nothing yet.
    Empty,
    /// It begins with zeros: left by a process that died before writing it, or a foreign file.
    Zeros,
    /// Left by a process that died while writing it.
    Unfinished,
    /// Written before the machine was restarted.
    OfAnotherBoot,
    /// Made with other rules.
    OfOtherRules,
    /// As expected.
    Same,
}

/// The start of a file, as far as there is one.
pub(super) struct Header(pub(super) [u8; HEADER_BYTES]);

impl Header {
    fn word(&self, index: usize) -> u64 {
        let at = index * WORD_BYTES;
        let bytes = self.0[at..at + WORD_BYTES].try_into();
        u64::from_ne_bytes(bytes.expect("a word has eight bytes"))
    }

    /// Whether it is nothing but zeros.
    pub(super) fn is_zero(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }

    /// `length` is that of the whole file, in bytes.
    pub(super) fn content(&self, length: u64, expected: &Expected) -> Result<Content, Fault> {
        match self.word(WHOLE) {
            IS_WHOLE => (),
            IS_BEGUN => return Ok(Content::Unfinished),
            mark if mark.swap_bytes() == IS_WHOLE => return Err(Fault::OtherByteOrder),
            _ => return Err(Fault::Foreign),
        }
        if length < self.0.len() as u64 {
            let expected = expected.bytes();
            return Err(Fault::OtherLength {
                found: length,
                expected,
            });
        }
        let Machine {
            boot,
            time_namespace,
        } = expected.machine;
        if [self.word(BOOT), self.word(BOOT + 1)] != boot {
            return Ok(Content::OfAnotherBoot);
        }
        let (version, clock) = (self.word(VERSION), self.word(CLOCK));
        if version != THIS_VERSION {
            return Err(Fault::OtherVersion(version));
        }
        let (capacity, key_bytes) = (self.word(CAPACITY), self.word(KEY_BYTES));
        let shape = expected.shape;
        if (capacity, key_bytes) != (shape.capacity.into(), shape.key_bytes.into()) {
            return Err(Fault::OtherShape {
                found: (capacity, key_bytes),
                expected: shape,
            });
        }
        if length != expected.bytes() {
            return Err(Fault::OtherLength {
                found: length,
                expected: expected.bytes(),
            });
        }
        if clock != expected.clock {
            return Err(Fault::OtherClock);
        }
        if self.word(TIME_NAMESPACE) != time_namespace {
            return Err(Fault::OtherTimeNamespace);
        }
        if self.word(RULES) != expected.rules {
            return Ok(Content::OfOtherRules);
        }
        Ok(Content::Same)
    }
}

/// Fills fresh memory, which is all zeros. The mark that it is complete is written last.
pub(super) fn write(words: &[AtomicU64], expected: &Expected) {
    let put = |index: usize, value: u64| words[index].store(value, Ordering::Relaxed);
    words[WHOLE].store(IS_BEGUN, Ordering::Release);
    put(VERSION, THIS_VERSION);
    put(BOOT, expected.machine.boot[0]);
    put(BOOT + 1, expected.machine.boot[1]);
    put(CAPACITY, expected.shape.capacity.into());
    put(KEY_BYTES, expected.shape.key_bytes.into());
    put(CLOCK, expected.clock);
    put(RULES, expected.rules);
    put(TIME_NAMESPACE, expected.machine.time_namespace);
    draw_secret(words);
    words[WHOLE].store(IS_WHOLE, Ordering::Release);
}
