//! Opening, and deadlines that only move later.

use std::ops::RangeInclusive;

use atomic_breaker::Cause;

use super::{Mode, Pass, Reference};

impl Reference {
    /// Trips, one further in a row, for so many milliseconds at least; 0 demand nothing.
    pub(super) fn trip(&mut self, demand: u64, cause: Cause) {
        self.trips = (self.trips + 1).min(self.rules.grain.most_trips);
        let range = self.rules.open_ticks(self.trips, demand);
        let wanted = self.drawn(&range);
        let mode = self.open_until(wanted, demand > 0);
        self.go(mode, cause);
    }

    /// Trips an open breaker again, for so many milliseconds at least.
    pub(super) fn trip_again(&mut self, demand: u64) {
        let range = self.rules.open_ticks(self.trips, demand);
        let later = self.later(&range);
        if let Mode::Open { demanded, .. } = &mut self.mode {
            *demanded |= demand > 0;
            let is_demanded = *demanded;
            if let Some(wanted) = later {
                let mode = self.open_until(wanted, is_demanded);
                self.go(mode, Cause::Manual);
            }
        }
    }

    /// Hears of a demand whose epoch has ended: it counts if that one ended by opening just now.
    pub(super) fn hear_late(&mut self, pass: Pass, time: u64) {
        let demand = self.rules.allowed(time);
        let range = self.rules.with_jitter(demand);
        let later = self.later(&range);
        if let Mode::Open { demanded, .. } = &mut self.mode
            && pass.generation + 1 == self.generation
            && demand > 0
        {
            *demanded = true;
            if let Some(wanted) = later {
                self.mode = self.open_until(wanted, true);
            }
        }
    }

    /// Open until so many ticks from now, exactly.
    fn open_until(&self, wanted: u64, demanded: bool) -> Mode {
        let lasts = self.rules.grain.stored(wanted);
        Mode::Open {
            began: self.stamp() + wanted - lasts,
            lasts,
            demanded,
        }
    }

    /// The open time in ticks, drawn by lot.
    fn drawn(&self, range: &RangeInclusive<u64>) -> u64 {
        self.lot
            .filter(|lot| range.contains(lot))
            .unwrap_or(*range.start())
    }

    /// The open time in ticks, drawn by lot, if it ends later than the one that runs.
    fn later(&self, range: &RangeInclusive<u64>) -> Option<u64> {
        let Mode::Open { began, lasts, .. } = self.mode else {
            return None;
        };
        // What has passed is no later than now.
        let left = (lasts.cast_signed() - self.seen(self.stamp(), began)).max(0);
        let is_later = |wanted: &u64| wanted.cast_signed() > left;
        // The lot is when the real one opens again: it was drawn only if that is later than before.
        self.lot
            .filter(|lot| range.contains(lot) && is_later(lot))
            .or(Some(*range.start()).filter(is_later))
    }
}
