// SPDX-License-Identifier: MIT OR Apache-2.0
//! When too many keys are shut out.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering};

use super::RegistryError;
use super::places::MOST_LOOKS;

/// How many keys may be shut out at a time, and how many are. Rejected callers count them, some slots at a time,
/// without a lock: which keys are shut out also depends on the time, so transitions alone do not show it.
#[derive(Debug)]
pub(super) struct Cap {
    most: u32,
    /// How much is shut out in each block of slots, in hundredths of a key.
    blocks: Box<[AtomicU32]>,
    /// The sum of all blocks.
    shut_out: AtomicI64,
    pub(super) next: AtomicUsize,
    /// The clock reading before which no block is counted again; 0 if none was ever counted.
    pub(super) until_ms: AtomicU32,
}

impl Cap {
    pub(super) fn try_new(most: usize, capacity: usize) -> Result<Self, RegistryError> {
        if most == 0 {
            return Err(RegistryError::NoneShutOut);
        }
        let blocks = capacity.div_ceil(MOST_LOOKS);
        Ok(Self {
            // A limit above the number of slots is no limit.
            most: most.min(capacity) as u32,
            blocks: (0..blocks).map(|_| AtomicU32::new(0)).collect(),
            shut_out: AtomicI64::new(0),
            next: AtomicUsize::new(0),
            until_ms: AtomicU32::new(0),
        })
    }

    /// Whether a rejection is within the cap; `random` is spread evenly over all its values.
    pub(super) fn admits(&self, random: impl FnOnce() -> u32) -> bool {
        let most = u64::from(self.most) * KEY;
        // While two threads count, the sum may be negative for a moment.
        let shut_out = u64::try_from(self.shut_out.load(Ordering::Relaxed)).unwrap_or(0);
        // Uses the upper end of the range, as the enforcement does: so the smaller share applies where there are both.
        shut_out <= most || u64::from(random()) * shut_out >= (shut_out - most) << 32
    }

    pub(super) fn note(&self, block: usize, shut_out: u32) {
        let before = self.blocks[block].swap(shut_out, Ordering::Relaxed);
        let more = i64::from(shut_out) - i64::from(before);
        self.shut_out.fetch_add(more, Ordering::Relaxed);
    }
}

/// The amount for a key all of whose calls are rejected.
pub(super) const KEY: u64 = 100;
