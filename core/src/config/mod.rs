// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of a breaker: a `const` builder, checked against the word.

mod check;
mod fault;
#[cfg(feature = "serde")]
mod file;
mod memory;
#[cfg(feature = "serde")]
mod named;
mod open_time;
mod probing;
mod rules;
mod terms;
mod trips;

pub use check::ConfigError;
pub(crate) use check::check_memory;
pub use fault::Fault;
#[cfg(feature = "serde")]
pub use file::{ConfigOver, SETTING_NAMES};
pub use memory::Memory;
#[cfg(feature = "serde")]
pub use named::Named;
pub use rules::{AsRules, Rules};
pub use terms::{GradualReturn, Growth, Ratio, TripRule};

use crate::word::Layout;

/// The rules of a breaker.
///
/// A plain value, built in a `const` or at run time by the methods, and read through the fields. It is checked when a
/// breaker or its [`Rules`] are made from it, because what fits depends on the word: in a `static` or `const`,
/// [`Breaker::new`] fails to compile; at run time, [`Breaker::try_new`] returns a [`ConfigError`].
///
/// Durations are rounded up to milliseconds, and in 32-bit words to ticks (64 ms, unless the word is a
/// [`Ticks`](crate::word::Ticks)).
///
/// With the feature `serde` it can be kept in a file of any self-describing format (JSON, TOML, YAML, but not
/// postcard), under the names of these methods. The names of durations end in `_ms`, and settings that are left out
/// have their defaults:
///
/// ```json
/// {
///   "consecutive_failures": 5,
///   "failure_ratio": { "percent": 50, "of_last": 20, "min_calls": 10 },
///   "open_for_ms": 1000,
///   "exponential": { "factor": 2, "max_ms": 60000 },
///   "gradual_return": { "first_percent": 10, "over_ms": 30000 }
/// }
/// ```
///
/// ```
/// use atomic_breaker::{Config, Ratio};
/// use core::time::Duration;
///
/// const DATABASE: Config = Config::new()
///     .consecutive_failures(5)
///     .failure_ratio(Ratio::percent(50).of_last(20).min_calls(10))
///     .open_for(Duration::from_secs(1))
///     .exponential(2, Duration::from_secs(60))
///     .jitter_percent(20)
///     .gradual_return(10, Duration::from_secs(30));
/// ```
///
/// [`Breaker::new`]: crate::Breaker::new
/// [`Breaker::try_new`]: crate::Breaker::try_new
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
// The fields read by the closed path and by failures come last: in a breaker that holds its rules inline, they are
// never on the cache line of the word, where each read would have to fetch what another core just wrote.
#[repr(C)]
#[non_exhaustive]
pub struct Config {
    /// [`exponential`](Self::exponential) or [`linear`](Self::linear) growth of the open time; none by default.
    pub growth: Option<Growth>,
    /// [`seed`](Self::seed); none by default.
    pub seed: Option<u32>,
    /// [`max_retry_after`](Self::max_retry_after); by default 5 min, or what the word holds.
    pub max_retry_after_ms: Option<u32>,
    /// [`gradual_return`](Self::gradual_return); by default all traffic returns at once.
    pub gradual_return: Option<GradualReturn>,
    /// [`open_for`](Self::open_for); 5 s by default.
    pub open_for_ms: u32,
    /// [`probe_lease`](Self::probe_lease); by default 30 s, or what the word holds.
    pub probe_lease_ms: Option<u32>,
    /// [`cancel_limit`](Self::cancel_limit); 250 ms by default.
    pub cancel_limit_ms: u32,
    /// [`probes`](Self::probes) in flight; 1 by default.
    pub probes: u16,
    /// [`close_after`](Self::close_after); as many successes as probes by default.
    pub close_after: Option<u16>,
    /// [`jitter_percent`](Self::jitter_percent); 0 by default.
    pub jitter_percent: u8,
    /// [`failure_ratio`](Self::failure_ratio); none by default.
    pub failure_ratio: Option<Ratio>,
    /// [`slow_call`](Self::slow_call); not measured by default.
    pub slow_call_ms: Option<u32>,
    /// The events that the word counts while closed; 5 [consecutive failures](Self::consecutive_failures) trip by
    /// default.
    pub trip: TripRule,
}

const DEFAULT_RETRY_AFTER_MS: u32 = 5 * 60 * 1_000;
const DEFAULT_LEASE_MS: u32 = 30_000;

#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::{offset_of, size_of};
    const LINE: usize = 64;
    // The rules come behind the word.
    assert!(size_of::<u64>() + offset_of!(Config, slow_call_ms) >= LINE);
    assert!(size_of::<u64>() + offset_of!(Config, trip) >= LINE);
};

impl Config {
    /// The defaults.
    pub const fn new() -> Self {
        Self {
            trip: TripRule::Consecutive { failures: 5 },
            failure_ratio: None,
            slow_call_ms: None,
            open_for_ms: 5_000,
            growth: None,
            jitter_percent: 0,
            seed: None,
            max_retry_after_ms: None,
            probes: 1,
            close_after: None,
            probe_lease_ms: None,
            cancel_limit_ms: 250,
            gradual_return: None,
        }
    }

    /// Checks that this configuration fits a word of the given layout, as making a breaker does.
    pub const fn check(&self, layout: Layout) -> Result<(), ConfigError> {
        check::check(self, layout)
    }

    /// Returns whether a breaker with these rules needs a [`Tally`](crate::Tally).
    #[inline]
    pub const fn needs_tally(&self) -> bool {
        self.failure_ratio.is_some() || matches!(self.trip, TripRule::TallyOnly)
    }

    /// The number of successes that close the breaker: [`close_after`](Self::close_after), or as many as probes.
    pub const fn needed_successes(&self) -> u32 {
        match self.close_after {
            Some(successes) => successes as u32,
            None => self.probes as u32,
        }
    }

    /// The longest minimum open time that a failure may ask for in a word that holds at most
    /// [`longest_ms`](Layout::max_ms), set or not, in milliseconds.
    pub const fn longest_retry_after_ms(&self, longest_ms: u32) -> u32 {
        set_or(self.max_retry_after_ms, DEFAULT_RETRY_AFTER_MS, longest_ms)
    }

    /// The lease of a probe in a word that holds at most [`longest_ms`](Layout::max_ms), set or not, in milliseconds.
    pub const fn lease_ms(&self, longest_ms: u32) -> u32 {
        set_or(self.probe_lease_ms, DEFAULT_LEASE_MS, longest_ms)
    }
}

/// The time that was set, or the default, or the longest that the word holds if that is less.
const fn set_or(set: Option<u32>, default_ms: u32, longest_ms: u32) -> u32 {
    match set {
        Some(ms) => ms,
        None if longest_ms < default_ms => longest_ms,
        None => default_ms,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}
