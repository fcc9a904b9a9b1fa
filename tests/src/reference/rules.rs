// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of a breaker.

use std::ops::RangeInclusive;
use std::time::Duration;

use atomic_breaker::Config;

use super::Grain;

/// The rules of a breaker, and the precision of its word. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    pub trip: Trip,
    pub ratio: Option<Ratio>,
    pub slow: Option<u64>,
    pub open_for: u64,
    pub growth: Option<Growth>,
    /// The percentage and the seed.
    pub jitter: (u64, u32),
    pub max_retry_after: Option<u64>,
    pub probes: usize,
    pub close_after: u32,
    pub lease: u64,
    pub cancel_limit: u64,
    pub returning: Option<Return>,
    pub grain: Grain,
}

/// The rule by which failures trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trip {
    InARow(u32),
    /// Failures in a row, the first of them at least this long ago.
    Lasting(u32, u64),
    Within(u32, u64),
    /// Only the failure ratio trips.
    ByRatio,
}

/// The share of the last calls that trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    pub percent: u32,
    pub of_last: usize,
    pub min_calls: Option<usize>,
}

/// The growth of the open time, up to a maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Growth {
    /// Growth by a whole factor.
    Times(u64, u64),
    /// Growth by a factor in percent.
    Percent(u64, u64),
    /// Growth by a step.
    Plus(u64, u64),
}

/// A gradual return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Return {
    pub first_percent: u64,
    pub over: u64,
}

/// Without a setting, a failure may demand at most 5 minutes.
const MAX_RETRY_AFTER: u64 = 5 * 60 * 1_000;

impl Rules {
    /// The same rules for the real breaker.
    pub fn config(&self) -> Config {
        let ms = Duration::from_millis;
        let mut config = Config::new()
            .open_for(ms(self.open_for))
            .probes(self.probes as u32)
            .close_after(self.close_after)
            .probe_lease(ms(self.lease))
            .cancel_limit(ms(self.cancel_limit))
            .jitter_percent(self.jitter.0 as u32)
            .seed(self.jitter.1);
        config = match self.trip {
            Trip::InARow(failures) => config.consecutive_failures(failures),
            Trip::Lasting(failures, time) => {
                config.consecutive_failures(failures).lasting(ms(time))
            }
            Trip::Within(failures, window) => config.failures_within(failures, ms(window)),
            Trip::ByRatio => config.tally_only(),
        };
        if let Some(ratio) = self.ratio {
            config = config.failure_ratio(ratio.setting());
        }
        config = match self.growth {
            Some(Growth::Times(factor, max)) => config.exponential(factor as u32, ms(max)),
            Some(Growth::Percent(percent, max)) => {
                config.exponential_percent(percent as u32, ms(max))
            }
            Some(Growth::Plus(step, max)) => config.linear(ms(step), ms(max)),
            None => config,
        };
        if let Some(back) = self.returning {
            config = config.gradual_return(back.first_percent as u32, ms(back.over));
        }
        if let Some(limit) = self.max_retry_after {
            config = config.max_retry_after(ms(limit));
        }
        if let Some(limit) = self.slow {
            config = config.slow_call(ms(limit));
        }
        config
    }

    /// The shortest and the longest open time of a trip, in ticks from now on.
    pub(super) fn open_ticks(&self, trips: u32, at_least: u64) -> RangeInclusive<u64> {
        self.with_jitter(self.own_open_time(trips).max(at_least))
    }

    /// The open time without a demand, in milliseconds.
    fn own_open_time(&self, trips: u32) -> u64 {
        let mut open = self.open_for;
        for _ in 1..trips {
            open = self.growth.map_or(open, |growth| growth.after(open));
        }
        open
    }

    /// Returns whether trips are kept for a while when probes have succeeded.
    pub(super) fn keep_trips(&self) -> bool {
        self.growth.is_some() || self.returning.is_some()
    }

    /// The time for which they are kept, in ticks: until the return is over, and as long as it was
    /// last open.
    pub(super) fn trips_kept_for(&self, trips: u32) -> u64 {
        let return_time = self.returning.map_or(0, |back| back.over);
        let open_time = match self.growth {
            Some(_) => self.own_open_time(trips),
            None => 0,
        };
        self.grain.up(return_time.max(open_time))
    }

    /// A failure's demand, cut to the limit.
    pub(super) fn allowed(&self, ms: u64) -> u64 {
        let limit = MAX_RETRY_AFTER.min(self.grain.longest_ms());
        ms.min(self.max_retry_after.unwrap_or(limit))
    }

    /// The shortest and the longest time, in ticks, that may be drawn for this many milliseconds.
    pub(super) fn with_jitter(&self, ms: u64) -> RangeInclusive<u64> {
        let shortest = self.grain.up(ms).min(self.grain.longest);
        let jittered = (shortest * (100 + self.jitter.0)).div_ceil(100);
        shortest..=jittered.min(self.grain.longest)
    }
}

impl Growth {
    /// The open time after the given one.
    pub fn after(self, open: u64) -> u64 {
        match self {
            Self::Times(factor, max) => (open * factor).min(max),
            // The factor is stored in 256ths, rounded up.
            Self::Percent(percent, max) => {
                let factor = (percent * 256).div_ceil(100);
                (open * factor / 256).min(max)
            }
            Self::Plus(step, max) => (open + step).min(max),
        }
    }

    /// The maximum.
    pub fn max(self) -> u64 {
        match self {
            Self::Times(_, max) | Self::Percent(_, max) | Self::Plus(_, max) => max,
        }
    }
}

impl Ratio {
    fn setting(self) -> atomic_breaker::Ratio {
        let ratio = atomic_breaker::Ratio::percent(self.percent).of_last(self.of_last as u32);
        match self.min_calls {
            Some(calls) => ratio.min_calls(calls as u32),
            None => ratio,
        }
    }

    /// Returns whether the outcomes of the last calls reach the ratio. `true` is a failure.
    pub(super) fn is_reached(self, last: &[bool]) -> bool {
        let failed = last.iter().filter(|failed| **failed).count();
        let min_calls = self.min_calls.unwrap_or(self.of_last.div_ceil(2));
        last.len() >= min_calls && failed * 100 >= last.len() * self.percent as usize
    }
}

impl Return {
    /// The length of the return, in ticks.
    pub(super) fn ticks(self, grain: Grain) -> u64 {
        grain.up(self.over)
    }
}
