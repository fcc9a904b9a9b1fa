// SPDX-License-Identifier: MIT OR Apache-2.0
//! The times at which a step that failed is tried again, and their number.

use std::time::Duration;

/// The times at which a step that failed is tried again, their number in all, and the time at which a person is
/// notified.
///
/// ```text
/// pause after failure n  =  min(longest, first × growthⁿ⁻¹), more or less by the jitter
/// ```
///
/// By default ten tries over about 36 hours, as in "Circuit Breakers with Durable Steps": 10 s × 3.112 without a limit,
/// 20 % more or less; a person is notified of the first failure later than an hour after the job was due.
///
/// ```
/// use atomic_breaker_steps::Schedule;
/// use std::time::Duration;
///
/// let hasty = Schedule::new()
///     .first(Duration::from_secs(1))
///     .growth(2.0)
///     .longest(Duration::from_secs(60))
///     .tries(20);
/// assert_eq!(hasty.pause(3), Some(Duration::from_secs(4)));
/// assert_eq!(hasty.pause(20), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Schedule {
    first: Duration,
    growth: f64,
    longest: Option<Duration>,
    jitter_percent: u32,
    tries: u32,
    tell_after: Duration,
}

/// A longer pause is assumed to be a mistake: ten years.
pub(super) const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);

impl Schedule {
    /// Ten tries over about 36 hours.
    pub const fn new() -> Self {
        Self {
            first: Duration::from_secs(10),
            growth: 3.112,
            longest: None,
            jitter_percent: 20,
            tries: 10,
            tell_after: Duration::from_secs(60 * 60),
        }
    }

    /// The pause after the first failure, before jitter: more than 0, at most ten years.
    pub const fn first(mut self, pause: Duration) -> Self {
        self.first = pause;
        self
    }

    /// The factor from each pause to the next: 1 keeps it constant, 2 doubles it. 1 to 100.
    pub const fn growth(mut self, growth: f64) -> Self {
        self.growth = growth;
        self
    }

    /// The longest pause, before jitter; unlimited unless set. At least the [first](Self::first).
    pub const fn longest(mut self, pause: Duration) -> Self {
        self.longest = Some(pause);
        self
    }

    /// Sets the percentage by which a pause is longer or shorter, at random: 0 to 100, 20 unless set.
    pub const fn jitter_percent(mut self, percent: u32) -> Self {
        self.jitter_percent = percent;
        self
    }

    /// Sets the number of times that a step is tried in all, 1 or more. Tries of the job's earlier steps do not count.
    pub const fn tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }

    /// Sets the time after a job was first due from which a person is notified of its next failure, once; an hour
    /// unless set. A job that ends without success is reported in any case.
    pub const fn tell_after(mut self, age: Duration) -> Self {
        self.tell_after = age;
        self
    }

    /// The pause after this many failures in a row, before jitter; `None` if that was the last try.
    pub fn pause(&self, failures: u32) -> Option<Duration> {
        if failures >= self.tries {
            return None;
        }
        let grown = self.growth.powf(f64::from(failures.saturating_sub(1)));
        let pause = Duration::try_from_secs_f64(self.first.as_secs_f64() * grown);
        let most = self.longest.unwrap_or(LONGEST);
        Some(pause.unwrap_or(most).min(most))
    }

    /// Like [`pause`](Self::pause), with jitter, drawn again each time.
    pub(super) fn draw(&self, failures: u32) -> Option<Duration> {
        Some(self.jittered(self.pause(failures)?))
    }

    fn jittered(&self, pause: Duration) -> Duration {
        let jitter = f64::from(self.jitter_percent) / 100.0;
        pause.mul_f64(1.0 + jitter * (2.0 * fastrand::f64() - 1.0))
    }

    /// The pause of a job that was not tried: one poll, doubled for each time before, and no longer than the larger of
    /// `longest` and one poll; with jitter.
    pub(super) fn held_up(&self, poll: Duration, times: u32, longest: Duration) -> Duration {
        let grown = poll.saturating_mul(1 << times.min(30));
        self.jittered(grown.min(longest.max(poll)))
    }

    pub(super) const fn tells(&self, age: Duration) -> bool {
        age.as_nanos() >= self.tell_after.as_nanos()
    }

    /// Checks that these numbers make sense; otherwise returns which one does not, and how to fix it.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        Err(if self.first.is_zero() || self.first > LONGEST {
            "the first pause must be longer than 0 and at most ten years: change it"
        } else if !(1.0..=100.0).contains(&self.growth) {
            "the growth must be from 1 to 100: change it"
        } else if self.longest.is_some_and(|longest| longest < self.first) {
            "the longest pause is below the first one: lengthen it or shorten the first"
        } else if self.longest.is_some_and(|longest| longest > LONGEST) {
            "the longest pause is more than ten years: shorten it"
        } else if self.jitter_percent > 100 {
            "the jitter is more than 100 percent: lower it"
        } else if self.tries == 0 {
            "with 0 tries nothing is done: set at least 1"
        } else {
            return Ok(());
        })
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self::new()
    }
}
