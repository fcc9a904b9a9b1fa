//! How a breaker behaves: a `const` builder, checked against the word when a breaker is made.

mod check;
mod error;

pub(crate) use check::{check_rules, check_tally};
pub use error::ConfigError;

use core::time::Duration;

use crate::word::Layout;

/// Milliseconds of a duration, rounded up. What does not fit is `u32::MAX`, which no check passes.
pub(crate) const fn ms(duration: Duration) -> u32 {
    let ms = duration.as_nanos().div_ceil(1_000_000);
    if ms > u32::MAX as u128 {
        u32::MAX
    } else {
        ms as u32
    }
}

/// When failures trip a closed breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case", deny_unknown_fields)
)]
pub(crate) enum TripRule {
    /// Failures with no success between them.
    Consecutive { failures: u32 },
    /// Failures since the first one of a window, successes between them or not.
    Within { failures: u32, window_ms: u32 },
    /// Failures are not counted in the word; the tally alone decides.
    TallyOnly,
}

/// How a breaker behaves.
///
/// A plain value, built in a `const` or at run time. It is checked when a breaker is made of it,
/// because what fits depends on the word: in a `static` or `const`, [`Breaker::new`] refuses to
/// compile; at run time, [`Breaker::try_new`] answers a [`ConfigError`].
///
/// | setting | default |
/// |---|---|
/// | trip rule | 5 consecutive failures |
/// | [`open_for`](Self::open_for) | 5 s, constant, no jitter |
/// | [`probes`](Self::probes) | 1 in flight |
/// | [`close_after`](Self::close_after) | as many successes as probes |
/// | [`probe_lease`](Self::probe_lease) | 30 s |
/// | [`slow_call`](Self::slow_call) | off |
/// | [`tick`](Self::tick_log2_ms) of 32-bit words | 2⁶ = 64 ms |
///
/// Durations are rounded up to milliseconds, and in 32-bit words to ticks.
///
/// With the feature `serde` it can stand in a file: the names of durations end in `_ms`, what is left
/// out has its default, and `trip` is `{"consecutive": {"failures": 5}}`, `{"within": {"failures": 5,
/// "window_ms": 60000}}` or `"tally_only"`.
///
/// ```
/// use atomic_breaker::Config;
/// use core::time::Duration;
///
/// const RADIO: Config = Config::new()
///     .consecutive_failures(3)
///     .open_for(Duration::from_secs(2))
///     .exponential(2, Duration::from_secs(60))
///     .jitter_percent(25);
/// ```
///
/// [`Breaker::new`]: crate::Breaker::new
/// [`Breaker::try_new`]: crate::Breaker::try_new
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[must_use]
pub struct Config {
    pub(crate) trip: TripRule,
    pub(crate) open_for_ms: u32,
    pub(crate) growth: Option<Growth>,
    pub(crate) jitter_percent: u32,
    pub(crate) seed: Option<u32>,
    pub(crate) max_retry_after_ms: Option<u32>,
    pub(crate) probes: u32,
    pub(crate) close_after: Option<u32>,
    pub(crate) probe_lease_ms: u32,
    pub(crate) slow_call_ms: Option<u32>,
    pub(crate) tick_log2_ms: u32,
}

/// Exponential growth of the open time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub(crate) struct Growth {
    pub(crate) factor: u32,
    pub(crate) max_ms: u32,
}

impl Config {
    /// The defaults in the table above.
    pub const fn new() -> Self {
        Self {
            trip: TripRule::Consecutive { failures: 5 },
            open_for_ms: 5_000,
            growth: None,
            jitter_percent: 0,
            seed: None,
            max_retry_after_ms: None,
            probes: 1,
            close_after: None,
            probe_lease_ms: 30_000,
            slow_call_ms: None,
            tick_log2_ms: 6,
        }
    }

    /// Trips when `failures` (weights added up) come with no success between them. At least 1, at
    /// most 65 535 (255 in a 32-bit word). The clock is not read until it trips.
    pub const fn consecutive_failures(mut self, failures: u32) -> Self {
        self.trip = TripRule::Consecutive { failures };
        self
    }

    /// Trips when `failures` (weights added up) come within `window`, successes between them or
    /// not. The window starts with a failure; the first failure at or after its end starts the next
    /// one. A failure reads the clock.
    pub const fn failures_within(mut self, failures: u32, window: Duration) -> Self {
        let window_ms = ms(window);
        self.trip = TripRule::Within {
            failures,
            window_ms,
        };
        self
    }

    /// Counts nothing in the word: the [`Tally`](crate::Tally) alone decides when to trip. For
    /// [`Breaker::from_parts`](crate::Breaker::from_parts) with a tally; without one it is refused.
    pub const fn tally_only(mut self) -> Self {
        self.trip = TripRule::TallyOnly;
        self
    }

    /// How long the breaker stays open after the first trip, and after every trip unless
    /// [`exponential`](Self::exponential) is set. At most 24.8 days (2¹⁴ ticks in a 32-bit word).
    ///
    /// The deadline is inclusive: at exactly this time after the trip the next call is a probe.
    /// Long times are stored rounded up by at most 0.05 % (6.25 % in a 32-bit word).
    pub const fn open_for(mut self, time: Duration) -> Self {
        self.open_for_ms = ms(time);
        self
    }

    /// Lets the open time grow: `open_for · factorⁿ` at the n-th trip after the first one without
    /// closing between, at most `max`. Closing starts over.
    ///
    /// `factor` is at least 2. Growth ends with the 31st trip in a row (the 7th in a 32-bit word);
    /// a `max` out of reach is refused.
    pub const fn exponential(mut self, factor: u32, max: Duration) -> Self {
        self.growth = Some(Growth {
            factor,
            max_ms: ms(max),
        });
        self
    }

    /// Lengthens each open time by a random part of up to `percent` (at most 100), so that a fleet
    /// that tripped together does not come back in step.
    ///
    /// It is added, never taken off: an open time is at least what was configured, or what
    /// [`Failure::retry_after`](crate::Failure::retry_after) asked for. Drawn anew for each trip,
    /// from the seed, the epoch and the time. On a microcontroller whose clock starts at 0 give
    /// each device a [`seed`](Self::seed) or its clock an [`entropy`](crate::Clock::entropy).
    pub const fn jitter_percent(mut self, percent: u32) -> Self {
        self.jitter_percent = percent;
        self
    }

    /// Makes the jitter reproducible: the same seed gives the same open times for the same history.
    /// Without it the seed is [`Clock::entropy`](crate::Clock::entropy).
    pub const fn seed(mut self, seed: u32) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The longest minimum open time that a failure may ask for: longer ones are cut to it, so that
    /// a server cannot shut its clients up for a year. Without it the limit is what the word holds.
    pub const fn max_retry_after(mut self, limit: Duration) -> Self {
        self.max_retry_after_ms = Some(ms(limit));
        self
    }

    /// How many probes may be in flight at a time while half-open. At least 1, at most 255 (15 in a
    /// 32-bit word).
    pub const fn probes(mut self, probes: u32) -> Self {
        self.probes = probes;
        self
    }

    /// How many probes must succeed in a row to close. At least [`probes`](Self::probes), as a
    /// half-open breaker admits no more probes than it still needs; by default as many.
    pub const fn close_after(mut self, successes: u32) -> Self {
        self.close_after = Some(successes);
        self
    }

    /// When no slot is free and the last probe was admitted this long ago, the probes in flight
    /// count as lost: a new round starts with one new probe, and late reports of the old ones
    /// change nothing. Take it longer than the longest call. Not zero.
    pub const fn probe_lease(mut self, lease: Duration) -> Self {
        self.probe_lease_ms = ms(lease);
        self
    }

    /// Successful calls that take at least `limit` count as failures of weight 1. Every call then
    /// reads the clock twice. Off by default. (A call that starts in the one millisecond in which the
    /// clock reads 0 is measured 1 ms short.)
    pub const fn slow_call(mut self, limit: Duration) -> Self {
        self.slow_call_ms = Some(ms(limit));
        self
    }

    /// The tick of 32-bit words is 2ⁿ milliseconds: longer ticks reach further, shorter ones are
    /// finer. At most 16; 6 (64 ms) by default: times up to 17.5 minutes. Words of 64 bits have
    /// ticks of 1 ms whatever is set here. All who share a word must agree on it.
    pub const fn tick_log2_ms(mut self, n: u32) -> Self {
        self.tick_log2_ms = n;
        self
    }

    /// Checks that this configuration fits a word of the given layout, as making a breaker does.
    ///
    /// # Errors
    /// [`ConfigError`] says which setting does not fit, the limit, and what to do.
    ///
    /// ```
    /// use atomic_breaker::{Config, word::Layout};
    ///
    /// let patient = Config::new().consecutive_failures(1_000);
    /// assert!(patient.check(Layout::WIDE).is_ok());
    /// assert!(patient.check(Layout::NARROW).unwrap_err().to_string().contains("at most 255"));
    /// ```
    pub const fn check(&self, layout: Layout) -> Result<(), ConfigError> {
        check::check(self, layout)
    }

    pub(crate) const fn tick_log2(&self, layout: Layout) -> u32 {
        if layout.has_fixed_tick() {
            0
        } else {
            self.tick_log2_ms
        }
    }

    pub(crate) const fn needed_successes(&self) -> u32 {
        match self.close_after {
            Some(successes) => successes,
            None => self.probes,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}
