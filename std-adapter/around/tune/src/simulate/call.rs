// SPDX-License-Identifier: MIT OR Apache-2.0
//! A call, and how it ends.

use std::time::Duration;

use atomic_breaker::{Config, Outcome};

/// The end of a call: the outcome that its caller reports to the breaker, and the time of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completion {
    /// The outcome that the caller reports.
    pub outcome: Outcome,
    /// The duration of the call, in microseconds: at most 71 min.
    pub duration_us: u32,
    /// `true` if the caller leaves before the end and reports nothing: the breaker decides what that means.
    pub is_cancelled: bool,
}

impl Completion {
    /// The longest call: 71 min, as many microseconds as fit 32 bits.
    pub const LONGEST: Duration = Duration::from_micros(u32::MAX as u64);

    /// A call that ends after `duration`.
    ///
    /// # Panics
    /// If it takes longer than [`LONGEST`](Self::LONGEST).
    #[must_use]
    pub const fn new(outcome: Outcome, duration: Duration) -> Self {
        let micros = duration.as_micros();
        assert!(
            micros <= Self::LONGEST.as_micros(),
            "a call must not take longer than 71 min"
        );
        Self {
            outcome,
            duration_us: micros as u32,
            is_cancelled: false,
        }
    }

    /// A call whose caller leaves after `duration`, without a report.
    ///
    /// # Panics
    /// If it takes longer than [`LONGEST`](Self::LONGEST).
    #[must_use]
    pub const fn cancelled(duration: Duration) -> Self {
        Self {
            is_cancelled: true,
            ..Self::new(Outcome::Ignored, duration)
        }
    }

    /// Returns whether the caller has left so late that the call probably hung: after the default
    /// [`cancel_limit`](Config::cancel_limit) of a breaker.
    #[must_use]
    pub const fn has_hung(&self) -> bool {
        self.is_cancelled && self.duration_us / 1_000 >= Config::new().cancel_limit_ms
    }
}

/// A call that callers want to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedCall {
    /// The time at which it begins, in microseconds since the beginning of the run.
    pub start_us: u64,
    /// The resource that is called: the key of its breaker, where there is
    /// [one per key](super::engine::BreakerScope::PerKey).
    pub key: u32,
    /// The end of the call if it is made.
    pub completion: Completion,
    /// A number for the watcher of the run, such as that of a part of a log.
    pub tag: u16,
}

impl PlannedCall {
    /// A call of key 0, with tag 0.
    #[must_use]
    pub const fn new(start_us: u64, completion: Completion) -> Self {
        Self {
            start_us,
            key: 0,
            completion,
            tag: 0,
        }
    }
}
