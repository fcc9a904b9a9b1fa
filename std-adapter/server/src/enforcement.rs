// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shadow mode: everything happens as usual, but calls pass.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// The share of rejections that are enforced, which can be changed at run time: 100 % by default; 0 % is
/// shadow mode, in which a breaker goes through its whole life cycle (trips, open times, probes, events,
/// counters), but all calls pass.
///
/// A call that should have been rejected but passes is not reported to the breaker, because the breaker did
/// not admit it. So the breaker learns the same in shadow mode as it would when enforced: in particular,
/// probes decide when it closes.
#[derive(Debug)]
pub struct Enforcement {
    /// The percentage that is not enforced, so that zeroed memory means full enforcement.
    shadowed: AtomicU8,
}

impl Enforcement {
    /// Every rejection is enforced.
    pub const fn new() -> Self {
        Self {
            shadowed: AtomicU8::new(0),
        }
    }

    /// The share that is enforced, in percent.
    pub fn percent(&self) -> u8 {
        // A setting on which no other memory depends; the same applies below.
        100 - self.shadowed.load(Ordering::Relaxed)
    }

    /// Sets the share of rejections that are enforced, in percent.
    pub fn set_percent(&self, percent: u8) -> Result<(), PercentError> {
        let shadowed = 100_u8.checked_sub(percent).ok_or(PercentError(percent))?;
        self.shadowed.store(shadowed, Ordering::Relaxed);
        Ok(())
    }

    /// Returns whether this rejection is enforced; `random` is spread evenly over all its values.
    pub fn is_enforced(&self, random: impl FnOnce() -> u32) -> bool {
        match self.shadowed.load(Ordering::Relaxed) {
            0 => true,
            100.. => false,
            shadowed => (u64::from(random()) * 100) >> 32 >= u64::from(shadowed),
        }
    }
}

impl Default for Enforcement {
    fn default() -> Self {
        Self::new()
    }
}

/// A share of more than 100 percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PercentError(u8);

impl fmt::Display for PercentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} percent is more than all: set 0 to 100", self.0)
    }
}

impl Error for PercentError {}
