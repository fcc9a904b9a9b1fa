// SPDX-License-Identifier: MIT OR Apache-2.0
//! A change of state, and why.

use core::fmt;
use core::time::Duration;

use crate::state::{State, named};

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Transition {
    /// The state before.
    pub from: State,
    /// The state after. It may be the same as before, such as when a half-open breaker begins a new round of probes.
    pub to: State,
    /// The cause of the transition.
    pub cause: Cause,
    /// The time of the transition, as a reading of the clock: milliseconds since its origin, modulo 2³².
    pub at_ms: u32,
    /// The epoch that begins: one more than the one before, modulo 512 (16 in a 32-bit word).
    /// [`Breaker::transitions_since`](crate::Breaker::transitions_since) tells which of two came first.
    pub epoch: u16,
    /// Trips in a row, this one included.
    pub trips: u8,
    /// If it opens: for how many milliseconds, including growth, jitter, minimum and rounding to ticks.
    /// Otherwise 0.
    pub open_for_ms: u32,
}

impl Transition {
    /// A transition, for tests of code that handles it; the other fields are 0.
    pub const fn new(from: State, to: State, cause: Cause) -> Self {
        Self {
            from,
            to,
            cause,
            at_ms: 0,
            epoch: 0,
            trips: 0,
            open_for_ms: 0,
        }
    }

    /// If it opens: for how long, including growth, jitter, minimum and rounding.
    pub const fn open_for(&self) -> Option<Duration> {
        match self.to {
            State::Open => Some(Duration::from_millis(self.open_for_ms as u64)),
            _ => None,
        }
    }
}

/// `closed -> open: failures reached the limit, for 5s`
impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}: {}", self.from, self.to, self.cause)?;
        match self.open_for() {
            Some(time) => write!(f, ", for {time:?}"),
            None => Ok(()),
        }
    }
}

named! {
    /// The cause of a change of state.
    Cause,
    /// A few words for a log line: `failures reached the limit`.
    text;

    /// The failures counted in the word reached their limit.
    FailureLimit = "failures reached the limit",
    /// The tally said so: the failure ratio reached its limit.
    FailureRatio = "the failure ratio reached its limit",
    /// The tally said so of a slow call that did not fail: the [share of slow calls](crate::Ratio::slow_percent) reached its
    /// limit.
    SlowRatio = "the share of slow calls reached its limit",
    /// A failure demanded it: [`Failure::tripping`](crate::Failure::tripping).
    TripDemanded = "a failure demanded it",
    /// A failure asked for a minimum open time: [`Failure::retry_after`](crate::Failure::retry_after).
    RetryAfter = "a failure asked for a pause",
    /// The open time was over and a call came.
    OpenTimeOver = "the open time is over",
    /// A probe failed.
    ProbeFailed = "a probe failed",
    /// A probe was dropped without a report after [`Config::cancel_limit`](crate::Config::cancel_limit).
    ProbeCancelled = "a probe was cancelled late",
    /// The probes in flight did not report within their lease.
    ProbeLost = "a probe did not report",
    /// Enough probes succeeded.
    ProbesSucceeded = "enough probes succeeded",
    /// The time of a [gradual return](crate::Config::gradual_return) was over and a call came.
    TrafficReturned = "traffic has returned",
    /// By command: [`Breaker::trip`](crate::Breaker::trip) and the others.
    Manual = "by command",
    /// The word was [restored](crate::Breaker::restore): running times start over, probes in flight are forgotten.
    Restored = "restored",
    /// The word held an invalid state, or its memory lost its content; it was replaced by a fresh,
    /// closed one.
    CorruptWord = "the word held an invalid state",
}
