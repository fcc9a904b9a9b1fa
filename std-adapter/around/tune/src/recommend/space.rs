// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search space: the settings among which the search chooses, a list of values for each.

use std::time::Duration;

use atomic_breaker::{Config, Ratio, TripRule};

/// A value of a setting.
pub(super) struct SettingValue {
    /// The complexity: how much there is to understand.
    complexity: u32,
    set: Box<dyn Fn(Config) -> Config + Send + Sync>,
}

fn value(complexity: u32, set: impl Fn(Config) -> Config + Send + Sync + 'static) -> SettingValue {
    SettingValue {
        complexity,
        set: Box::new(set),
    }
}

/// The number of settings: the trip, slow calls, the open time and its growth, probes, the gradual return, and how long
/// a row must last.
pub(super) const SETTINGS: usize = 7;
const TRIP: usize = 0;
const OPEN: usize = 2;
const LASTING: usize = 6;

/// A candidate: one value of each setting, by its place in the list.
pub(super) type Candidate = [u16; SETTINGS];

/// The values of each setting, similar ones beside each other. They are set in the order of the settings.
pub(super) struct SearchSpace {
    pub(super) settings: [Vec<SettingValue>; SETTINGS],
}

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The rules that trip. A ratio stands alone: beside it, a number of failures in a row would be a second rule.
fn trips() -> Vec<SettingValue> {
    let mut trips = Vec::new();
    for failures in [2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50] {
        trips.push(value(0, move |it| it.consecutive_failures(failures)));
    }
    for within in [1, 10, 60] {
        for failures in [5, 10, 20, 50] {
            trips.push(value(2, move |it| {
                it.failures_within(failures, secs(within))
            }));
        }
    }
    for percent in [30, 50, 70] {
        for calls in [10, 20, 50] {
            let ratio = Ratio::percent(percent)
                .of_last(calls)
                .min_calls(calls.div_ceil(2));
            trips.push(value(3, move |it| it.tally_only().failure_ratio(ratio)));
        }
    }
    for percent in [20, 30, 50, 70] {
        for within in [2, 10, 30] {
            for calls in [10, 20, 50] {
                let ratio = Ratio::percent(percent)
                    .within(secs(within))
                    .min_calls(calls);
                trips.push(value(4, move |it| it.tally_only().failure_ratio(ratio)));
            }
        }
    }
    trips
}

/// Times for which a row of failures must last; another rule stays as it is.
fn lasting() -> Vec<SettingValue> {
    let lasting = [50, 100, 250, 500, 1_000].map(|ms| {
        value(1, move |it: Config| {
            if is_row(&it) {
                it.lasting(Duration::from_millis(ms))
            } else {
                it
            }
        })
    });
    let mut values = vec![value(0, |it| it)];
    values.extend(lasting);
    values
}

const fn is_row(config: &Config) -> bool {
    matches!(
        config.trip,
        TripRule::Consecutive { .. } | TripRule::Lasting { .. }
    )
}

/// Growth in percent, and to how many times the open time: each can be reached.
const GROWTHS: [(u32, u32); 9] = [
    (110, 4),
    (110, 8),
    (125, 4),
    (125, 8),
    (125, 30),
    (200, 2),
    (200, 4),
    (200, 8),
    (200, 30),
];

impl SearchSpace {
    /// The whole space, with these limits for slow calls beside none.
    pub(super) fn new(slow: impl IntoIterator<Item = Duration>) -> Self {
        let unset = || vec![value(0, |it| it)];
        let (mut slow_calls, mut growth, mut probes, mut returns) =
            (unset(), unset(), unset(), unset());
        for limit in slow {
            slow_calls.push(value(2, move |it| it.slow_call(limit)));
        }
        let open = [
            100, 200, 350, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000, 20_000, 30_000,
            60_000,
        ];
        let open = open.map(|ms| value(0, move |it| it.open_for(Duration::from_millis(ms))));
        for (percent, times) in GROWTHS {
            growth.push(value(1, move |it| {
                let max = Duration::from_millis(it.open_for_ms.into()) * times;
                it.exponential_percent(percent, max)
            }));
        }
        for (at_once, successes) in [(1, 2), (1, 3), (2, 2), (3, 3), (3, 6), (5, 5)] {
            probes.push(value(1, move |it| {
                it.probes(at_once).close_after(successes)
            }));
        }
        for (percent, over) in [(50, 2), (25, 5), (10, 10), (10, 30)] {
            returns.push(value(2, move |it| it.gradual_return(percent, secs(over))));
        }
        Self {
            settings: [
                trips(),
                slow_calls,
                open.into(),
                growth,
                probes,
                returns,
                lasting(),
            ],
        }
    }

    /// The number of values that each setting has.
    pub(super) fn lengths(&self) -> [usize; SETTINGS] {
        self.settings.each_ref().map(Vec::len)
    }

    /// A candidate with every value of every setting in turn.
    pub(super) fn varied(&self, candidate: Candidate) -> impl Iterator<Item = Candidate> {
        let settings = self.lengths().into_iter().enumerate();
        settings.flat_map(move |(setting, length)| {
            (0..length).map(move |value| {
                let mut candidate = candidate;
                candidate[setting] = value as u16;
                candidate
            })
        })
    }

    /// The candidate that the search begins with: nearest to the defaults.
    pub(super) fn middle(&self) -> Candidate {
        let place = |setting: usize, is_usual: fn(Config) -> bool| {
            let mut values = self.settings[setting].iter();
            let place = values.position(|value| is_usual((value.set)(Config::new())));
            place.unwrap_or(0) as u16
        };
        let mut middle = [0; SETTINGS];
        middle[TRIP] = place(TRIP, |it| it == Config::new().consecutive_failures(5));
        middle[OPEN] = place(OPEN, |it| it.open_for_ms >= 1_000);
        middle
    }

    /// A candidate with the same settings, and nothing set that has no effect: only a row can last.
    pub(super) fn canonical(&self, mut candidate: Candidate) -> Candidate {
        let trip = &self.settings[TRIP][usize::from(candidate[TRIP])];
        if !is_row(&(trip.set)(Config::new())) {
            candidate[LASTING] = 0;
        }
        candidate
    }

    fn values(&self, candidate: Candidate) -> impl Iterator<Item = &SettingValue> {
        let settings = self.settings.iter().zip(candidate);
        settings.map(|(values, place)| &values[usize::from(place)])
    }

    /// The settings of a candidate. They always fit a 64-bit word.
    pub(super) fn config(&self, candidate: Candidate) -> Config {
        // What a log cannot show: other instances must not return in step with this one.
        let base = Config::new().jitter_percent(20);
        self.values(candidate)
            .fold(base, |config, value| (value.set)(config))
    }

    /// The complexity, or how much there is to understand: of two candidates that are as good, the simpler one is
    /// taken.
    pub(super) fn complexity(&self, candidate: Candidate) -> u32 {
        self.values(candidate).map(|value| value.complexity).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atomic_breaker::Rules;

    #[test]
    fn every_value_of_every_setting_fits() {
        let space = SearchSpace::new([Duration::from_millis(1), secs(60)]);
        for first in space.varied(space.middle()) {
            for candidate in space.varied(first) {
                let config = space.config(candidate);
                assert!(Rules::<u64>::try_new(config).is_ok(), "{config:?}");
            }
        }
    }
}
