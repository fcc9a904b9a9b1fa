// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random numbers that are the same for the same seed, and a seed that differs from run to run.

use std::env;
use std::io::Write as _;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The environment variable that repeats a run with its [`seed`].
pub const VARIABLE: &str = "BREAKER_SEED";

/// The seed of this run, which differs each time, is printed past the capture of the tests' output, and can be set.
///
/// # Panics
/// When the environment variable is not a whole number.
pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| {
        let seed = match env::var(VARIABLE) {
            Ok(seed) => seed.parse().expect("the seed is a whole number"),
            Err(_) => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |time| time.as_nanos() as u64),
        };
        let _ = writeln!(std::io::stderr(), "{VARIABLE}={seed}");
        seed
    })
}

/// The seed that the tests print.
pub const SEED: u64 = 0x5EED_0F7A_11CA_11E5;

/// Steele, Lea and Flood's `SplitMix64`.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// Numbers of [`SEED`], different for each thread or run.
    pub const fn stream(stream: u64) -> Self {
        Self::new(SEED ^ stream)
    }

    /// Any number.
    pub const fn next_u32(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(GAMMA);
        (mix(self.0) >> 32) as u32
    }

    /// A number below `end`, which is at most 2³².
    pub const fn below(&mut self, end: u64) -> u64 {
        self.next_u32() as u64 % end
    }
}

/// The nth number of a seed, for threads that draw from one sequence.
pub const fn nth(seed: u64, n: u64) -> u64 {
    mix(seed.wrapping_add(n.wrapping_mul(GAMMA)))
}

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

const fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}
