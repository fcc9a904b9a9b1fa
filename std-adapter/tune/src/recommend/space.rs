//! The search space: the settings among which the search chooses, a list of values for each.

use std::time::Duration;

use atomic_breaker::{Config, Ratio};

/// What trips, and how many calls it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Trip {
    InARow(u32),
    Within(u32, Duration),
    OfLast(u32, u32),
    OverTime(u32, Duration, u32),
}

/// How the open time grows, as a factor and how many times as long as the first it becomes at the most.
pub(super) type GrowthSteps = Option<(u32, u32)>;

/// A gradual return: the first share in percent, and its length.
pub(super) type Return = Option<(u32, Duration)>;

/// The values of each setting, similar ones beside each other.
#[derive(Clone, Debug)]
pub(super) struct SearchSpace {
    pub(super) trips: Vec<Trip>,
    pub(super) slow: Vec<Option<Duration>>,
    pub(super) open: Vec<Duration>,
    pub(super) growth: Vec<GrowthSteps>,
    pub(super) probes: Vec<(u32, u32)>,
    pub(super) returns: Vec<Return>,
}

pub(super) const SETTINGS: usize = 6;

/// A candidate: one value of each setting, by its place in the list.
pub(super) type Candidate = [u16; SETTINGS];

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

impl SearchSpace {
    /// The whole space, with these limits for slow calls beside none.
    pub(super) fn new(slow: impl IntoIterator<Item = Duration>) -> Self {
        let mut trips = Vec::new();
        trips.extend([2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50].map(Trip::InARow));
        for within in [1, 10, 60] {
            trips.extend([5, 10, 20, 50].map(|failures| Trip::Within(failures, secs(within))));
        }
        for percent in [30, 50, 70] {
            trips.extend([10, 20, 50].map(|calls| Trip::OfLast(percent, calls)));
        }
        for percent in [20, 30, 50, 70] {
            for within in [2, 10, 30] {
                trips.extend([10, 20, 50].map(|min| Trip::OverTime(percent, secs(within), min)));
            }
        }
        let open = [
            100, 200, 350, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000, 20_000, 30_000,
            60_000,
        ];
        Self {
            trips,
            slow: [None]
                .into_iter()
                .chain(slow.into_iter().map(Some))
                .collect(),
            open: open.map(Duration::from_millis).to_vec(),
            growth: vec![
                None,
                Some((2, 2)),
                Some((2, 4)),
                Some((2, 8)),
                Some((2, 30)),
            ],
            probes: vec![(1, 1), (1, 2), (1, 3), (2, 2), (3, 3), (3, 6), (5, 5)],
            returns: vec![
                None,
                Some((50, secs(2))),
                Some((25, secs(5))),
                Some((10, secs(10))),
                Some((10, secs(30))),
            ],
        }
    }

    /// How many values each setting has.
    pub(super) fn lengths(&self) -> [usize; SETTINGS] {
        [
            self.trips.len(),
            self.slow.len(),
            self.open.len(),
            self.growth.len(),
            self.probes.len(),
            self.returns.len(),
        ]
    }

    /// The candidate that the search begins with: nearest to the defaults.
    pub(super) fn middle(&self) -> Candidate {
        let place = |found: Option<usize>| found.unwrap_or(0) as u16;
        let trip = Trip::InARow(5);
        [
            place(self.trips.iter().position(|it| *it == trip)),
            0,
            place(self.open.iter().position(|it| *it >= secs(1))),
            0,
            0,
            0,
        ]
    }

    /// The settings of a candidate. They always fit a 64-bit word.
    pub(super) fn config(&self, candidate: Candidate) -> Config {
        let [trip, slow, open, growth, probes, returns] = candidate.map(usize::from);
        // What a log cannot show: other instances must not return in step with this one.
        let mut config = Config::new().jitter_percent(20);
        // A ratio stands alone: beside it, a number of failures in a row would be a second rule.
        let ratio = Ratio::percent;
        config = match self.trips[trip] {
            Trip::InARow(failures) => config.consecutive_failures(failures),
            Trip::Within(failures, time) => config.failures_within(failures, time),
            Trip::OfLast(percent, calls) => config
                .tally_only()
                .failure_ratio(ratio(percent).of_last(calls).min_calls(calls.div_ceil(2))),
            Trip::OverTime(percent, time, min) => config
                .tally_only()
                .failure_ratio(ratio(percent).within(time).min_calls(min)),
        };
        if let Some(limit) = self.slow[slow] {
            config = config.slow_call(limit);
        }
        config = config.open_for(self.open[open]);
        if let Some((factor, times)) = self.growth[growth] {
            config = config.exponential(factor, self.open[open] * times);
        }
        let (at_once, successes) = self.probes[probes];
        if (at_once, successes) != (1, 1) {
            config = config.probes(at_once).close_after(successes);
        }
        if let Some((percent, time)) = self.returns[returns] {
            config = config.gradual_return(percent, time);
        }
        config
    }

    /// How much there is to understand: of two candidates that are as good, the simpler one is taken.
    pub(super) fn complexity(&self, candidate: Candidate) -> u32 {
        let trip = match self.trips[usize::from(candidate[0])] {
            Trip::InARow(_) => 0,
            Trip::Within(..) => 2,
            Trip::OfLast(..) => 3,
            Trip::OverTime(..) => 4,
        };
        let set = |setting: usize, cost: u32| if candidate[setting] == 0 { 0 } else { cost };
        trip + set(1, 2) + set(3, 1) + set(4, 1) + set(5, 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atomic_breaker::Rules;

    #[test]
    fn every_value_of_every_setting_fits() {
        let space = SearchSpace::new([Duration::from_millis(1), secs(60)]);
        let lengths = space.lengths();
        for first in 0..SETTINGS {
            for second in 0..SETTINGS {
                for a in 0..lengths[first] {
                    for b in 0..lengths[second] {
                        let mut candidate = space.middle();
                        candidate[first] = a as u16;
                        candidate[second] = b as u16;
                        let config = space.config(candidate);
                        assert!(Rules::<u64>::try_new(config).is_ok(), "{config:?}");
                    }
                }
            }
        }
    }
}
