// SPDX-License-Identifier: MIT OR Apache-2.0
//! The settings of several numbers: what trips, how the open time grows, how traffic returns; the share of failures among
//! the last calls, or within a time.

use core::time::Duration;

use crate::number::{by_hundred, byte, half, ms};

/// The events that the word counts while closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TripRule {
    /// [Failures with no success between them](super::Config::consecutive_failures).
    Consecutive {
        /// So many trip.
        failures: u32,
    },
    /// [Failures with no success between them](super::Config::consecutive_failures), the first of which is at least
    /// [so long ago](super::Config::lasting).
    Lasting {
        /// So many trip.
        failures: u32,
        /// The shortest time since the first of them, in milliseconds.
        lasting_ms: u32,
    },
    /// [Failures since the first one of a window](super::Config::failures_within), even with successes between them.
    Within {
        /// So many trip.
        failures: u32,
        /// The length of a window, in milliseconds.
        window_ms: u32,
    },
    /// Nothing: [the tally alone decides](super::Config::tally_only).
    TallyOnly,
}

/// The pace at which traffic [returns](super::Config::gradual_return).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
#[non_exhaustive]
pub struct GradualReturn {
    /// The share of the calls that passes at first, in percent.
    pub first_percent: u8,
    /// The time until all calls pass, in milliseconds.
    pub over_ms: u32,
}

impl GradualReturn {
    /// From a share in percent (1 to 100), over a time in milliseconds: what [`Config::gradual_return`] sets.
    ///
    /// [`Config::gradual_return`]: super::Config::gradual_return
    pub const fn new(first_percent: u32, over_ms: u32) -> Self {
        Self {
            first_percent: byte(first_percent),
            over_ms,
        }
    }
}

/// The growth of open times: each is the one before, multiplied, then lengthened, up to a maximum. Made by
/// [`Config::exponential`](super::Config::exponential) and [`Config::linear`](super::Config::linear).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Growth {
    /// In 256ths.
    factor: u32,
    step_ms: u32,
    /// The longest open time without jitter, in milliseconds.
    pub max_ms: u32,
}

impl Growth {
    /// By a factor in percent, up to a maximum in milliseconds: what [`Config::exponential_percent`] sets.
    ///
    /// [`Config::exponential_percent`]: super::Config::exponential_percent
    pub const fn exponential(percent: u32, max_ms: u32) -> Self {
        // In 256ths, rounded up.
        let (whole, rest) = by_hundred(percent);
        let part = by_hundred(rest * 256 + PERCENT - 1).0;
        let factor = match whole.checked_mul(256) {
            Some(whole) => whole.saturating_add(part),
            // What the largest percentage that fits gives, so that it is the same after it was written and read.
            None => u32::MAX - 1,
        };
        Self {
            factor,
            step_ms: 0,
            max_ms,
        }
    }

    /// By a step, up to a maximum, both in milliseconds: what [`Config::linear`](super::Config::linear) sets.
    pub const fn linear(step_ms: u32, max_ms: u32) -> Self {
        Self {
            factor: 256,
            step_ms,
            max_ms,
        }
    }

    /// The factor in percent, as it was set; `None` for linear growth.
    pub const fn percent(self) -> Option<u32> {
        match self.step_ms {
            0 => Some((self.factor as u64 * 100 / 256) as u32),
            _ => None,
        }
    }

    /// The step of linear growth in milliseconds.
    pub const fn step_ms(self) -> Option<u32> {
        match self.step_ms {
            0 => None,
            step_ms => Some(step_ms),
        }
    }

    /// Returns whether the open time grows at all.
    pub(crate) const fn grows(self) -> bool {
        self.factor > 256 || self.factor == 256 && self.step_ms > 0
    }

    /// `first_ms` after this many steps.
    // Once in flash.
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    pub(crate) const fn after(self, first_ms: u32, steps: u32) -> u32 {
        let mut ms = first_ms;
        let mut step = 0;
        while step < steps && ms < self.max_ms {
            let grown = ((ms as u64 * self.factor as u64) >> 8) + self.step_ms as u64;
            ms = if grown > self.max_ms as u64 {
                self.max_ms
            } else {
                grown as u32
            };
            step += 1;
        }
        ms
    }
}

/// By default: how many last calls are looked at, of which half must have been seen; or how many must be seen
/// within a time.
const DEFAULT_CALLS: u32 = 20;

/// 1 percent in basis points.
pub(crate) const PERCENT: u32 = 100;
/// All, in basis points.
pub(crate) const ALL: u32 = 10_000;

/// The share of failures that trips: of the last calls, or of those within a time; and that of slow calls, if they have one
/// of their own.
///
/// ```
/// use atomic_breaker::Ratio;
/// use core::time::Duration;
///
/// // Half of the last 20 calls, once 10 were seen.
/// const HALF: Ratio = Ratio::percent(50).of_last(20).min_calls(10);
/// // Half of the calls within the last 10 s, if there were 20.
/// const LATELY: Ratio = Ratio::percent(50).within(Duration::from_secs(10)).min_calls(20);
/// // One call in a thousand within the last minute, if there were 5,000.
/// const RARELY: Ratio = Ratio::basis_points(10).within(Duration::from_secs(60)).min_calls(5_000);
/// ```
///
/// [`LastCalls`](crate::LastCalls) remembers a number of calls, `SlidingRatio` of atomic-breaker-server a time. A breaker
/// whose tally does not fit is rejected when it is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub struct Ratio {
    /// Calls or milliseconds.
    pub(crate) amount: u32,
    pub(crate) min_calls: u16,
    /// The share, in basis points.
    pub(crate) points: u16,
    /// `true` if the minimum of calls was set.
    pub(crate) has_min_calls: bool,
    /// `true` if the share is taken of the calls within a time, not of the last calls.
    pub(crate) is_time: bool,
    /// The share of slow calls, in percent; 0 if they have none of their own.
    pub(crate) slow_percent: u8,
}

impl Ratio {
    /// Trips when at least `percent` (1 to 100) of the last 20 calls failed, once at least 10 have been seen.
    pub const fn percent(percent: u32) -> Self {
        Self::basis_points(percent.saturating_mul(PERCENT))
    }

    /// [`percent`](Self::percent) in hundredths of a percent: 1 to 10,000, so 10 means one call in a thousand.
    pub const fn basis_points(points: u32) -> Self {
        Self {
            amount: DEFAULT_CALLS,
            min_calls: half(DEFAULT_CALLS.div_ceil(2)),
            points: half(points),
            is_time: false,
            has_min_calls: false,
            slow_percent: 0,
        }
    }

    /// The number of calls that are looked at: at least 1, and at most what the memory holds, which for
    /// [`LastCalls`](crate::LastCalls) is 59, or 27 in a 32-bit word. Replaces [`within`](Self::within).
    ///
    /// For more calls take a share [within](Self::within) the time in which as many are usually made, and a minimum: the
    /// last 100 of a service that is called 10 times a second are `within(Duration::from_secs(10)).min_calls(100)`, or
    /// fewer, such as 50, so that it still trips when there are fewer calls.
    pub const fn of_last(self, calls: u32) -> Self {
        self.of(false, calls, calls.div_ceil(2))
    }

    /// Among the calls within the last `time`, rounded up to milliseconds: at least 1 ms, at most 2³¹ ms
    /// (24.8 days), or what the memory holds if that is less. Replaces [`of_last`](Self::of_last).
    #[doc(alias = "sliding window")]
    #[doc(alias = "rolling window")]
    pub const fn within(self, time: Duration) -> Self {
        self.of(true, ms(time), DEFAULT_CALLS)
    }

    const fn of(mut self, is_time: bool, amount: u32, default_min_calls: u32) -> Self {
        self.is_time = is_time;
        self.amount = amount;
        if !self.has_min_calls {
            self.min_calls = half(default_min_calls);
        }
        self
    }

    /// The number of calls that must have been seen, at least 1. Of the last calls at most [`of_last`](Self::of_last),
    /// by default half as many, rounded up; within a time at most 65,534, by default 20.
    ///
    /// A resource that sees fewer calls than that within the time never trips by its share: combine it with
    /// [`consecutive_failures`](crate::Config::consecutive_failures).
    #[doc(alias = "minimum number of calls")]
    pub const fn min_calls(mut self, calls: u32) -> Self {
        self.min_calls = half(calls);
        self.has_min_calls = true;
        self
    }

    /// Also trips when at least `percent` (1 to 100) of these calls were slow, once as many were seen: those that took as long
    /// as [`Config::slow_call`](crate::Config::slow_call) says, which has to be set. Slow calls that succeeded then count in
    /// this share only, and no longer as failures. For a memory that counts them, such as `SlidingRatio` of
    /// atomic-breaker-server.
    ///
    /// ```
    /// use atomic_breaker::{Config, Ratio};
    /// use core::time::Duration;
    ///
    /// // Half of the calls within 10 s failed, or 80 % took two seconds, if there were 20.
    /// const RATIO: Ratio = Ratio::percent(50).within(Duration::from_secs(10)).slow_percent(80);
    /// const SEARCH: Config = Config::new().failure_ratio(RATIO).slow_call(Duration::from_secs(2));
    /// # let _ = SEARCH;
    /// ```
    ///
    /// | a call that took as long | counts |
    /// |---|---|
    /// | succeeded | as slow; it ends a row of failures, as it has succeeded |
    /// | failed | as a failure, and as slow |
    /// | was dropped without a report | as slow; a row of failures goes on |
    /// | was a probe | as a failed probe |
    ///
    /// Without this share, slow calls count as failures of weight 1.
    #[doc(alias = "slow call rate threshold")]
    pub const fn slow_percent(mut self, percent: u32) -> Self {
        self.slow_percent = match percent {
            1..=100 => percent as u8,
            // Stands for anything else.
            _ => u8::MAX,
        };
        self
    }

    /// The share of slow calls that trips, in percent, if they have one of their own.
    pub const fn trips_at_slow_percent(self) -> Option<u32> {
        match self.slow_percent {
            0 => None,
            percent => Some(percent as u32),
        }
    }

    /// The share of failures that trips, in hundredths of a percent.
    pub const fn trips_at_basis_points(self) -> u32 {
        self.points as u32
    }

    /// The share in percent, if it is a whole number.
    #[cfg(feature = "serde")]
    pub(crate) fn whole_percent(self) -> Option<u32> {
        let points = self.trips_at_basis_points();
        points.is_multiple_of(PERCENT).then_some(points / PERCENT)
    }

    /// The number of calls that are looked at, if it is a share of the last calls.
    pub const fn calls(self) -> Option<u32> {
        if self.is_time {
            None
        } else {
            Some(self.amount)
        }
    }

    /// The number of milliseconds that are looked at, if it is a share within a time.
    pub const fn within_ms(self) -> Option<u32> {
        if self.is_time {
            Some(self.amount)
        } else {
            None
        }
    }

    /// The number of calls that must have been seen.
    pub const fn needed_calls(self) -> u32 {
        self.min_calls as u32
    }

    /// Returns whether this many failures among this many calls trip.
    #[inline]
    pub const fn is_reached(self, seen: u32, failed: u32) -> bool {
        seen >= self.needed_calls()
            && failed as u64 * ALL as u64 >= seen as u64 * self.points as u64
    }
}
