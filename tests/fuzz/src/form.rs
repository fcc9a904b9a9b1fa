// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two layouts of a word, by the drawing in `atomic_breaker::word`, written down once more.

/// A word of 32 bits, whatever its tick.
pub(crate) enum Narrow {}
/// A word of 64 bits.
pub(crate) enum Wide {}

/// The widths of the fields, lowest first: two bits of state, then these.
pub(crate) trait Form {
    const TRIPS: u32;
    const PAYLOAD: u32;
    const TIME: u32;
    const EPOCH: u32;
    /// Significant bits of an open time, the leading one included.
    const PRECISION: u32;
    /// The step back of a clock that is tolerated, in ticks.
    const GUARD: u64;

    const PAYLOAD_AT: u32 = 2 + Self::TRIPS;
    const TIME_AT: u32 = Self::PAYLOAD_AT + Self::PAYLOAD;
    const EPOCH_AT: u32 = Self::TIME_AT + Self::TIME;
    /// The values that the time field has, and the epoch.
    const RANGE: u64 = 1 << Self::TIME;
    const EPOCHS: u64 = 1 << Self::EPOCH;
    /// The longest time that can be told, in ticks.
    const LONGEST: u64 = Self::RANGE / 2;
}

impl Form for Narrow {
    const TRIPS: u32 = 3;
    const PAYLOAD: u32 = 8;
    const TIME: u32 = 15;
    const EPOCH: u32 = 4;
    const PRECISION: u32 = 4;
    const GUARD: u64 = 64;
}

impl Form for Wide {
    const TRIPS: u32 = 5;
    const PAYLOAD: u32 = 16;
    const TIME: u32 = 32;
    const EPOCH: u32 = 9;
    const PRECISION: u32 = 11;
    const GUARD: u64 = 65_536;
}
