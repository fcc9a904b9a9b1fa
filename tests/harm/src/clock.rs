// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time and the randomness of a run: its own in each thread, and the same in each run with the same seed.

use std::cell::Cell;

use atomic_breaker_http::Clock;

/// Microseconds.
pub type Time = u64;

/// A millisecond.
pub const MS: Time = 1_000;
/// A second.
pub const SECOND: Time = 1_000 * MS;

/// The time at which each run begins: far from zero, at which this thread is in no run.
pub const BEGIN: Time = 3_600 * SECOND;

thread_local! {
    static NOW: Cell<Time> = const { Cell::new(0) };
    static DRAWN: Cell<u64> = const { Cell::new(0) };
}

/// The time of this thread's run; 0 if there is none.
#[inline]
pub fn now() -> Time {
    NOW.get()
}

/// Moves the time of this thread's run.
#[inline]
pub fn set_now(now: Time) {
    NOW.set(now);
}

/// Seeds what the breakers of this thread draw.
pub fn seed(seed: u64) {
    DRAWN.set(seed);
}

/// The next random number of this thread.
pub fn draw() -> u64 {
    let drawn = DRAWN.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
    DRAWN.set(drawn);
    scramble(drawn)
}

/// `SplitMix64` (Steele, Lea, Flood, 2014).
#[inline]
pub fn scramble(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Reads the time of this thread's run.
#[derive(Clone, Copy, Debug, Default)]
pub struct VirtualClock;

impl Clock for VirtualClock {
    #[inline]
    fn now_ms(&self) -> u32 {
        (now() / MS) as u32
    }

    fn entropy(&self) -> u32 {
        draw() as u32
    }

    fn random(&self) -> u32 {
        draw() as u32
    }
}
