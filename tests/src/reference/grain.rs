// SPDX-License-Identifier: MIT OR Apache-2.0
//! The precision of a word.

/// The precision of a word: the values that it cannot tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grain {
    /// Milliseconds of a tick.
    pub tick: u64,
    /// An open time has this many significant bits.
    pub significant: u32,
    /// Failures are counted up to this number.
    pub most_failures: u32,
    /// Failures in a row that must last are counted up to this number. Above it, while traffic returns, stands how old the
    /// return was when the row had reached its limit.
    pub most_lasting: u32,
    /// Trips in a row are counted up to this number.
    pub most_trips: u32,
    /// Lost rounds in a row are counted up to this number.
    pub most_lost: u32,
    /// The longest open time, in ticks.
    pub longest: u64,
    /// The reach of the time in the word; `None` means forever.
    pub wrap: Option<Wrap>,
}

/// The point at which the time in the word wraps, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wrap {
    pub ticks: i64,
    /// Times that seem to lie ahead of now by up to this much are a step back of the clock.
    pub guard: i64,
}

impl Grain {
    /// The 64-bit word.
    pub const WIDE: Self = Self {
        tick: 1,
        significant: 11,
        most_failures: 65_535,
        most_lasting: 32_767,
        most_trips: 31,
        most_lost: 4,
        longest: 1 << 31,
        wrap: None,
    };

    /// The 32-bit word with the given tick.
    pub const fn narrow(tick: u64) -> Self {
        Self {
            tick,
            significant: 4,
            most_failures: 255,
            most_lasting: 127,
            most_trips: 7,
            most_lost: 4,
            longest: 1 << 14,
            wrap: None,
        }
    }

    /// Returns whether it is the 64-bit word's.
    pub const fn is_wide(self) -> bool {
        self.significant == Self::WIDE.significant
    }

    /// The same word, with a time that wraps as documented.
    #[must_use]
    pub const fn wrapping(self) -> Self {
        let (ticks, guard) = if self.is_wide() {
            (1 << 32, 1 << 16)
        } else {
            (1 << 15, 64)
        };
        Self {
            wrap: Some(Wrap { ticks, guard }),
            ..self
        }
    }

    /// The number of transitions before the epochs of the word come round again.
    pub const fn epochs(self) -> u64 {
        if self.is_wide() { 512 } else { 16 }
    }

    /// A number of milliseconds in ticks, rounded up.
    pub(super) fn up(self, ms: u64) -> u64 {
        ms.div_ceil(self.tick)
    }

    /// The longest time in milliseconds.
    pub fn longest_ms(self) -> u64 {
        self.longest * self.tick
    }

    /// The shortest open time that can be stored and is no shorter, in ticks.
    pub fn stored(self, ticks: u64) -> u64 {
        let mut unit = 1;
        while ticks.div_ceil(unit) >= 1 << self.significant {
            unit *= 2;
        }
        ticks.div_ceil(unit) * unit
    }
}
