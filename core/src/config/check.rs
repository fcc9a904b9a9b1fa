//! What a configuration must satisfy.

use super::error::{ConfigError, Kind};
use super::{Config, TripRule};
use crate::word::Layout;

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
const fn by_width(layout: Layout, wide: Kind, narrow: Kind) -> Kind {
    if layout.has_fixed_tick() {
        wide
    } else {
        narrow
    }
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
        Some(limit) if limit > u32::MAX / 2 => Some(Kind::SlowLimitTooLong),
        _ => None,
    }
}

/// The longest time that the word can tell, in milliseconds.
const fn longest_ms(config: &Config, layout: Layout) -> u32 {
    layout.max_ticks() << config.tick_log2(layout)
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
        return Some(by_width(layout, Kind::FailuresWide, Kind::FailuresNarrow));
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
        return Some(by_width(layout, Kind::ProbesWide, Kind::ProbesNarrow));
    }
    if config.needed_successes() < config.probes {
        return Some(Kind::CloseAfterBelowProbes);
    }
    if config.needed_successes() > layout.max_probes() {
        return Some(by_width(
            layout,
            Kind::CloseAfterWide,
            Kind::CloseAfterNarrow,
        ));
    }
    if config.probe_lease_ms == 0 {
        return Some(Kind::NoLease);
    }
    if config.probe_lease_ms > longest_ms {
        return Some(Kind::LeaseTooLong);
    }
    None
}
