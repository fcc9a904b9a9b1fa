// SPDX-License-Identifier: MIT OR Apache-2.0
//! The header of a file, and the header that a process expects.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use atomic_breaker_std::config::Growth;
use atomic_breaker_std::{Config, TripRule};
use siphasher::sip::SipHasher24;

use super::machine::Machine;
use crate::MemoryOrigin;
use crate::error::{MappedError, MappedErrorKind};
use crate::layout::{HEADER, SECRET, Shape};
use crate::slot::draw_secret;

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
/// Covers all of `docs/shared-file.md`: also the layout of the breaker's word, and the digest.
const VERSION_HERE: u64 = 2;

const REMOVE: &str = "stop the processes that use it and remove it, or use another path";
pub(super) const FOREIGN: &str = "is not a file of breakers: use another path";

/// The values that all processes that share a file must agree on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) machine: Machine,
    pub(crate) shape: Shape,
    pub(crate) clock: u64,
    pub(crate) rules: u64,
}

/// The content of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing yet.
    Empty,
    /// The file begins with zeros and is no longer than this process would make it: left by a process that died before
    /// writing it, or a foreign file.
    Zeros,
    /// To be replaced, for that reason; `Created` after a process that died while writing it.
    Stale(MemoryOrigin),
    /// The header is the expected one.
    Same,
}

/// The words at the start of a file.
pub(super) type Header = [[u8; 8]; HEADER];

impl Expected {
    /// The length of the file, in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        (self.shape.words() * size_of::<u64>()) as u64
    }

    /// The content of a file of that length in bytes.
    pub(super) fn compare(&self, header: &Header, length: u64) -> Result<Content, MappedError> {
        let word = |index: usize| u64::from_ne_bytes(header[index]);
        match word(WHOLE) {
            IS_WHOLE => (),
            IS_BEGUN => return Ok(Content::Stale(MemoryOrigin::Created)),
            // A creator reserves or writes no more than this.
            _ if header.as_flattened().iter().all(|byte| *byte == 0) && length <= self.bytes() => {
                return Ok(Content::Zeros);
            }
            mark if mark.swap_bytes() == IS_WHOLE => {
                let text = format!("was written by a program with another byte order: {REMOVE}");
                return Err(MappedError::new(MappedErrorKind::Disagreement, text));
            }
            _ => return Err(MappedError::new(MappedErrorKind::Foreign, FOREIGN)),
        }
        let other_length = || {
            let bytes = self.bytes();
            let text = format!(
                "was truncated or extended: it has {length} bytes instead of {bytes}: {REMOVE}"
            );
            Err(MappedError::new(MappedErrorKind::Foreign, text))
        };
        if length < size_of::<Header>() as u64 {
            return other_length();
        }
        if [word(BOOT), word(BOOT + 1)] != self.machine.boot {
            return Ok(Content::Stale(MemoryOrigin::AfterRestart));
        }
        let version = word(VERSION);
        if version != VERSION_HERE {
            return Err(MappedError::new(
                MappedErrorKind::Disagreement,
                format!(
                    "has version {version} of the format, but this program has {VERSION_HERE}: {REMOVE}"
                ),
            ));
        }
        let found = [word(CAPACITY), word(KEY_BYTES)];
        let expected = [self.shape.capacity.into(), self.shape.key_bytes.into()];
        if found != expected {
            let [found, expected] = [found, expected].map(described);
            return Err(MappedError::new(
                MappedErrorKind::Disagreement,
                format!(
                    "holds {found}, but this process expects {expected}: give all processes the same, or {REMOVE}"
                ),
            ));
        }
        if length != self.bytes() {
            return other_length();
        }
        if word(CLOCK) != self.clock {
            return Err(MappedError::new(
                MappedErrorKind::Disagreement,
                "is timed by another clock than this process uses: use the same one everywhere, or another path",
            ));
        }
        if word(TIME_NAMESPACE) != self.machine.time_namespace {
            return Err(MappedError::new(
                MappedErrorKind::Disagreement,
                "is used in another time namespace, where clocks read differently: use another path",
            ));
        }
        if word(RULES) != self.rules {
            return Ok(Content::Stale(MemoryOrigin::AfterOtherRules));
        }
        Ok(Content::Same)
    }

    /// Writes the header into a file of zeros. The mark that it is complete is written last.
    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        let mut header = [0; HEADER];
        header[WHOLE] = IS_BEGUN;
        header[VERSION] = VERSION_HERE;
        header[BOOT..][..2].copy_from_slice(&self.machine.boot);
        header[CAPACITY] = self.shape.capacity.into();
        header[KEY_BYTES] = self.shape.key_bytes.into();
        header[CLOCK] = self.clock;
        header[RULES] = self.rules;
        header[TIME_NAMESPACE] = self.machine.time_namespace;
        header[SECRET..][..2].copy_from_slice(&draw_secret());
        file.write_all_at(header.map(u64::to_ne_bytes).as_flattened(), 0)?;
        file.write_all_at(&IS_WHOLE.to_ne_bytes(), 0)
    }
}

/// Returns whether it begins with a mark that no file of breakers has.
pub(super) fn has_foreign_mark(file: &File) -> bool {
    let mut mark = [0; 8];
    let is_read = file.read_exact_at(&mut mark, 0).is_ok();
    let mark = u64::from_ne_bytes(mark);
    let ours = [0, IS_BEGUN, IS_WHOLE, IS_WHOLE.swap_bytes()];
    is_read && !ours.contains(&mark)
}

fn described([keys, bytes]: [u64; 2]) -> String {
    match keys {
        0 => "a single breaker".into(),
        _ => format!("{keys} keys of up to {bytes} bytes"),
    }
}

/// A digest of everything that processes sharing a word must agree on, the same in every program and language: SipHash-2-4
/// without a secret over numbers of 64 bits, the lowest byte first. A default is the same set or not. The seed
/// is not part of it: each process may draw its jitter from its own seed. Nor is a failure ratio: such rules are rejected.
pub(crate) fn digest(config: &Config) -> u64 {
    let or_absent = |number: Option<u32>| number.map_or(u64::MAX, u64::from);
    let lasting_ms = match config.trip {
        TripRule::Lasting { lasting_ms, .. } => Some(lasting_ms),
        _ => None,
    };
    let (in_a_row, within, window_ms) = match config.trip {
        TripRule::Consecutive { failures } | TripRule::Lasting { failures, .. } => {
            (Some(failures), None, None)
        }
        TripRule::Within {
            failures,
            window_ms,
        } => (None, Some(failures), Some(window_ms)),
        // Refused before.
        _ => (None, None, None),
    };
    let returning = config.gradual_return;
    let settings = [
        or_absent(in_a_row),
        or_absent(lasting_ms),
        or_absent(within),
        or_absent(window_ms),
        or_absent(config.slow_call_ms),
        config.open_for_ms.into(),
        or_absent(config.growth.map(|growth| growth.max_ms)),
        or_absent(config.growth.and_then(Growth::percent)),
        or_absent(config.growth.and_then(Growth::step_ms)),
        config.jitter_percent.into(),
        config.longest_retry_after_ms(u32::MAX).into(),
        config.probes.into(),
        config.needed_successes().into(),
        config.lease_ms(u32::MAX).into(),
        config.cancel_limit_ms.into(),
        or_absent(returning.map(|back| back.first_percent.into())),
        or_absent(returning.map(|back| back.over_ms)),
    ];
    SipHasher24::new().hash(settings.map(u64::to_le_bytes).as_flattened())
}
