// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layout of the word: which bits hold which field, declared once for both widths.

use super::open_time;

/// A run of bits in the word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    shift: u32,
    width: u32,
}

impl Field {
    const fn above(self, width: u32) -> Self {
        Self {
            shift: self.shift + self.width,
            width,
        }
    }

    /// The largest value that fits.
    #[inline]
    pub(crate) const fn max(self) -> u32 {
        u32::MAX >> (u32::BITS - self.width)
    }

    /// The bits of the word that belong to this field.
    #[inline]
    pub(crate) const fn mask(self) -> u64 {
        (self.max() as u64) << self.shift
    }

    #[inline]
    pub(crate) const fn get(self, bits: u64) -> u32 {
        (bits >> self.shift) as u32 & self.max()
    }

    #[inline]
    pub(crate) const fn put(self, value: u32) -> u64 {
        debug_assert!(value <= self.max());
        ((value & self.max()) as u64) << self.shift
    }
}

/// The positions of the fields in a word, lowest first: [the drawing](super#the-layout). State and trips are side by
/// side, because together they say "closed".
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub(crate) state: Field,
    /// Saturates.
    pub(crate) trips: Field,
    /// The data of the state: failures, the command that holds, or the fields below.
    pub(crate) payload: Field,
    /// Half-open, the low half of `payload`.
    pub(crate) successes: Field,
    /// Half-open, the high half.
    pub(crate) in_flight: Field,
    /// Half-open after lost rounds, the high half but its top bit: one less than the rounds that were lost.
    pub(crate) lost: Field,
    /// Half-open after lost rounds, the top bit: whether the one probe is in flight.
    pub(crate) busy: Field,
    /// Open, `payload` but its top bit.
    pub(crate) open_for: Field,
    /// Open, the top bit.
    pub(crate) demanded: Field,
    pub(crate) time: Field,
    /// Wraps.
    pub(crate) epoch: Field,
    /// Significant bits of the open time, the leading one included.
    pub(crate) precision: u32,
    /// Clock readings that lie behind a stored time by up to this many ticks are treated as a step back of the
    /// clock, not as great age.
    pub(crate) guard: u32,
    /// The most rounds lost in a row that are counted.
    pub(crate) max_lost: u32,
    /// Binary logarithm of the tick in milliseconds.
    pub(crate) tick_log2: u32,
}

impl Layout {
    /// The 64-bit layout: ticks of 1 ms, the time wraps after 49.7 days.
    pub const WIDE: Self = Self {
        precision: 11,
        guard: 1 << 16,
        max_lost: 4,
        tick_log2: 0,
        ..Self::of_widths(5, 16, 32, 9)
    };

    /// The 32-bit layout with its default tick of 64 ms: the time wraps after 2¹⁵ ticks, 35 minutes.
    pub const NARROW: Self = Self {
        precision: 4,
        guard: 1 << 6,
        max_lost: 4,
        tick_log2: 6,
        ..Self::of_widths(3, 8, 15, 4)
    };

    const fn of_widths(trips: u32, payload: u32, time: u32, epoch: u32) -> Self {
        let state = Field { shift: 0, width: 2 };
        let trips = state.above(trips);
        let successes = trips.above(payload / 2);
        let lost = successes.above(payload / 2 - 1);
        let open_for = trips.above(payload - 1);
        let payload = trips.above(payload);
        let time = payload.above(time);
        Self {
            state,
            trips,
            payload,
            successes,
            in_flight: successes.above(successes.width),
            lost,
            busy: lost.above(1),
            open_for,
            demanded: open_for.above(1),
            time,
            epoch: time.above(epoch),
            precision: 0,
            guard: 0,
            max_lost: 0,
            tick_log2: 0,
        }
    }

    /// This layout, with ticks of 2ⁿ milliseconds.
    pub(crate) const fn with_tick_log2(self, n: u32) -> Self {
        Self {
            tick_log2: n,
            ..self
        }
    }

    /// The largest number of failures that can be counted.
    #[inline]
    pub(crate) const fn max_failures(self) -> u32 {
        self.payload.max()
    }

    /// The largest number of failures in a row that must last: all but the top bit of the count, which says while
    /// traffic returns that the row has reached its limit.
    #[inline]
    pub(crate) const fn max_lasting_failures(self) -> u32 {
        self.payload.max() >> 1
    }

    /// The largest number of probes, and of successes that close.
    #[inline]
    pub(crate) const fn max_probes(self) -> u32 {
        self.successes.max()
    }

    /// The longest duration that can be measured without ambiguity, in ticks: half the range of the
    /// time field.
    #[inline]
    pub(crate) const fn max_ticks(self) -> u32 {
        1 << (self.time.width - 1)
    }

    /// The longest duration that a word of this layout holds, in milliseconds.
    pub const fn max_ms(self) -> u32 {
        self.max_ticks() << self.tick_log2
    }

    /// The fields that must agree for a permit to belong to the current epoch: trips do not change within an epoch, and
    /// tell apart epochs that look alike.
    #[inline]
    pub(crate) const fn identity(self) -> u64 {
        self.state.mask() | self.epoch.mask() | self.trips.mask()
    }
}

// The fields fill the word, overlap nowhere, and the longest open time has a code.
const _: () = {
    const fn sound(layout: Layout, word: u32) -> bool {
        let longest = open_time::encode(layout.precision, layout.max_ticks()).0;
        let union = layout.state.mask()
            | layout.payload.mask()
            | layout.epoch.mask()
            | layout.trips.mask()
            | layout.time.mask();
        layout.epoch.shift + layout.epoch.width == word
            && union == u64::MAX >> (u64::BITS - word)
            && layout.successes.mask() | layout.in_flight.mask() == layout.payload.mask()
            && layout.guard < layout.max_ticks() / 2
            && layout.successes.mask() | layout.lost.mask() | layout.busy.mask()
                == layout.payload.mask()
            && layout.open_for.mask() | layout.demanded.mask() == layout.payload.mask()
            && layout.max_lost <= layout.lost.max() + 1
            && layout.max_lost < u32::BITS
            && longest <= layout.open_for.max()
            && open_time::ticks(layout.precision, longest) == layout.max_ticks()
    }
    assert!(sound(Layout::WIDE, u64::BITS));
    assert!(sound(Layout::NARROW, u32::BITS));
};

/// The codes in the fields `state` and `payload`.
pub(crate) mod code {
    pub(crate) const CLOSED: u32 = 0;
    pub(crate) const OPEN: u32 = 1;
    pub(crate) const HALF_OPEN: u32 = 2;
    /// Half-open after lost rounds, or held by an operator: the trips say which.
    pub(crate) const OTHER: u32 = 3;

    // For a held word, in `payload`. The later command is the one that shows; the other waits below it.
    pub(crate) const FORCED_OPEN: u32 = 1;
    pub(crate) const DISABLED: u32 = 2;
    pub(crate) const DISABLED_OVER_FORCED_OPEN: u32 = 3;
    pub(crate) const FORCED_OPEN_OVER_DISABLED: u32 = 4;
}
