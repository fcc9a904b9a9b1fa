// SPDX-License-Identifier: MIT OR Apache-2.0
//! The client around the breaker.

use crate::clock::{SECOND, Time};

/// The deadline of a call over all tries, as in the preset.
pub(crate) const DEADLINE: Time = 10 * SECOND;

/// The client around the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// One try for each call.
    Once,
    /// The retries of the preset: three tries, pauses of up to 100 and 200 ms, a budget.
    Retries,
}

impl Client {
    /// All.
    pub const ALL: [Self; 2] = [Self::Retries, Self::Once];

    pub(crate) const fn tries(self) -> u32 {
        match self {
            Self::Once => 1,
            Self::Retries => 3,
        }
    }
}
