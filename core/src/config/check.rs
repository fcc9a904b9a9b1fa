//! What a configuration must satisfy, and what to do where it does not.

use core::fmt;

use super::{Config, TripRule};
use crate::time::Timeline;
use crate::word::Layout;

/// A configuration that does not fit the word.
///
/// The message names the setting, the limit and the way out. In a `const` or `static` it is the
/// message of the compile error.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ConfigError(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Kind {
    NoFailures,
    FailuresWide,
    FailuresNarrow,
    NoWindow,
    WindowTooLong,
    OpenTooLong,
    FactorTooSmall,
    MaxBelowOpen,
    MaxOutOfReach,
    JitterTooLarge,
    LongestWithJitter,
    RetryAfterTooLong,
    NoProbes,
    ProbesWide,
    ProbesNarrow,
    CloseAfterBelowProbes,
    CloseAfterWide,
    CloseAfterNarrow,
    NoLease,
    LeaseTooLong,
    NoSlowLimit,
    SlowLimitTooLong,
    TickTooLong,
    NobodyTrips,
    CallsWide,
    CallsNarrow,
    MinCalls,
    Percent,
}

impl ConfigError {
    pub(crate) const fn message(self) -> &'static str {
        match self.0 {
            Kind::NoFailures => {
                "a limit of 0 failures would trip before the first call: set at least 1"
            }
            Kind::FailuresWide => "a 64-bit word counts at most 65535 failures: lower the limit",
            Kind::FailuresNarrow => {
                "a 32-bit word counts at most 255 failures: lower the limit or take a 64-bit word"
            }
            Kind::NoWindow => {
                "a window of 0 holds no two failures: lengthen it or use consecutive_failures"
            }
            Kind::WindowTooLong => {
                "the window is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, \
                 raise tick_log2_ms or take a 64-bit word"
            }
            Kind::OpenTooLong => {
                "open_for is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, \
                 raise tick_log2_ms or take a 64-bit word"
            }
            Kind::FactorTooSmall => {
                "an open time that grows needs a factor of at least 2: raise it or leave out \
                 exponential"
            }
            Kind::MaxBelowOpen => {
                "the maximum of exponential lies below open_for: raise it or lower open_for"
            }
            Kind::MaxOutOfReach => {
                "the maximum of exponential is never reached, growth ends with the 31st trip in a \
                 row (the 7th in a 32-bit word): lower it, raise open_for or raise the factor"
            }
            Kind::JitterTooLarge => "jitter is at most 100 percent: lower it",
            Kind::LongestWithJitter => {
                "the longest open time, maximum and jitter included, is longer than 2^31 ms (2^14 \
                 ticks in a 32-bit word): lower one of them, raise tick_log2_ms or take a 64-bit \
                 word"
            }
            Kind::RetryAfterTooLong => {
                "max_retry_after, jitter included, is longer than 2^31 ms (2^14 ticks in a 32-bit \
                 word): lower it, raise tick_log2_ms or take a 64-bit word"
            }
            Kind::NoProbes => "with 0 probes an open breaker never closes: set at least 1",
            Kind::ProbesWide => "a 64-bit word holds at most 255 probes: lower probes",
            Kind::ProbesNarrow => {
                "a 32-bit word holds at most 15 probes: lower probes or take a 64-bit word"
            }
            Kind::CloseAfterBelowProbes => {
                "close_after lies below probes, but a half-open breaker admits no more probes than \
                 it still needs: lower probes or raise close_after"
            }
            Kind::CloseAfterWide => {
                "a 64-bit word counts at most 255 successes of probes: lower close_after"
            }
            Kind::CloseAfterNarrow => {
                "a 32-bit word counts at most 15 successes of probes: lower close_after or take a \
                 64-bit word"
            }
            Kind::NoLease => {
                "with a probe_lease of 0 every call would take the slot of the probe before: set \
                 it longer than the longest call"
            }
            Kind::LeaseTooLong => {
                "probe_lease is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, \
                 raise tick_log2_ms or take a 64-bit word"
            }
            Kind::NoSlowLimit => {
                "with a slow_call of 0 every call is slow: lengthen it or leave it out"
            }
            Kind::SlowLimitTooLong => "slow_call is longer than 2^31 ms: shorten it",
            Kind::TickTooLong => "tick_log2_ms is at most 16 (65.5 s): lower it",
            Kind::NobodyTrips => {
                "tally_only without a tally never trips: give Breaker::from_parts a tally or set a \
                 limit of failures"
            }
            Kind::CallsWide => "a 64-bit word remembers 1 to 59 calls: change calls",
            Kind::CallsNarrow => {
                "a 32-bit word remembers 1 to 27 calls: change calls or take a 64-bit word"
            }
            Kind::MinCalls => "min_calls must lie within 1 and calls: change one of them",
            Kind::Percent => "the share of failures must lie within 1 and 100 percent: change it",
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConfigError({:?}: {})", self.0, self.message())
    }
}

impl core::error::Error for ConfigError {}

pub(super) const fn check(config: &Config, layout: Layout) -> Result<(), ConfigError> {
    match first_fault(config, layout) {
        Some(kind) => Err(ConfigError(kind)),
        None => Ok(()),
    }
}

/// Checks that something can trip the breaker.
pub(crate) const fn check_rules(config: &Config, has_tally: bool) -> Result<(), ConfigError> {
    match config.trip {
        TripRule::TallyOnly if !has_tally => Err(ConfigError(Kind::NobodyTrips)),
        _ => Ok(()),
    }
}

/// Checks the numbers of a [`LastCalls`](crate::LastCalls) whose word remembers `max_calls`.
pub(crate) const fn check_tally(
    calls: u32,
    min_calls: u32,
    percent: u32,
    max_calls: u32,
) -> Result<(), ConfigError> {
    if calls == 0 || calls > max_calls {
        return Err(ConfigError(if max_calls > u32::BITS {
            Kind::CallsWide
        } else {
            Kind::CallsNarrow
        }));
    }
    if min_calls == 0 || min_calls > calls {
        return Err(ConfigError(Kind::MinCalls));
    }
    if percent == 0 || percent > 100 {
        return Err(ConfigError(Kind::Percent));
    }
    Ok(())
}

/// The kind for the word at hand.
const fn by_width(layout: Layout, wide: Kind, narrow: Kind) -> Option<Kind> {
    Some(if layout.has_fixed_tick() {
        wide
    } else {
        narrow
    })
}

const fn first_fault(config: &Config, layout: Layout) -> Option<Kind> {
    if config.tick_log2_ms > 16 {
        return Some(Kind::TickTooLong);
    }
    let longest_ms = longest_ms(config, layout);
    if let Some(kind) = trip_fault(config.trip, layout, longest_ms) {
        return Some(kind);
    }
    if let Some(kind) = open_fault(config, layout, longest_ms) {
        return Some(kind);
    }
    if let Some(kind) = probe_fault(config, layout, longest_ms) {
        return Some(kind);
    }
    match config.slow_call_ms {
        Some(0) => Some(Kind::NoSlowLimit),
        Some(limit) if limit > 1 << 31 => Some(Kind::SlowLimitTooLong),
        _ => None,
    }
}

/// The longest time that the word can tell, in milliseconds.
const fn longest_ms(config: &Config, layout: Layout) -> u32 {
    Timeline::new(layout, config).ms(layout.max_ticks())
}

const fn trip_fault(rule: TripRule, layout: Layout, longest_ms: u32) -> Option<Kind> {
    let failures = match rule {
        TripRule::Consecutive { failures } | TripRule::Within { failures, .. } => failures,
        TripRule::TallyOnly => return None,
    };
    if failures == 0 {
        return Some(Kind::NoFailures);
    }
    if failures > layout.max_failures() {
        return by_width(layout, Kind::FailuresWide, Kind::FailuresNarrow);
    }
    match rule {
        TripRule::Within { window_ms: 0, .. } => Some(Kind::NoWindow),
        TripRule::Within { window_ms, .. } if window_ms > longest_ms => Some(Kind::WindowTooLong),
        _ => None,
    }
}

const fn open_fault(config: &Config, layout: Layout, longest_ms: u32) -> Option<Kind> {
    if config.open_for_ms > longest_ms {
        return Some(Kind::OpenTooLong);
    }
    if config.jitter_percent > 100 {
        return Some(Kind::JitterTooLarge);
    }
    let mut longest = config.open_for_ms;
    if let Some(growth) = config.growth {
        if growth.factor < 2 {
            return Some(Kind::FactorTooSmall);
        }
        if growth.max_ms < config.open_for_ms {
            return Some(Kind::MaxBelowOpen);
        }
        let steps = layout.trips.max() - 1;
        let reach = config
            .open_for_ms
            .saturating_mul(growth.factor.saturating_pow(steps));
        if reach < growth.max_ms {
            return Some(Kind::MaxOutOfReach);
        }
        longest = growth.max_ms;
    }
    if with_jitter(longest, config.jitter_percent) > longest_ms as u64 {
        return Some(Kind::LongestWithJitter);
    }
    match config.max_retry_after_ms {
        Some(limit) if with_jitter(limit, config.jitter_percent) > longest_ms as u64 => {
            Some(Kind::RetryAfterTooLong)
        }
        _ => None,
    }
}

const fn with_jitter(ms: u32, percent: u32) -> u64 {
    ms as u64 + (ms as u64 * percent as u64).div_ceil(100)
}

const fn probe_fault(config: &Config, layout: Layout, longest_ms: u32) -> Option<Kind> {
    if config.probes == 0 {
        return Some(Kind::NoProbes);
    }
    if config.probes > layout.max_probes() {
        return by_width(layout, Kind::ProbesWide, Kind::ProbesNarrow);
    }
    if config.needed_successes() < config.probes {
        return Some(Kind::CloseAfterBelowProbes);
    }
    if config.needed_successes() > layout.max_probes() {
        return by_width(layout, Kind::CloseAfterWide, Kind::CloseAfterNarrow);
    }
    if config.probe_lease_ms == 0 {
        return Some(Kind::NoLease);
    }
    if config.probe_lease_ms > longest_ms {
        return Some(Kind::LeaseTooLong);
    }
    None
}
