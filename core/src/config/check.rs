// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checks of a configuration, and the advice if one fails.

use core::fmt;

use super::fault::Fault;
use super::terms;
use super::{Config, Memory, Ratio, TripRule};
use crate::word::Layout;

/// A configuration that does not fit the word or the tally.
///
/// The message names the setting, the limit and the fix. In a `const` or `static` it is the
/// message of the compile error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ConfigError(Fault);

impl ConfigError {
    /// The error of an adjustable breaker whose store has no room for another set of rules.
    pub const TOO_MANY_RULES: Self = Self(Fault::NoRoomForRules);

    /// The fault, for programs that have texts of their own.
    pub const fn fault(self) -> Fault {
        self.0
    }

    /// The text that [`Display`](fmt::Display) shows, as a plain string: firmware can print it without formatting code.
    /// With the feature `defmt` the error implements `defmt::Format` as well.
    ///
    /// ```
    /// use atomic_breaker::{Config, Rules};
    ///
    /// # fn write(_: &[u8]) {}
    /// // Rules that came from flash, or over the air.
    /// if let Err(error) = Rules::<u32>::try_new(Config::new().probes(0)) {
    ///     write(error.message().as_bytes()); // or `defmt::error!("{}", error)`
    /// #   assert_eq!(error.message(), "with 0 probes an open breaker never closes: set at least 1");
    /// }
    /// ```
    pub const fn message(self) -> &'static str {
        self.0.message()
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

/// With the message, as `unwrap` shows it.
impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConfigError").field(&self.message()).finish()
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for ConfigError {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "{=str}", self.message());
    }
}

impl core::error::Error for ConfigError {}

const fn result(fault: Option<Fault>) -> Result<(), ConfigError> {
    match fault {
        Some(fault) => Err(ConfigError(fault)),
        None => Ok(()),
    }
}

/// The longest time of a failure ratio: half the range of a clock.
const MAX_WITHIN_MS: u32 = 1 << 31;

/// Checks what the rules ask of the tally.
pub(crate) const fn check_memory(config: &Config, memory: Memory) -> Result<(), ConfigError> {
    result(match config.failure_ratio {
        Some(ratio) => memory_fault(ratio, memory),
        None if matches!(config.trip, TripRule::TallyOnly) && !memory.has_rule => {
            Some(Fault::TallyOnlyNeverTrips)
        }
        None => None,
    })
}

const fn memory_fault(ratio: Ratio, memory: Memory) -> Option<Fault> {
    let most = if ratio.is_time {
        memory.max_within_ms
    } else {
        memory.max_calls
    };
    if ratio.amount <= most {
        return match ratio.slow_percent {
            0 => None,
            _ if memory.counts_slow => None,
            _ => Some(Fault::SlowShareWithoutMemory),
        };
    }
    Some(match (ratio.is_time, most) {
        (false, 0) if memory.max_within_ms > 0 => Fault::RatioOfCallsInTallyOfTimes,
        (false, 0) => Fault::RatioWithoutMemory,
        (false, _) => Fault::RatioOfTooManyCalls,
        (true, 0) => Fault::RatioOfTimesInTallyOfCalls,
        (true, _) => Fault::RatioLongerThanTally,
    })
}

/// Checks what does not depend on the tally.
pub(super) const fn check(config: &Config, layout: Layout) -> Result<(), ConfigError> {
    // `?` is not `const`. One after the other: fewer instructions than all of them and then the first.
    macro_rules! none_of {
        ($($fault:expr,)*) => {
            $(if let Some(fault) = $fault {
                return Err(ConfigError(fault));
            })*
        };
    }
    none_of! {
        ratio_fault(config),
        trip_fault(config, layout),
        open_fault(config, layout),
        probe_fault(config, layout),
        return_fault(config, layout),
        slow_fault(config),
    }
    Ok(())
}

const fn ratio_fault(config: &Config) -> Option<Fault> {
    let Some(ratio) = config.failure_ratio else {
        return None;
    };
    let is_time = ratio.is_time;
    if ratio.amount == 0 {
        return Some(if is_time {
            Fault::RatioWithinNoTime
        } else {
            Fault::RatioOfNoCalls
        });
    }
    if is_time && ratio.amount > MAX_WITHIN_MS {
        return Some(Fault::RatioTooLong);
    }
    if is_time && ratio.min_calls == 0 {
        return Some(Fault::RatioByNoCalls);
    }
    // Stands for anything that a `u16` does not hold.
    if ratio.min_calls == u16::MAX {
        return Some(Fault::MinCallsTooMany);
    }
    if !is_time && (ratio.min_calls == 0 || ratio.needed_calls() > ratio.amount) {
        return Some(Fault::MinCallsBeyondCalls);
    }
    if ratio.points == 0 || ratio.points as u32 > terms::ALL {
        return Some(Fault::RatioShare);
    }
    if ratio.slow_percent > 100 {
        return Some(Fault::SlowShare);
    }
    if ratio.slow_percent != 0 && config.slow_call_ms.is_none() {
        return Some(Fault::SlowShareWithoutSlowCall);
    }
    None
}

const fn trip_fault(config: &Config, layout: Layout) -> Option<Fault> {
    let (failures, window_ms) = match config.trip {
        TripRule::Consecutive { failures } => (failures, None),
        TripRule::Lasting {
            failures,
            lasting_ms,
        } => return lasting_fault(failures, lasting_ms, layout),
        TripRule::Within {
            failures,
            window_ms,
        } => (failures, Some(window_ms)),
        TripRule::TallyOnly => return None,
    };
    if failures == 0 {
        return Some(Fault::NoFailures);
    }
    if failures > layout.max_failures() {
        return Some(Fault::TooManyFailures);
    }
    match window_ms {
        Some(0) => Some(Fault::WindowOfNoTime),
        Some(ms) if ms > layout.max_ms() => Some(Fault::WindowTooLong),
        _ => None,
    }
}

const fn lasting_fault(failures: u32, lasting_ms: u32, layout: Layout) -> Option<Fault> {
    if failures == 0 {
        return Some(Fault::LastingWithoutRow);
    }
    if failures > layout.max_lasting_failures() {
        return Some(Fault::TooManyLastingFailures);
    }
    if lasting_ms == 0 {
        return Some(Fault::LastingOfNoTime);
    }
    if lasting_ms > layout.max_ms() {
        return Some(Fault::LastingTooLong);
    }
    None
}

const fn open_fault(config: &Config, layout: Layout) -> Option<Fault> {
    let longest_ms = layout.max_ms();
    if config.open_for_ms > longest_ms {
        return Some(Fault::OpenForTooLong);
    }
    if config.jitter_percent > 100 {
        return Some(Fault::TooMuchJitter);
    }
    let mut longest = config.open_for_ms;
    if let Some(growth) = config.growth {
        if !growth.grows() {
            return Some(Fault::GrowthTooSmall);
        }
        if growth.max_ms < config.open_for_ms {
            return Some(Fault::GrowthMaxBelowOpenFor);
        }
        let steps = layout.trips.max() - 1;
        if growth.after(config.open_for_ms, steps) < growth.max_ms {
            return Some(Fault::GrowthMaxOutOfReach);
        }
        longest = growth.max_ms;
    }
    if !fits_with_jitter(longest, config.jitter_percent, longest_ms) {
        return Some(Fault::LongestOpenTooLong);
    }
    match config.max_retry_after_ms {
        Some(limit) if !fits_with_jitter(limit, config.jitter_percent, longest_ms) => {
            Some(Fault::RetryAfterTooLong)
        }
        _ => None,
    }
}

/// Returns whether a time that is lengthened by `percent` is at most the longest. Without a division, which takes 900
/// bytes of flash on a Cortex-M0.
const fn fits_with_jitter(ms: u32, percent: u8, longest_ms: u32) -> bool {
    match longest_ms.checked_sub(ms) {
        Some(left) => ms as u64 * percent as u64 <= left as u64 * terms::PERCENT as u64,
        None => false,
    }
}

const fn probe_fault(config: &Config, layout: Layout) -> Option<Fault> {
    if config.probes == 0 {
        return Some(Fault::NoProbes);
    }
    if config.probes as u32 > layout.max_probes() {
        return Some(Fault::TooManyProbes);
    }
    if config.needed_successes() < config.probes as u32 {
        return Some(Fault::CloseAfterBelowProbes);
    }
    if config.needed_successes() > layout.max_probes() {
        return Some(Fault::CloseAfterTooMany);
    }
    let longest_ms = layout.max_ms();
    if config.lease_ms(longest_ms) == 0 {
        return Some(Fault::NoLease);
    }
    if config.lease_ms(longest_ms) > longest_ms {
        return Some(Fault::LeaseTooLong);
    }
    if config.cancel_limit_ms > longest_ms {
        return Some(Fault::CancelLimitTooLong);
    }
    None
}

const fn return_fault(config: &Config, layout: Layout) -> Option<Fault> {
    let Some(back) = config.gradual_return else {
        return None;
    };
    if back.first_percent == 0 || back.first_percent > 100 {
        return Some(Fault::ReturnShare);
    }
    if back.over_ms == 0 {
        return Some(Fault::ReturnOverNoTime);
    }
    if back.over_ms > layout.max_ms() {
        return Some(Fault::ReturnTooLong);
    }
    None
}

const fn slow_fault(config: &Config) -> Option<Fault> {
    match config.slow_call_ms {
        Some(0) => Some(Fault::SlowCallOfNoTime),
        Some(limit) if limit > u32::MAX / 2 => Some(Fault::SlowCallTooLong),
        _ => None,
    }
}
