// SPDX-License-Identifier: MIT OR Apache-2.0
//! The settings that say when it trips.

use core::time::Duration;

use super::{Config, Ratio, TripRule};
use crate::number::ms;

impl Config {
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
}
