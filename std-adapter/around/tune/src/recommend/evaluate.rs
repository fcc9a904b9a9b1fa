// SPDX-License-Identifier: MIT OR Apache-2.0
//! The costs that settings would have had, by fold.

use crate::simulate::Figures;
use atomic_breaker::Config;
use atomic_breaker_server::RegistryError;

use super::found::{Evaluation, OutageCost};
use super::weights::Weights;
use crate::log::{CallLog, Ends, Incident, folds_of};
use crate::replay::Replay;

/// Returns whether a fold is kept from the search: that of every third outage.
pub(super) const fn is_held_out(fold: usize) -> bool {
    fold > 0 && fold.is_multiple_of(3)
}

/// Replays of a log that is divided into folds.
#[derive(Debug)]
pub(super) struct Evaluator<'l> {
    replay: &'l Replay,
    pub(super) weights: Weights,
    log: &'l CallLog,
    folds: usize,
    ends: Ends,
    /// The number of runs. A probe comes just before a recovery or just after it by luck: in small logs the mean of
    /// several runs counts, each with other jitter.
    runs: u64,
}

/// The number of calls that the runs of a small log have together, and the largest number of runs.
const RUN_CALLS: u64 = 500_000;
const MOST_RUNS: u64 = 4;

impl<'l> Evaluator<'l> {
    pub(super) fn new(
        replay: &'l Replay,
        weights: Weights,
        log: &'l CallLog,
        folds: usize,
    ) -> Self {
        Self {
            replay,
            weights,
            log,
            folds,
            ends: Ends::of(&log.calls, replay.breakers),
            runs: (RUN_CALLS / log.calls.len().max(1) as u64).clamp(1, MOST_RUNS),
        }
    }

    pub(super) const fn seed(&self) -> u64 {
        self.replay.seed
    }

    /// The cost of the log without a breaker.
    pub(super) fn without(&self) -> Figures {
        self.replay.without(self.log)
    }

    /// The sums of all runs by fold, and how often breakers opened.
    fn by_fold(&self, config: &Config) -> Result<(Vec<Figures>, u64), RegistryError> {
        let (mut sums, mut trips) = (vec![Figures::default(); self.folds], 0);
        for run in 0..self.runs {
            let replay = self.replay.seed(self.replay.seed.wrapping_add(run));
            let (mut folds, changes) = replay.by_fold(Some(config), self.log, self.folds)?;
            self.ends.charge(&changes, &mut folds);
            trips += changes.iter().filter(|change| change.is_trip()).count() as u64;
            for (sum, figures) in sums.iter_mut().zip(folds) {
                *sum += figures;
            }
        }
        Ok((sums, trips))
    }

    /// The mean of all runs of their sum, rounded.
    fn mean(&self, mut sum: Figures) -> Figures {
        let runs = self.runs;
        for count in [
            &mut sum.calls,
            &mut sum.rejected,
            &mut sum.wasted,
            &mut sum.wasted_us,
            &mut sum.healthy_rejected,
            &mut sum.rejected_after_end,
            &mut sum.useful,
        ] {
            *count = (*count + runs / 2) / runs;
        }
        sum
    }

    pub(super) fn evaluate(&self, config: &Config) -> Result<Evaluation, RegistryError> {
        let (mut tuned_on, mut checked_on) = (Figures::default(), Figures::default());
        let (by_fold, trips) = self.by_fold(config)?;
        for (fold, figures) in by_fold.into_iter().enumerate() {
            if is_held_out(fold) {
                checked_on += figures;
            } else {
                tuned_on += figures;
            }
        }
        let (tuned_on, checked_on) = (self.mean(tuned_on), self.mean(checked_on));
        let mut all = tuned_on;
        all += checked_on;
        Ok(Evaluation {
            config: *config,
            all,
            tuned_on,
            checked_on,
            trips: trips.div_ceil(self.runs),
            cost: self.weights.cost(&all),
        })
    }

    /// The cost of each outage without a breaker, and with these settings.
    pub(super) fn outages(&self, config: &Config, incidents: &[Incident]) -> Vec<OutageCost> {
        let numbers = folds_of(incidents);
        // Where there are more outages than numbers, several outages have the same one.
        if numbers.is_sorted() {
            let without = self.replay.by_fold(None, self.log, self.folds);
            if let (Ok((without, _)), Ok((with, _))) = (without, self.by_fold(config)) {
                let mut begin = 0;
                let outages = numbers.chunk_by(|one, next| one == next);
                return outages
                    .map(|incidents| {
                        let fold = usize::from(incidents[0]);
                        let without = without[fold];
                        let end = begin + incidents.len();
                        OutageCost {
                            incidents: std::mem::replace(&mut begin, end)..end,
                            without,
                            cost_without: self.weights.cost(&without),
                            cost: self.weights.cost(&self.mean(with[fold])),
                        }
                    })
                    .collect();
            }
        }
        Vec::new()
    }
}
