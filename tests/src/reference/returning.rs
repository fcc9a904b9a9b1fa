// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traffic that returns, and trips that are kept.

use super::{Mode, Reference, Trip};

impl Reference {
    /// The tick in which traffic began to return.
    pub(super) fn returning_since(&self) -> u64 {
        let Mode::Returning { began, .. } = self.mode else {
            return 0;
        };
        match self.age_when_reached() {
            Some(age) => began.wrapping_sub(age),
            None => began,
        }
    }

    /// The age of the return, in ticks.
    pub(super) fn return_age(&self) -> u64 {
        self.age(self.returning_since()).max(0).cast_unsigned()
    }

    /// Returns whether trips have been kept for long enough.
    pub(super) fn is_returned(&self) -> bool {
        self.return_age() >= self.rules.trips_kept_for(self.trips)
    }

    /// The age of the return, in ticks, when a row of failures had reached its limit, if there is one that must last.
    pub(super) fn age_when_reached(&self) -> Option<u64> {
        let Mode::Returning { failures, .. } = self.mode else {
            return None;
        };
        let most = self.rules.grain.most_lasting;
        match self.rules.trip {
            Trip::Lasting(..) if self.rules.keep_trips() && failures > most => {
                Some(u64::from(failures - most - 1) * self.unit())
            }
            _ => None,
        }
    }

    /// The unit in which the word keeps that age, in ticks: the smallest power of two with which it holds the whole return.
    fn unit(&self) -> u64 {
        let whole = self.rules.trips_kept_for(self.trips);
        let mut unit = 1;
        while whole / unit > u64::from(self.rules.grain.most_lasting) {
            unit *= 2;
        }
        unit
    }

    /// Counts a failure of a row that must last, while traffic returns. Returns whether it trips.
    pub(super) fn count_while_returning(&mut self, weight: u32, limit: u32, lasting: u64) -> bool {
        let now = self.stamp();
        let has_reached = self.age_when_reached().is_some();
        let most = self.rules.grain.most_lasting;
        let units = self
            .seen(now, self.returning_since())
            .max(0)
            .cast_unsigned()
            / self.unit();
        let Mode::Returning { failures, began } = &mut self.mode else {
            return false;
        };
        if has_reached {
            let began = *began;
            return self.age(began) >= lasting.cast_signed();
        }
        *failures += weight;
        if *failures < limit {
            return false;
        }
        *failures = most + 1 + u32::try_from(units).map_or(most, |units| units.min(most));
        *began = now;
        lasting == 0
    }
}
