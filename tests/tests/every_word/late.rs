// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a report may still do whose permit was granted in an earlier epoch.

use atomic_breaker::{Outcome, Token};

use crate::form::Form;
use crate::operations::{Case, OUTCOMES};
use crate::spec::{Kind, MOST_LOST, Meaning};

/// Of what a permit that has ended says something.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    Nothing,
    /// Of the open time that has just begun.
    HowLong,
    /// Of the half-open time that still runs: its probe lost its slot.
    WhetherWell,
}

impl<F: Form> Case<'_, F> {
    pub(crate) fn late_reports(&mut self) {
        if self.is_corrupt {
            return;
        }
        for (granted, says) in self.ended() {
            for outcome in OUTCOMES {
                self.late_report(granted, says, outcome);
            }
        }
    }

    /// Words with which a call was granted that has ended since.
    fn ended(&self) -> Vec<(u64, Says)> {
        let before = &self.before;
        let at = |epochs: u64, state: u64, trips: u32| {
            let epoch = (before.epoch + F::EPOCHS - epochs) % F::EPOCHS;
            epoch << F::EPOCH_AT | u64::from(trips) << F::STATE | state
        };
        let is_half_open = before.kind == Kind::HalfOpen;
        let mut ended: Vec<_> = (1..=u64::from(MOST_LOST) + 1)
            .map(|rounds| {
                let is_of_now = is_half_open && rounds <= u64::from(before.lost);
                let says = if is_of_now {
                    Says::WhetherWell
                } else {
                    Says::Nothing
                };
                (at(rounds, 2, before.trips), says)
            })
            .collect();
        if before.kind == Kind::Open {
            // Those in whose epoch it opened: closed, returning, half-open.
            let trips = before.trips - 1;
            ended.extend([0, 2].map(|state| (at(1, state, trips), Says::HowLong)));
            ended.extend([0, 2].map(|state| (at(2, state, trips), Says::Nothing)));
            if before.trips == F::MOST_TRIPS {
                // One more could not be counted.
                ended[0].1 = Says::HowLong;
            }
        }
        ended
    }

    fn late_report(&mut self, granted: u64, says: Says, outcome: Option<Outcome>) {
        self.begin();
        let permit = self.breaker.resume(Token::from_raw(F::of(granted), 0));
        let made = match outcome {
            Some(outcome) => permit.report(outcome),
            None => permit.cancel(),
        };
        let after = self.end("a late report", &[atomic_breaker::Cause::ProbesSucceeded]);
        let is_right = match (says, outcome) {
            (Says::WhetherWell, Some(Outcome::Success)) => {
                made.is_some() && self.is_well_enough() || self.counts_success(&after)
            }
            (Says::HowLong, Some(Outcome::Failure(failure)))
                if failure.min_open_time().is_some() =>
            {
                made.is_none() && self.stays_open(&after)
            }
            _ => made.is_none() && self.memory.bits() == self.word,
        };
        assert!(
            is_right,
            "{:?} with {granted:#x}, {outcome:?}: {made:?}, {after:?}",
            self.before
        );
    }

    fn is_well_enough(&self) -> bool {
        self.before.successes + 1 >= self.ruled.config.needed_successes()
    }

    /// One more success, and no slot is freed.
    fn counts_success(&self, after: &Meaning) -> bool {
        let counted = Meaning {
            successes: self.before.successes + 1,
            ..self.before
        };
        *after == counted && !self.is_well_enough()
    }

    /// Open for as long as it was, and as `OUTCOMES` demand.
    fn stays_open(&self, after: &Meaning) -> bool {
        let now = self.memory.now_ms.get();
        let left = |it: &Meaning| it.open_for.cast_signed() - it.age::<F>(now);
        let is_open = after.kind == Kind::Open && after.is_demanded;
        is_open && left(after) >= left(&self.before).max(40)
    }
}
