// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a breaker behaves: a `const` builder, checked against the word.

mod check;
mod fault;
#[cfg(feature = "serde")]
mod file;
#[cfg(feature = "serde")]
mod named;
mod rules;
mod terms;

pub(crate) use check::check_memory;
pub use check::{ConfigError, Memory};
pub use fault::Fault;
#[cfg(feature = "serde")]
pub use file::{ConfigOver, SETTING_NAMES};
#[cfg(feature = "serde")]
pub use named::Named;
pub use rules::{AsRules, Rules};
pub use terms::{GradualReturn, Growth, Ratio, TripRule};

use core::time::Duration;

use crate::number::{byte, half, ms};
use crate::word::Layout;

/// How a breaker behaves.
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
    /// What the word counts while closed; 5 [consecutive failures](Self::consecutive_failures) trip by default.
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

    /// Trips after `failures` failures (their weights added up) with no success between them: the *failure threshold*.
    /// At least 1, at most 65 535 (255 in a 32-bit word). The clock is not read until it trips. Replaces
    /// [`failures_within`](Self::failures_within); a time set by [`lasting`](Self::lasting) stays.
    ///
    /// On its own it fits up to some ten calls a second. Five in a row mean five seconds of failure at one call a second,
    /// and 5 ms at a thousand; where a quarter of the calls fails by chance, they come once a second at a thousand calls.
    /// So busy resources need a row that [lasts](Self::lasting).
    #[doc(alias = "failure_threshold")]
    pub const fn consecutive_failures(mut self, failures: u32) -> Self {
        self.trip = match self.trip {
            TripRule::Lasting { lasting_ms, .. } => TripRule::Lasting {
                failures,
                lasting_ms,
            },
            _ => TripRule::Consecutive { failures },
        };
        self
    }

    /// Trips after [failures in a row](Self::consecutive_failures) only if the first of them is at least `time` ago,
    /// rounded up to milliseconds and to ticks. With it at most 32 767 failures in a row (127 in a 32-bit word) can be
    /// set. Zero, the default, takes the time back.
    ///
    /// For resources that are called often: a few calls that are lost at once, or a replica of many that fails, open
    /// nothing, as a call succeeds within the time. The price is the calls of that time when the resource is dead: 100 ms
    /// at a thousand calls a second are a hundred calls. 100 ms suit most servers; use more if a fail-over takes longer.
    ///
    /// A failure reads the clock. While traffic [returns](Self::gradual_return), the time counts from the failure that
    /// reaches the number. A clock that stands still never trips it. A row that was interrupted by a reset of the device
    /// has lasted, once the breaker is [restored](crate::Breaker::restore).
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, ManualClock};
    /// use core::time::Duration;
    ///
    /// let clock = ManualClock::new();
    /// let config = Config::new().consecutive_failures(3).lasting(Duration::from_millis(100));
    /// let breaker = Breaker::new(config, &clock);
    ///
    /// // Ten calls that are lost at once.
    /// for _ in 0..10 {
    ///     let _ = breaker.call(|| Err::<(), _>("lost"));
    /// }
    /// assert!(breaker.acquire().is_ok());
    /// // Nothing has succeeded since.
    /// clock.advance(Duration::from_millis(100));
    /// let _ = breaker.call(|| Err::<(), _>("down"));
    /// assert!(breaker.acquire().is_err());
    /// ```
    pub const fn lasting(mut self, time: Duration) -> Self {
        let failures = match self.trip {
            TripRule::Consecutive { failures } | TripRule::Lasting { failures, .. } => failures,
            // There is no row that could last, which is an error unless one is set later.
            TripRule::Within { .. } | TripRule::TallyOnly => 0,
        };
        let lasting_ms = ms(time);
        self.trip = match self.trip {
            TripRule::Lasting { .. } if lasting_ms == 0 => TripRule::Consecutive { failures },
            trip if lasting_ms == 0 => trip,
            _ => TripRule::Lasting {
                failures,
                lasting_ms,
            },
        };
        self
    }

    /// Trips after `failures` failures (their weights added up) within `window`, even with successes between them.
    /// Replaces [`consecutive_failures`](Self::consecutive_failures) and [`lasting`](Self::lasting).
    ///
    /// The window starts with a failure; the first failure at or after its end starts the next one, and a success after
    /// its end clears the count. So up to `2 × failures − 3` failures can fall within one window length without
    /// tripping. A failure reads the clock, and so does a success while failures are counted.
    ///
    /// While traffic [returns](Self::gradual_return), the limit grows with the time since the return began: `failures ×
    /// time ÷ window`, at least `failures`, and at most what the word counts. So a background of failures below the
    /// limit does not keep the breaker from closing, unless one return sees more of them than the word counts. Use a
    /// shorter return then, or a [ratio](Self::failure_ratio).
    #[doc(alias = "sliding window")]
    pub const fn failures_within(mut self, failures: u32, window: Duration) -> Self {
        let window_ms = ms(window);
        self.trip = TripRule::Within {
            failures,
            window_ms,
        };
        self
    }

    /// Counts nothing in the word: only the [`failure_ratio`](Self::failure_ratio), or a [`Tally`](crate::Tally) with
    /// its own rule, decides when to trip. Rejected if there is neither.
    ///
    /// A share with a minimum does not see a resource that hangs, if too few calls end within the time: set it only where
    /// the minimum is reached even when each call takes as long as it may.
    pub const fn tally_only(mut self) -> Self {
        self.trip = TripRule::TallyOnly;
        self
    }

    /// Also trips when the given share of the last calls, or of the calls within a time, failed. The breaker needs memory
    /// for them: [`Builder::last_calls`](crate::Builder::last_calls), or `SlidingRatio` of atomic-breaker-server.
    #[doc(alias = "failure rate")]
    #[doc(alias = "sliding window")]
    pub const fn failure_ratio(mut self, ratio: Ratio) -> Self {
        self.failure_ratio = Some(ratio);
        self
    }

    /// Calls that succeed, or are dropped without a report, after at least `limit` count as failures of weight 1; or in a
    /// share of their own, with [`Ratio::slow_percent`]. Every call then reads the clock twice. Observers see such a success as a failure that [is
    /// slow](crate::Failure::is_slow), and such a drop as a cancelled call. Where a probe repairs first, its permit is
    /// [renewed](crate::Permit::renew) after that, or this is longer than repair and operation together: else no probe
    /// succeeds.
    ///
    /// Without it, a call that is dropped while the breaker is closed counts as nothing: a timeout *around* a guarded call
    /// to a resource that hangs never trips the breaker.
    #[doc(alias = "slow call duration threshold")]
    pub const fn slow_call(mut self, limit: Duration) -> Self {
        self.slow_call_ms = Some(ms(limit));
        self
    }

    /// How long the breaker stays open after the first trip, and after every trip unless the open time grows. At most
    /// 24.8 days (2¹⁴ ticks in a 32-bit word).
    ///
    /// The deadline is inclusive: at exactly this time after the trip (rounded up to a tick) the next call is a probe.
    #[doc(alias = "reset timeout")]
    #[doc(alias = "wait duration")]
    pub const fn open_for(mut self, time: Duration) -> Self {
        self.open_for_ms = ms(time);
        self
    }

    /// Lets the open time grow: `open_for · factorⁿ` at the n-th trip in a row after the first one, at most `max`.
    ///
    /// Trips are forgotten once the breaker has let calls pass for as long as it was last open, without jitter and demands:
    /// so a resource that answers each probe and fails the calls after it is left alone for longer each time. Until then
    /// the breaker is [returning](crate::State::Returning), with all calls passing unless the return is
    /// [gradual](Self::gradual_return).
    ///
    /// `factor` is at least 2. Growth ends with the 31st trip in a row (the 7th in a 32-bit word); a `max` that cannot
    /// be reached is rejected.
    #[doc(alias = "exponential backoff")]
    pub const fn exponential(self, factor: u32, max: Duration) -> Self {
        self.exponential_percent(factor.saturating_mul(100), max)
    }

    /// [`exponential`](Self::exponential) with a fractional factor: 150 percent is a factor of 1.5. Must be more than
    /// 100; kept in 256ths, rounded up.
    pub const fn exponential_percent(mut self, percent: u32, max: Duration) -> Self {
        self.growth = Some(Growth::exponential(percent, ms(max)));
        self
    }

    /// Lets the open time grow by `step` at each trip in a row, up to `max`. Trips are forgotten as with
    /// [`exponential`](Self::exponential).
    pub const fn linear(mut self, step: Duration, max: Duration) -> Self {
        self.growth = Some(Growth::linear(ms(step), ms(max)));
        self
    }

    /// Lengthens each open time by a random part of up to `percent` percent of it (at most 100), so that a fleet that
    /// tripped together does not return in lockstep.
    ///
    /// Jitter is added, never subtracted: an open time is at least what was configured, or what
    /// [`Failure::retry_after`](crate::Failure::retry_after) asked for. It is drawn again for each trip. Devices that run
    /// the same firmware and start together draw the same unless their [seeds](Self::seed) or their clocks'
    /// [entropy](crate::Clock::entropy) differ.
    pub const fn jitter_percent(mut self, percent: u32) -> Self {
        self.jitter_percent = byte(percent);
        self
    }

    /// Makes the jitter reproducible: the same seed gives the same open times for the same history. Breakers with the
    /// same seed that trip together draw the same jitter.
    pub const fn seed(mut self, seed: u32) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The longest minimum open time that a failure may ask for: longer ones are cut to this limit, so that a server
    /// cannot lock its clients out for a year. 5 minutes by default, or what the word holds if that is less.
    pub const fn max_retry_after(mut self, limit: Duration) -> Self {
        self.max_retry_after_ms = Some(ms(limit));
        self
    }

    /// How many probes of a round may be in flight at a time while half-open. At least 1, at most 255 (15 in a 32-bit
    /// word). After a [lost](Self::probe_lease) round it is one at a time; calls of lost probes may still be running.
    #[doc(alias = "permitted calls in half-open")]
    pub const fn probes(mut self, probes: u32) -> Self {
        self.probes = half(probes);
        self
    }

    /// How many probes must succeed, without a failure between them, to close: the *success threshold*. At least [`probes`](Self::probes),
    /// because a half-open breaker admits no more probes than it still needs; by default equal to it.
    #[doc(alias = "success_threshold")]
    pub const fn close_after(mut self, successes: u32) -> Self {
        self.close_after = Some(half(successes));
        self
    }

    /// When no slot is free and the last probe was admitted this long ago, the probes in flight count as lost: a new
    /// round starts with one new probe. Successes of the rounds before still count. A late failure of an old probe changes
    /// nothing; a late success counts, unless five rounds or more have been lost since, or the half-open time has ended.
    /// The lease should be longer than the longest call.
    ///
    /// The lease doubles with each round lost in a row, four times at most, so that healthy calls that take longer than
    /// it close the breaker nevertheless, if they take [less than 80 leases](crate#limits). After calls that hang and
    /// never return, the breaker may therefore keep rejecting for up to 16 leases (8 minutes by default) although the
    /// resource has recovered: give the calls a timeout that is shorter than the lease, so that none hangs.
    /// [`probe_now`](crate::Breaker::probe_now) cuts the wait short.
    pub const fn probe_lease(mut self, lease: Duration) -> Self {
        self.probe_lease_ms = Some(ms(lease));
        self
    }

    /// A probe that is dropped without a report after `limit` or later counts as failed: the breaker opens again. One
    /// that is dropped sooner says nothing and gives its slot back. 250 ms by default; with 0 every dropped probe
    /// counts. In 32-bit words the limit may be up to two ticks longer.
    ///
    /// Make it shorter than the timeouts around your calls; otherwise a resource that hangs is probed again as soon as
    /// a timeout has dropped the previous probe.
    pub const fn cancel_limit(mut self, limit: Duration) -> Self {
        self.cancel_limit_ms = ms(limit);
        self
    }

    /// Lets traffic return gradually: after enough probes have succeeded, a share of the calls passes, growing from
    /// `first_percent` (1 to 100) to all of them after the time `over`; the rest are rejected, and failures trip by the
    /// usual rules. At the end the breaker is closed, and failures of calls that are still in flight count nowhere. Off by
    /// default.
    ///
    /// For resources that break again when the whole load returns at once. The share grows linearly; the open time keeps
    /// growing if the breaker trips meanwhile.
    #[doc(alias = "slow start")]
    #[doc(alias = "ramp up")]
    pub const fn gradual_return(mut self, first_percent: u32, over: Duration) -> Self {
        self.gradual_return = Some(GradualReturn {
            first_percent: byte(first_percent),
            over_ms: ms(over),
        });
        self
    }

    /// Checks that this configuration fits a word of the given layout, as making a breaker does.
    pub const fn check(&self, layout: Layout) -> Result<(), ConfigError> {
        check::check(self, layout)
    }

    /// Whether a breaker with these rules needs a [`Tally`](crate::Tally).
    #[inline]
    pub const fn needs_tally(&self) -> bool {
        self.failure_ratio.is_some() || matches!(self.trip, TripRule::TallyOnly)
    }

    /// How many successes close the breaker: [`close_after`](Self::close_after), or as many as probes.
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

/// What was set, or the default, or what the word holds if that is less.
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
