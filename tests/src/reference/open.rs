// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening, and deadlines that only move later.

use std::ops::RangeInclusive;

use atomic_breaker::Cause;

use super::{Mode, Permit, Reference};

impl Reference {
    /// Trips once more in a row, for at least this many milliseconds; 0 demands nothing.
    pub(super) fn trip(&mut self, demand: u64, cause: Cause) {
        self.trips = (self.trips + 1).min(self.rules.grain.most_trips);
        let range = self.rules.open_ticks(self.trips, demand);
        let wanted = self.draw(&range);
        let mode = self.open_until(wanted, demand > 0);
        self.enter(mode, cause);
    }

    /// Trips an open breaker again, for at least this many milliseconds.
    pub(super) fn trip_again(&mut self, demand: u64) {
        let range = self.rules.open_ticks(self.trips, demand);
        let Mode::Open { demanded, .. } = self.mode else {
            return;
        };
        match self.later(&range) {
            Some(wanted) => {
                let mode = self.open_until(wanted, demanded || demand > 0);
                self.enter(mode, Cause::Manual);
            }
            None => self.demand(demand),
        }
    }

    /// A demand whose epoch has ended is reported: it counts if that epoch was the last one and ended
    /// by opening.
    pub(super) fn report_late(&mut self, permit: Permit, time: u64) {
        let demand = self.rules.allowed(time);
        let range = self.rules.with_jitter(demand);
        if !matches!(self.mode, Mode::Open { .. })
            || permit.generation + 1 != self.generation
            || demand == 0
        {
            return;
        }
        match self.later(&range) {
            Some(wanted) => self.mode = self.open_until(wanted, true),
            None => self.demand(demand),
        }
    }

    /// A demand that ends no later than the current open time keeps early probes off until then.
    fn demand(&mut self, demand: u64) {
        if let Mode::Open { demanded, .. } = &mut self.mode {
            *demanded |= demand > 0;
        }
    }

    /// Open until exactly this many ticks from now.
    pub(super) fn open_until(&self, wanted: u64, demanded: bool) -> Mode {
        let lasts = self.rules.grain.stored(wanted);
        Mode::Open {
            began: self.stamp() + wanted - lasts,
            lasts,
            demanded,
        }
    }

    /// The open time in ticks, drawn at random.
    fn draw(&self, range: &RangeInclusive<u64>) -> u64 {
        self.drawn
            .filter(|drawn| range.contains(drawn))
            .unwrap_or(*range.start())
    }

    /// The ticks that are left of the open time; 0 if it has passed.
    fn open_left(&self) -> u64 {
        let Mode::Open { began, lasts, .. } = self.mode else {
            return 0;
        };
        let left = lasts.cast_signed() - self.seen(self.stamp(), began);
        left.max(0).unsigned_abs()
    }

    /// The open time in ticks, drawn at random, if it ends later than the current one.
    fn later(&self, range: &RangeInclusive<u64>) -> Option<u64> {
        let left = self.open_left();
        let is_later = |wanted: &u64| *wanted > left;
        // The drawn time ends when the real breaker becomes due; it was drawn only if that is later than before.
        self.drawn
            .filter(|drawn| range.contains(drawn) && is_later(drawn))
            .or(Some(*range.start()).filter(is_later))
    }
}
