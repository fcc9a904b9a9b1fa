// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures in a row that must last, and since when they do.
//!
//! While closed the stored time is that of the first failure of the row. While traffic returns it is the start of the
//! return, so the count has its top bit set once the row has reached its limit: the stored time is then the time at which
//! it did, and the bits below are the age of the return at that time, in a unit with which the whole return fits.

use super::Machine;
use crate::circuit::Circuit;
use crate::config::TripRule;
use crate::time::TimeBase;
use crate::word::Bits;

impl<B: Bits> Machine<'_, B> {
    /// The top bit of the count.
    const HAS_REACHED: u32 = B::LAYOUT.max_lasting_failures() + 1;

    /// With `weight` more failures; `None` if they reach the limit and the row has lasted. No more are counted than the
    /// limit.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `count`")]
    pub(super) fn counted_lasting(
        self,
        circuit: Circuit<B>,
        weight: u32,
        (limit, lasting_ms): (u32, u32),
        now_ms: u32,
    ) -> Option<Circuit<B>> {
        if self.keeps_trips() && circuit.trips() != 0 {
            return self.counted_while_returning(circuit, weight, (limit, lasting_ms), now_ms);
        }
        let failures = (circuit.failures() + weight).min(limit);
        let counted = circuit.with_failures(failures);
        if circuit.failures() == 0 {
            return Some(counted.with_time(B::stamp(now_ms)));
        }
        let has_lasted = B::has_passed(now_ms, circuit.time(), B::ticks(lasting_ms));
        (failures < limit || !has_lasted).then_some(counted)
    }

    #[cold]
    fn counted_while_returning(
        self,
        circuit: Circuit<B>,
        weight: u32,
        (limit, lasting_ms): (u32, u32),
        now_ms: u32,
    ) -> Option<Circuit<B>> {
        if circuit.failures() >= Self::HAS_REACHED {
            let has_lasted = B::has_passed(now_ms, circuit.time(), B::ticks(lasting_ms));
            return (!has_lasted).then_some(circuit);
        }
        let failures = circuit.failures() + weight;
        if failures < limit {
            return Some(circuit.with_failures(failures));
        }
        // From the time that is stored, so that nothing is lost by rounding it up.
        let age = B::age(now_ms.wrapping_add(B::BELOW_A_TICK), circuit.time());
        let units = (age >> self.unit(circuit)).min(B::LAYOUT.max_lasting_failures());
        let reached = circuit.with_failures(Self::HAS_REACHED | units);
        Some(reached.with_time(B::stamp(now_ms)))
    }

    /// The time at which traffic began to return, in ticks.
    pub(super) fn returning_since(self, circuit: Circuit<B>) -> u32 {
        let units = circuit.failures() & B::LAYOUT.max_lasting_failures();
        if self.has_reached(circuit) {
            B::earlier(circuit.time(), units << self.unit(circuit))
        } else {
            circuit.time()
        }
    }

    /// The failures counted, while closed or returning.
    pub(crate) fn failures(self, circuit: Circuit<B>) -> u32 {
        match self.config.trip {
            TripRule::Lasting { failures, .. } if self.has_reached(circuit) => failures,
            _ => circuit.failures(),
        }
    }

    /// Returns whether a row has reached its limit while traffic returns, and has not lasted yet.
    fn has_reached(self, circuit: Circuit<B>) -> bool {
        matches!(self.config.trip, TripRule::Lasting { .. })
            && self.keeps_trips()
            && circuit.trips() != 0
            && circuit.failures() >= Self::HAS_REACHED
    }

    /// Binary logarithm of the unit in ticks: the smallest one with which the whole return fits.
    fn unit(self, circuit: Circuit<B>) -> u32 {
        let whole = self.return_ticks(circuit);
        let mut unit = 0;
        while whole >> unit > B::LAYOUT.max_lasting_failures() {
            unit += 1;
        }
        unit
    }
}
