// SPDX-License-Identifier: MIT OR Apache-2.0
//! The settings of the open time.

use core::time::Duration;

use super::{Config, Growth};
use crate::number::{byte, ms};

impl Config {
    /// Sets the time that the breaker stays open after the first trip, and after every trip unless the open time grows. At
    /// most 24.8 days (2¹⁴ ticks in a 32-bit word).
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
}
