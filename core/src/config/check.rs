//! What a configuration must satisfy.

use super::error::{ConfigError, Kind};
use super::ratio::{self, Of, Ratio};
use super::{Config, TripRule};
use crate::word::Layout;

pub(super) const fn check(config: &Config, layout: Layout) -> Result<(), ConfigError> {
    match first_fault(config, layout) {
        Some(kind) => Err(ConfigError(kind)),
        None => Ok(()),
    }
}

/// The longest time of a failure ratio: half the range of a clock.
const MAX_WITHIN_MS: u32 = 1 << 31;

/// What a tally offers: how many calls it remembers, for how long, and whether it has a rule of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) max_calls: u32,
    pub(crate) max_within_ms: u32,
    pub(crate) has_rule: bool,
}

impl Memory {
    pub(crate) const NONE: Self = Self {
        max_calls: 0,
        max_within_ms: 0,
        has_rule: false,
    };
}

/// Checks what the rules ask of the tally.
pub(crate) const fn check_memory(config: &Config, memory: Memory) -> Result<(), ConfigError> {
    let fault = match config.ratio {
        Some(ratio) => memory_fault(ratio, memory),
        None if matches!(config.trip, TripRule::TallyOnly) && !memory.has_rule => {
            Some(Kind::NobodyTrips)
        }
        None => None,
    };
    match fault {
        Some(kind) => Err(ConfigError(kind)),
        None => Ok(()),
    }
}

const fn memory_fault(ratio: Ratio, memory: Memory) -> Option<Kind> {
    let most = match ratio.of {
        Of::Calls | Of::CallsWithMin => memory.max_calls,
        Of::Time | Of::TimeWithMin => memory.max_within_ms,
    };
    if ratio.amount <= most {
        return None;
    }
    Some(match (ratio.of.is_time(), most) {
        (false, 0) if memory.max_within_ms > 0 => Kind::OnlyTimeRemembered,
        (false, 0) => Kind::NobodyRemembers,
        (false, _) => Kind::CallsBeyondMemory,
        (true, 0) => Kind::NoTimeRemembered,
        (true, _) => Kind::TimeBeyondMemory,
    })
}

const fn ratio_fault(ratio: Ratio) -> Option<Kind> {
    let is_time = ratio.of.is_time();
    if ratio.amount == 0 {
        return Some(if is_time { Kind::NoTime } else { Kind::NoCalls });
    }
    if is_time && ratio.amount > MAX_WITHIN_MS {
        return Some(Kind::TimeTooLong);
    }
    if is_time && ratio.min_calls == 0 {
        return Some(Kind::NoMinCalls);
    }
    // Stands for anything that a `u16` does not hold.
    if ratio.min_calls == u16::MAX {
        return Some(Kind::MinCallsTooLarge);
    }
    if !is_time && (ratio.min_calls == 0 || ratio.needed_calls() > ratio.amount) {
        return Some(Kind::MinCalls);
    }
    if ratio.points == 0 || ratio.points as u32 > ratio::ALL {
        return Some(Kind::Percent);
    }
    None
}

/// The kind for the word at hand.
const fn by_width(layout: Layout, wide: Kind, narrow: Kind) -> Kind {
    if layout.is_wide() { wide } else { narrow }
}

const fn first_fault(config: &Config, layout: Layout) -> Option<Kind> {
    let longest_ms = layout.max_ms();
    if let Some(kind) = trip_fault(config, layout, longest_ms) {
        return Some(kind);
    }
    if let Some(kind) = open_fault(config, layout, longest_ms) {
        return Some(kind);
    }
    if let Some(kind) = probe_fault(config, layout, longest_ms) {
        return Some(kind);
    }
    if let Some(back) = config.gradual_return {
        if back.first_percent == 0 || back.first_percent > 100 {
            return Some(Kind::FirstPercent);
        }
        if back.over_ms == 0 {
            return Some(Kind::NoReturn);
        }
        if back.over_ms > longest_ms {
            return Some(Kind::ReturnTooLong);
        }
    }
    match config.slow_call_ms {
        Some(0) => Some(Kind::NoSlowLimit),
        Some(limit) if limit > u32::MAX / 2 => Some(Kind::SlowLimitTooLong),
        _ => None,
    }
}

const fn trip_fault(config: &Config, layout: Layout, longest_ms: u32) -> Option<Kind> {
    if let Some(ratio) = config.ratio {
        if let Some(kind) = ratio_fault(ratio) {
            return Some(kind);
        }
    }
    let failures = match config.trip {
        TripRule::Consecutive { failures } | TripRule::Within { failures, .. } => failures,
        TripRule::TallyOnly => return None,
    };
    if failures == 0 {
        return Some(Kind::NoFailures);
    }
    if failures > layout.max_failures() {
        return Some(by_width(layout, Kind::FailuresWide, Kind::FailuresNarrow));
    }
    match config.trip {
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
        if !growth.grows() {
            return Some(Kind::DoesNotGrow);
        }
        if growth.max_ms < config.open_for_ms {
            return Some(Kind::MaxBelowOpen);
        }
        let steps = layout.trips.max() - 1;
        if growth.after(config.open_for_ms, steps) < growth.max_ms {
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

const fn with_jitter(ms: u32, percent: u8) -> u64 {
    ms as u64 + (ms as u64 * percent as u64).div_ceil(100)
}

const fn probe_fault(config: &Config, layout: Layout, longest_ms: u32) -> Option<Kind> {
    if config.probes == 0 {
        return Some(Kind::NoProbes);
    }
    if config.probes as u32 > layout.max_probes() {
        return Some(by_width(layout, Kind::ProbesWide, Kind::ProbesNarrow));
    }
    if config.needed_successes() < config.probes as u32 {
        return Some(Kind::CloseAfterBelowProbes);
    }
    if config.needed_successes() > layout.max_probes() {
        return Some(by_width(
            layout,
            Kind::CloseAfterWide,
            Kind::CloseAfterNarrow,
        ));
    }
    if config.lease(longest_ms) == 0 {
        return Some(Kind::NoLease);
    }
    if config.lease(longest_ms) > longest_ms {
        return Some(Kind::LeaseTooLong);
    }
    if config.cancel_limit_ms > longest_ms {
        return Some(Kind::CancelLimitTooLong);
    }
    None
}
