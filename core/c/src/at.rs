// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock of one call: the time that C passed.

use atomic_breaker::{Clock, SharedClock};

/// A reading that the caller took, and what differs between the devices of a fleet.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Milliseconds since any fixed origin.
    pub now_ms: u32,
    /// The seed of jitter that the rules have none for.
    pub entropy: u32,
}

impl Clock for At {
    fn now_ms(&self) -> u32 {
        self.now_ms
    }

    fn entropy(&self) -> u32 {
        self.entropy
    }

    /// A number of the millisecond, as nothing is kept from one call to the next: calls in one millisecond pass or are
    /// rejected together while traffic returns.
    fn random(&self) -> u32 {
        // Each step is a bijection; the multipliers are those of `SplitMix32`.
        let mut x = (self.now_ms ^ self.entropy).wrapping_add(0x9E37_79B9);
        x = (x ^ x >> 16).wrapping_mul(0x21F0_AAAD);
        x = (x ^ x >> 15).wrapping_mul(0x735A_2D97);
        x ^ x >> 15
    }
}

/// Of `ab_restore_running` the header demands a clock that ran on.
impl SharedClock for At {}
