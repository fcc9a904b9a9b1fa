//! The layout of the word: which bits hold which field, declared once for both widths.

use super::{Bits, open_time};

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

/// Where the fields of a word lie, lowest first.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Which of the four phases. Lowest, so that "closed" is a test of two bits.
    pub(crate) state: Field,
    /// Closed: failures · open: the open time · half-open: in flight, successes · held: which.
    pub(crate) load: Field,
    /// The low half of `load`: successes so far.
    pub(crate) successes: Field,
    /// The high half of `load`: probes in flight.
    pub(crate) in_flight: Field,
    /// Raised by every transition, wraps.
    pub(crate) epoch: Field,
    /// Trips in a row, saturates.
    pub(crate) trips: Field,
    /// Closed: start of the window · open: opened at · half-open: last probe admitted at.
    pub(crate) time: Field,
    /// Significant bits of the open time in `load`, the leading one included.
    pub(crate) precision: u32,
    /// Clock readings that lie behind a stored time by up to this many ticks are taken as a step
    /// back of the clock, not as great age.
    pub(crate) guard: u32,
}

impl Layout {
    /// The 64-bit layout: ticks of 1 ms, the time wraps after 49.7 days.
    pub const WIDE: Self = Self::new(2, 16, 9, 5, 32, 12, 1 << 16);

    /// The 32-bit layout: ticks of 2ⁿ ms (64 ms unless configured), the time wraps after 2¹⁵ ticks.
    pub const NARROW: Self = Self::new(2, 8, 4, 3, 15, 5, 1 << 6);

    const fn new(
        state: u32,
        load: u32,
        epoch: u32,
        trips: u32,
        time: u32,
        precision: u32,
        guard: u32,
    ) -> Self {
        let state = Field {
            shift: 0,
            width: state,
        };
        let successes = state.above(load / 2);
        let in_flight = successes.above(load / 2);
        let load = state.above(load);
        let epoch = load.above(epoch);
        let trips = epoch.above(trips);
        let time = trips.above(time);
        Self {
            state,
            load,
            successes,
            in_flight,
            epoch,
            trips,
            time,
            precision,
            guard,
        }
    }

    /// The largest number of failures that can be counted.
    #[inline]
    pub(crate) const fn max_failures(self) -> u32 {
        self.load.max()
    }

    /// The largest number of probes, and of successes that close.
    #[inline]
    pub(crate) const fn max_probes(self) -> u32 {
        self.successes.max()
    }

    /// The longest time that can be told from its wrapped twin with room to notice that it has
    /// passed, in ticks: half the range of the time field.
    #[inline]
    pub(crate) const fn max_ticks(self) -> u32 {
        1 << (self.time.width - 1)
    }

    /// Whether the layout has one-millisecond ticks whatever the configuration says.
    #[inline]
    pub(crate) const fn has_fixed_tick(self) -> bool {
        self.time.width == u32::BITS
    }
}

// The fields fill the word, overlap nowhere, and the longest open time has a code.
const _: () = {
    const fn sound(layout: Layout, word: u32) -> bool {
        let longest = open_time::code(layout.precision, layout.max_ticks());
        let union = layout.state.mask()
            | layout.load.mask()
            | layout.epoch.mask()
            | layout.trips.mask()
            | layout.time.mask();
        layout.time.shift + layout.time.width == word
            && union == u64::MAX >> (u64::BITS - word)
            && layout.successes.mask() | layout.in_flight.mask() == layout.load.mask()
            && layout.guard < layout.max_ticks() / 2
            && longest <= layout.load.max()
            && open_time::ticks(layout.precision, longest) == layout.max_ticks()
    }
    assert!(sound(Layout::WIDE, u64::BITS));
    assert!(sound(Layout::NARROW, u32::BITS));
};

/// What the fast path asks of a word: answered from the bits, without unpacking.
pub(crate) trait Peek: Bits {
    const STATE: u64 = Self::LAYOUT.state.mask();
    const ALL_BUT_EPOCH: u64 = !Self::LAYOUT.epoch.mask();

    /// The two state bits say closed.
    #[inline]
    fn is_closed(self) -> bool {
        self.to_u64() & Self::STATE == 0
    }

    /// Closed, with nothing counted: all bits but the epoch are zero.
    #[inline]
    fn is_closed_and_clear(self) -> bool {
        self.to_u64() & Self::ALL_BUT_EPOCH == 0
    }
}

impl<B: Bits> Peek for B {}
