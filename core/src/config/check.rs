//! What a configuration must satisfy, and what to do if it does not.

use core::fmt;

use super::terms;
use super::{Config, Ratio, TripRule};
use crate::word::Layout;

/// A configuration that does not fit the word or the tally.
///
/// The message names the setting, the limit and the fix. In a `const` or `static` it is the
/// message of the compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ConfigError(&'static str);

impl ConfigError {
    /// What keeps the rules of an adjustable breaker has no room for another set of them.
    pub const TOO_MANY_RULES: Self =
        Self("there is no room for more rules: set rules that were set before, or restart");

    /// What [`Display`](fmt::Display) shows, as a plain string: firmware can print it without formatting code. With the
    /// feature `defmt` the error implements `defmt::Format` as well.
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
        self.0
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl core::error::Error for ConfigError {}

/// The message, if there is one.
type Fault = Option<&'static str>;

const fn result(fault: Fault) -> Result<(), ConfigError> {
    match fault {
        Some(message) => Err(ConfigError(message)),
        None => Ok(()),
    }
}

/// The longest time of a failure ratio: half the range of a clock.
const MAX_WITHIN_MS: u32 = 1 << 31;

/// What a [`Tally`](crate::Tally) offers the rules. Always the same for one tally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// How many calls it remembers at most, for a failure ratio [of the last calls](Ratio::of_last).
    pub max_calls: u32,
    /// The longest time in milliseconds for which it remembers calls, for a failure ratio [within a time](Ratio::within);
    /// 0 if it remembers no times.
    pub max_within_ms: u32,
    /// Whether it may trip by a rule of its own, without a failure ratio in the rules.
    pub has_rule: bool,
}

impl Memory {
    /// Nothing.
    pub const NONE: Self = Self {
        max_calls: 0,
        max_within_ms: 0,
        has_rule: false,
    };
}

/// Checks what the rules ask of the tally.
pub(crate) const fn check_memory(config: &Config, memory: Memory) -> Result<(), ConfigError> {
    result(match config.failure_ratio {
        Some(ratio) => memory_fault(ratio, memory),
        None if matches!(config.trip, TripRule::TallyOnly) && !memory.has_rule => Some(
            "tally_only without a failure_ratio never trips: set a failure_ratio or a limit on failures",
        ),
        None => None,
    })
}

const fn memory_fault(ratio: Ratio, memory: Memory) -> Fault {
    let most = if ratio.is_time {
        memory.max_within_ms
    } else {
        memory.max_calls
    };
    if ratio.amount <= most {
        return None;
    }
    Some(match (ratio.is_time, most) {
        (false, 0) if memory.max_within_ms > 0 => {
            "the tally remembers times, not calls: set the time of the failure_ratio (within) \
             instead of of_last, or build the breaker with last_calls"
        }
        (false, 0) => {
            "a failure_ratio needs memory for the last calls: build the breaker with last_calls \
             or another tally, or leave it out"
        }
        (false, _) => {
            "the memory remembers fewer calls than of_last asks for (LastCalls: 59 in a 64-bit \
             word, 27 in a 32-bit word): lower of_last or use one that remembers more"
        }
        (true, 0) => {
            "a failure_ratio within a time needs a tally that remembers times: build the breaker \
             with SlidingRatio of atomic-breaker-sliding, or set of_last and build it with last_calls"
        }
        (true, _) => "the time of the failure_ratio is longer than the tally remembers: shorten it",
    })
}

/// Checks what does not depend on the tally.
pub(super) const fn check(config: &Config, layout: Layout) -> Result<(), ConfigError> {
    // `?` is not `const`.
    let faults = [
        ratio_fault(config),
        trip_fault(config, layout),
        open_fault(config, layout),
        probe_fault(config, layout),
        return_fault(config, layout),
        slow_fault(config),
    ];
    let mut i = 0;
    while i < faults.len() {
        if faults[i].is_some() {
            return result(faults[i]);
        }
        i += 1;
    }
    Ok(())
}

/// The message for a time that the word does not hold.
macro_rules! too_long {
    ($what:literal, $fix:literal) => {
        Some(concat!(
            $what,
            " is longer than 2^31 ms (2^14 ticks in a 32-bit word): ",
            $fix,
            ", use longer ticks or a 64-bit word"
        ))
    };
}

const fn ratio_fault(config: &Config) -> Fault {
    let Some(ratio) = config.failure_ratio else {
        return None;
    };
    let is_time = ratio.is_time;
    if ratio.amount == 0 {
        return Some(if is_time {
            "a failure_ratio within a time of 0 sees no calls: lengthen it or set of_last"
        } else {
            "a failure_ratio of the last 0 calls never trips: set at least 1"
        });
    }
    if is_time && ratio.amount > MAX_WITHIN_MS {
        return Some(
            "the time of the failure_ratio is longer than 2^31 ms (24.8 days): shorten it",
        );
    }
    if is_time && ratio.min_calls == 0 {
        return Some("min_calls of 0 would judge by no calls at all: set at least 1");
    }
    // Stands for anything that a `u16` does not hold.
    if ratio.min_calls == u16::MAX {
        return Some("min_calls is at most 65534: lower it");
    }
    if !is_time && (ratio.min_calls == 0 || ratio.needed_calls() > ratio.amount) {
        return Some(
            "min_calls must be between 1 and the number of calls that the failure_ratio looks at: \
             change one of them",
        );
    }
    if ratio.points == 0 || ratio.points as u32 > terms::ALL {
        return Some(
            "the share of a failure_ratio must be between 1 and 10000 basis points (0.01 to 100 \
             percent): change it",
        );
    }
    None
}

const fn trip_fault(config: &Config, layout: Layout) -> Fault {
    let (failures, window_ms) = match config.trip {
        TripRule::Consecutive { failures } => (failures, None),
        TripRule::Within {
            failures,
            window_ms,
        } => (failures, Some(window_ms)),
        TripRule::TallyOnly => return None,
    };
    if failures == 0 {
        return Some("a limit of 0 failures would trip before the first call: set at least 1");
    }
    if failures > layout.max_failures() {
        return Some(
            "a word counts at most 65535 failures (255 in a 32-bit word): lower the limit or use a \
             64-bit word",
        );
    }
    match window_ms {
        Some(0) => {
            Some("a window of 0 cannot hold two failures: lengthen it or use consecutive_failures")
        }
        Some(ms) if ms > layout.max_ms() => too_long!("the window", "shorten it"),
        _ => None,
    }
}

const fn open_fault(config: &Config, layout: Layout) -> Fault {
    let longest_ms = layout.max_ms();
    if config.open_for_ms > longest_ms {
        return too_long!("open_for", "shorten it");
    }
    if config.jitter_percent > 100 {
        return Some("jitter is at most 100 percent: lower it");
    }
    let mut longest = config.open_for_ms;
    if let Some(growth) = config.growth {
        if !growth.grows() {
            return Some(
                "an open time that grows needs a factor of at least 2 (more than 100 percent) or a \
                 step: raise it or leave out the growth",
            );
        }
        if growth.max_ms < config.open_for_ms {
            return Some(
                "the maximum of the growing open time is below open_for: raise it or lower open_for",
            );
        }
        let steps = layout.trips.max() - 1;
        if growth.after(config.open_for_ms, steps) < growth.max_ms {
            return Some(
                "the maximum of the growing open time is never reached, because growth ends with the 31st \
                 trip in a row (the 7th in a 32-bit word): lower it, raise open_for or grow faster",
            );
        }
        longest = growth.max_ms;
    }
    if with_jitter(longest, config.jitter_percent) > longest_ms as u64 {
        return too_long!(
            "the longest open time, maximum and jitter included,",
            "lower one of them"
        );
    }
    match config.max_retry_after_ms {
        Some(limit) if with_jitter(limit, config.jitter_percent) > longest_ms as u64 => {
            too_long!("max_retry_after, jitter included,", "lower it")
        }
        _ => None,
    }
}

const fn with_jitter(ms: u32, percent: u8) -> u64 {
    ms as u64 + (ms as u64 * percent as u64).div_ceil(100)
}

const fn probe_fault(config: &Config, layout: Layout) -> Fault {
    if config.probes == 0 {
        return Some("with 0 probes an open breaker never closes: set at least 1");
    }
    if config.probes as u32 > layout.max_probes() {
        return Some(
            "a word holds at most 255 probes (15 in a 32-bit word): lower probes or use a 64-bit word",
        );
    }
    if config.needed_successes() < config.probes as u32 {
        return Some(
            "close_after is below probes, but a half-open breaker admits no more probes than it \
             still needs: lower probes or raise close_after",
        );
    }
    if config.needed_successes() > layout.max_probes() {
        return Some(
            "a word counts at most 255 successes of probes (15 in a 32-bit word): lower close_after or \
             use a 64-bit word",
        );
    }
    let longest_ms = layout.max_ms();
    if config.lease_ms(longest_ms) == 0 {
        return Some(
            "with a probe_lease of 0 every call would take the previous probe's slot: set it \
             longer than the longest call",
        );
    }
    if config.lease_ms(longest_ms) > longest_ms {
        return too_long!("probe_lease", "shorten it");
    }
    if config.cancel_limit_ms > longest_ms {
        return too_long!("cancel_limit", "shorten it");
    }
    None
}

const fn return_fault(config: &Config, layout: Layout) -> Fault {
    let Some(back) = config.gradual_return else {
        return None;
    };
    if back.first_percent == 0 || back.first_percent > 100 {
        return Some(
            "the first share of a gradual_return must be between 1 and 100 percent: change it",
        );
    }
    if back.over_ms == 0 {
        return Some(
            "a gradual_return over a time of 0 is not gradual: lengthen it or leave it out",
        );
    }
    if back.over_ms > layout.max_ms() {
        return too_long!("the time of gradual_return", "shorten it");
    }
    None
}

const fn slow_fault(config: &Config) -> Fault {
    match config.slow_call_ms {
        Some(0) => Some("with a slow_call of 0 every call is slow: lengthen it or leave it out"),
        Some(limit) if limit > u32::MAX / 2 => Some("slow_call is 2^31 ms or longer: shorten it"),
        _ => None,
    }
}
