// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tripping, and for how long: growth, minimum, jitter.
//!
//! One bit marks the whole of an open time as demanded, so a demand for a part of it keeps a `Prober` from pinging for
//! the rest as well: better that than a ping before the time that a server asked for.

use super::{Machine, Step};
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::number::scramble;
use crate::observer::Cause;
use crate::outcome::Failure;
use crate::state::State;
use crate::time::TimeBase;
use crate::word::Bits;

impl<B: Bits> Machine<'_, B> {
    /// Arrows 1, 2, 5 and 10: opens, one trip further in a row.
    // As a separate function this would take the clock's address, and rules that are known at compile time could
    // not be folded into the code.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "see above")]
    pub(super) fn trip(
        self,
        circuit: Circuit<B>,
        shortest_ms: u32,
        now: &Now<'_, impl Clock>,
        cause: Cause,
    ) -> Step<B> {
        let trips = (circuit.trips() + 1).min(B::LAYOUT.trips.max());
        let own_ms = self.own_open_ms(trips);
        let wanted = self.open_time(circuit, own_ms.max(shortest_ms), now);
        let next = circuit
            .enter(State::Open)
            .with_trips(trips)
            .with_demanded(shortest_ms > 0);
        Step::Transition(Self::open_until(next, wanted, now.ms()), cause)
    }

    /// Arrow 10 from open: trips again. The deadline can only move later, and this is no further trip in a row.
    pub(super) fn trip_again(
        self,
        circuit: Circuit<B>,
        shortest_ms: u32,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        let own_ms = self.own_open_ms(circuit.trips());
        let wanted = self.open_time(circuit, own_ms.max(shortest_ms), now);
        if wanted <= Self::left_from_now(circuit, now.ms()) {
            return Self::demand(circuit, shortest_ms);
        }
        let next = circuit
            .enter(State::Open)
            .with_trips(circuit.trips())
            .with_demanded(circuit.is_demanded() || shortest_ms > 0);
        Step::Transition(Self::open_until(next, wanted, now.ms()), Cause::Manual)
    }

    /// A demand that arrives when the breaker has just opened: the deadline can only move later.
    pub(super) fn extend(
        self,
        circuit: Circuit<B>,
        shortest_ms: u32,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        let wanted = self.open_time(circuit, shortest_ms, now);
        if wanted <= Self::left_from_now(circuit, now.ms()) {
            return Self::demand(circuit, shortest_ms);
        }
        let demanded = circuit.with_demanded(true);
        Step::Update(Self::open_until(demanded, wanted, now.ms()))
    }

    /// A demand that ends no later than the current open time.
    fn demand(circuit: Circuit<B>, shortest_ms: u32) -> Step<B> {
        if shortest_ms > 0 && !circuit.is_demanded() {
            Step::Update(circuit.with_demanded(true))
        } else {
            Step::Keep
        }
    }

    /// The minimum that a failure asks for, cut to the longest that is allowed; 0 if it asks for none.
    pub(crate) fn demanded_ms(self, failure: Failure) -> u32 {
        let longest_ms = self.config.longest_retry_after_ms(B::LAYOUT.max_ms());
        failure.retry_after_ms.map_or(0, |ms| ms.min(longest_ms))
    }

    /// Open until exactly `wanted` ticks from now: the amount by which the stored open time is longer is
    /// subtracted from the stored time.
    pub(super) fn open_until(circuit: Circuit<B>, wanted: u32, now_ms: u32) -> Circuit<B> {
        let (next, stored) = circuit.with_open_for(wanted);
        let stamp = B::stamp(now_ms);
        next.with_time(B::earlier(stamp, stored - wanted))
    }

    /// The ticks until the deadline, from the time to store for now.
    fn left_from_now(circuit: Circuit<B>, now_ms: u32) -> u32 {
        B::left_from(B::stamp(now_ms), circuit.time(), circuit.open_for())
    }

    /// The milliseconds for which a breaker that has just opened is open.
    pub(crate) fn opened_for(circuit: Circuit<B>, now_ms: u32) -> u32 {
        B::ms(Self::left_from_now(circuit, now_ms))
    }

    /// The open time without any demand: `open_for`, grown with each trip in a row.
    #[inline]
    pub(super) fn own_open_ms(self, trips: u32) -> u32 {
        let open_ms = self.config.open_for_ms;
        match self.config.growth {
            // The first trip in a row does not grow yet.
            Some(growth) => growth.after(open_ms, trips.saturating_sub(1)),
            None => open_ms,
        }
    }

    /// This many milliseconds in ticks, plus a random part of up to the configured percentage, without a division.
    /// Stays within what the word holds: `Config::check` ensures it for everything configured, the `min` for what
    /// is demanded.
    #[inline]
    fn open_time(self, circuit: Circuit<B>, open_ms: u32, now: &Now<'_, impl Clock>) -> u32 {
        let open = B::ticks(open_ms);
        if self.config.jitter_percent == 0 {
            return open;
        }
        // The epoch goes into bits that milliseconds rarely reach, so that two trips within one millisecond
        // differ.
        let since = now.ms() ^ circuit.epoch() << 23;
        let seed = match self.config.seed {
            Some(seed) => seed,
            // A different number for each trip, even of breakers that trip together.
            None => now.clock.entropy() ^ now.clock.random(),
        };
        let dice = scramble(seed ^ scramble(since));
        let part = high(PERCENT * u32::from(self.config.jitter_percent), dice);
        (open + high(open, part)).min(B::LAYOUT.max_ticks())
    }
}

/// The high half of a product: `a · b / 2³²`.
const fn high(a: u32, b: u32) -> u32 {
    ((a as u64 * b as u64) >> u32::BITS) as u32
}

/// 1 % as a fraction of 2³², rounded down so that 100 % still fits.
const PERCENT: u32 = u32::MAX / 100;
