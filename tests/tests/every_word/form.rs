// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two layouts of a word, by the drawing in `atomic_breaker::word`, written down once more.

use std::fmt::Debug;

use atomic_breaker::word::{Bits, TickBits};

/// A word of 32 bits with ticks of a millisecond.
pub(crate) type Narrow = TickBits<0>;
/// A word of 64 bits.
pub(crate) type Wide = u64;

/// The widths of the fields, lowest first: two bits of state, then these.
pub(crate) trait Form: Bits + Debug {
    const TRIPS: u32;
    const PAYLOAD: u32;
    const TIME: u32;
    const EPOCH: u32;
    /// Significant bits of an open time, the leading one included.
    const PRECISION: u32;
    /// The step back of a clock that is tolerated, in ticks.
    const GUARD: u64;

    /// The word with these bits.
    fn of(bits: u64) -> Self;

    const STATE: u32 = 2;
    const PAYLOAD_AT: u32 = Self::STATE + Self::TRIPS;
    const TIME_AT: u32 = Self::PAYLOAD_AT + Self::PAYLOAD;
    const EPOCH_AT: u32 = Self::TIME_AT + Self::TIME;
    /// State, trips and payload.
    const BELOW_TIME: u32 = Self::TIME_AT;
    /// The values that the time field has, and the epoch.
    const RANGE: u64 = 1 << Self::TIME;
    const EPOCHS: u64 = 1 << Self::EPOCH;
    /// The longest time that can be told, in ticks.
    const LONGEST: u64 = Self::RANGE / 2;
    const MOST_TRIPS: u32 = (1 << Self::TRIPS) - 1;
    const MOST_FAILURES: u32 = (1 << Self::PAYLOAD) - 1;
    const MOST_PROBES: u32 = (1 << (Self::PAYLOAD / 2)) - 1;
    const MASK: u64 = u64::MAX >> (64 - Self::EPOCH_AT - Self::EPOCH);

    /// The word with another time.
    fn with_time(word: u64, time: u64) -> u64 {
        let mask = (Self::RANGE - 1) << Self::TIME_AT;
        word & !mask | (time % Self::RANGE) << Self::TIME_AT
    }

    /// The word this many epochs later.
    fn later(word: u64, epochs: u64) -> u64 {
        word.wrapping_add(epochs << Self::EPOCH_AT) & Self::MASK
    }

    /// The word this many epochs earlier.
    fn earlier(word: u64, epochs: u64) -> u64 {
        word.wrapping_sub(epochs << Self::EPOCH_AT) & Self::MASK
    }
}

impl Form for Narrow {
    const TRIPS: u32 = 3;
    const PAYLOAD: u32 = 8;
    const TIME: u32 = 15;
    const EPOCH: u32 = 4;
    const PRECISION: u32 = 4;
    const GUARD: u64 = 64;

    fn of(bits: u64) -> Self {
        TickBits(u32::try_from(bits).expect("a word of 32 bits"))
    }
}

impl Form for Wide {
    const TRIPS: u32 = 5;
    const PAYLOAD: u32 = 16;
    const TIME: u32 = 32;
    const EPOCH: u32 = 9;
    const PRECISION: u32 = 11;
    const GUARD: u64 = 65_536;

    fn of(bits: u64) -> Self {
        bits
    }
}
