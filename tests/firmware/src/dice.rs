// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random numbers that are the same in each run, and the numbers that the builder of a program may ask for.

use core::hint::black_box;

/// Marsaglia's xorshift.
pub struct Dice(u32);

impl Dice {
    /// Seeds that are next to each other give sequences that are not.
    pub const fn new(seed: u32) -> Self {
        let mixed = (seed ^ seed >> 16).wrapping_mul(0x7FEB_352D);
        let mixed = (mixed ^ mixed >> 15).wrapping_mul(0x846C_A68B);
        // The only state that it never leaves is 0.
        Self((mixed ^ mixed >> 16) | 1)
    }

    /// From 0 to `limit`, without it.
    pub fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        ((u64::from(self.0) * u64::from(limit)) >> u32::BITS) as u32
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    /// A delay of up to so many turns, of a few instructions each.
    pub fn delay(&mut self, most: u32) {
        for turn in 0..self.below(most) {
            black_box(turn);
        }
    }
}

/// A number that was given when the program was built: `number(option_env!("ATOMIC_BREAKER_SEED"), 1)`.
///
/// # Panics
/// If it is not a decimal number below 2³². In a constant, the program is then not built.
pub const fn number(given: Option<&str>, otherwise: u32) -> u32 {
    let Some(text) = given else {
        return otherwise;
    };
    match u32::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => panic!(
            "ATOMIC_BREAKER_SEED and ATOMIC_BREAKER_OPERATIONS are decimal numbers below 2^32"
        ),
    }
}
