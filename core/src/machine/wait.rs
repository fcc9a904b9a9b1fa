//! Tripping, and for how long: growth, minimum, jitter.

use super::{Machine, Step};
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::observer::Cause;
use crate::state::State;
use crate::word::Bits;

impl<B: Bits> Machine<'_, B> {
    /// Opens, one trip further in a row, for at least `shortest_ms`.
    pub(super) fn trip(
        self,
        circuit: Circuit<B>,
        shortest_ms: u32,
        now: &Now<'_, impl Clock>,
        cause: Cause,
    ) -> Step<B> {
        let trips = (circuit.trips() + 1).min(B::LAYOUT.trips.max());
        self.open(circuit, trips, shortest_ms, now, cause)
    }

    /// Opens, with the open time that belongs to the number of trips.
    pub(super) fn open(
        self,
        circuit: Circuit<B>,
        trips: u32,
        shortest_ms: u32,
        now: &Now<'_, impl Clock>,
        cause: Cause,
    ) -> Step<B> {
        let since = self.time.stamp(now.ms());
        let seed = self.config.seed.unwrap_or_else(|| now.entropy());
        let dice = scramble(seed ^ scramble(since ^ circuit.epoch() << 23));
        let next = circuit
            .enter(State::Open)
            .with_open_for(self.open_time(trips, shortest_ms, dice))
            .with_trips(trips)
            .with_time(since);
        Step::To(next, cause)
    }

    /// The open time in ticks: `open_for · factor^(trips - 1)` up to its maximum, at least what
    /// the failure asks for, and a random part on top.
    fn open_time(self, trips: u32, shortest_ms: u32, dice: u32) -> u32 {
        let config = self.config;
        let mut open_ms = config.open_for_ms;
        if let Some(growth) = config.growth {
            let grown = growth.factor.saturating_pow(trips.saturating_sub(1));
            open_ms = open_ms.saturating_mul(grown).min(growth.max_ms);
        }
        let longest_ms = config
            .max_retry_after_ms
            .unwrap_or(self.time.ms(B::LAYOUT.max_ticks()));
        let open = self.time.ticks(open_ms.max(shortest_ms.min(longest_ms)));
        // `Timeline::ticks` and this sum stay within what the word can tell: `Config::check` sees
        // to it for everything configured, `min` for a minimum asked for without a limit.
        (open + self.jitter(open, dice)).min(B::LAYOUT.max_ticks())
    }

    /// A part of `open` between nothing and the configured percentage, without a division.
    fn jitter(self, open: u32, dice: u32) -> u32 {
        let part = high(PERCENT * self.config.jitter_percent, dice);
        high(open, part)
    }
}

/// 1 % as a fraction of 2³², rounded down so that 100 % still fits.
const PERCENT: u32 = u32::MAX / 100;

/// The high half of a product: `a · b / 2³²`.
const fn high(a: u32, b: u32) -> u32 {
    ((a as u64 * b as u64) >> u32::BITS) as u32
}

/// Mixes the bits of a number: the finalizer of `MurmurHash3` (Austin Appleby, public domain), a
/// bijection in which every input bit flips every output bit with a probability near one half.
const fn scramble(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x85EB_CA6B);
    x ^= x >> 13;
    x = x.wrapping_mul(0xC2B2_AE35);
    x ^ x >> 16
}
