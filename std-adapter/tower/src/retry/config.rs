// SPDX-License-Identifier: MIT OR Apache-2.0
//! The numbers of a policy, its pauses, and what is wrong with them.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The limits of a request's tries, in number and in time: set by the methods, read through the fields. Checked when
/// the policy is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct RetryConfig {
    /// [`tries`](Self::tries); 3 by default.
    pub tries: u32,
    /// [`backoff`](Self::backoff); up to 100 ms, doubled up to 2 s by default.
    pub backoff: Backoff,
    /// [`within`](Self::within); 10 s by default.
    pub within: Duration,
    /// [`rejection_waits`](Self::rejection_waits); none by default.
    pub rejection_waits: u32,
}

impl RetryConfig {
    /// Three tries, up to 100 and then up to 200 ms apart, all of them begun within 10 s; a rejection is returned at
    /// once.
    pub const fn new() -> Self {
        Self {
            tries: 3,
            backoff: Backoff::new(),
            within: Duration::from_secs(10),
            rejection_waits: 0,
        }
    }

    /// The maximum number of times that a request is made, including the first: 1 or more. A request that the breaker
    /// rejects is not made and does not count.
    pub const fn tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }

    /// The pauses between tries.
    pub const fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// The time from the call within which the last try begins: no pause begins that would not end before, whatever asks
    /// for the pause; the result is returned at once instead. More than 0. This is no deadline, as a try that is under way is not
    /// cut short: that needs a time limit above the retry, best the same, and another one below the breaker.
    pub const fn within(mut self, time: Duration) -> Self {
        self.within = time;
        self
    }

    /// Sets the number of times that a request waits for a breaker that rejects it, in all of its tries together; after
    /// that the rejection is returned. 0, the default: never. It waits at least
    /// [`Rejection::retry_in`](crate::Rejection), and up to a first pause longer, since all rejected requests return
    /// then; and only if the wait ends before the deadline. While the breaker is forced open it never waits. Where only
    /// a share of the rejections is enforced, it is decided once for all tries of a request whether its own are; but at
    /// each try where another task asks the breaker, as with a `Buffer` between.
    ///
    /// A waiting request holds its caller, its memory and its place in all limits above. On a server with a bounded
    /// number of callers, all of them end up waiting for the host that is down, and none are left for those that work;
    /// so wait only where a late response is worth that, such as in a background task.
    pub const fn rejection_waits(mut self, waits: u32) -> Self {
        self.rejection_waits = waits;
        self
    }

    /// The longest that all pauses between tries can take together, if no server asks for more and no breaker is waited for.
    /// Together with the time of all tries it should be shorter than the deadline.
    pub fn most_paused(&self) -> Duration {
        self.backoff.most_in_all(self.tries.saturating_sub(1))
    }

    /// Checks that these numbers are valid.
    pub const fn check(&self) -> Result<(), RetryConfigError> {
        if self.tries == 0 {
            return Err(RetryConfigError(
                "with 0 tries not even the first call is made: set at least 1, which means no retry",
            ));
        }
        if self.within.is_zero() {
            return Err(RetryConfigError(
                "within 0 no retry begins in time: lengthen it, or set tries to 1 for no retry",
            ));
        }
        self.backoff.check()
    }
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// Invalid numbers. The message says which, and what to do; in a `const` or `static` it is the message of the compile
/// error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryConfigError(pub(super) &'static str);

impl fmt::Display for RetryConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for RetryConfigError {}

/// Exponential pauses with full jitter, drawn again for every request and every try.
///
/// ```text
/// pause before retry n  =  random between 0 and min(longest, first × factorⁿ⁻¹)
/// ```
///
/// "Full jitter" from [Exponential Backoff and
/// Jitter](https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/) (AWS Architecture Blog): the
/// simpler of the two kinds that cost the least work there.
///
/// Not tower's `ExponentialBackoff`: its maker clones the random generator as it is, so that all requests of a service
/// pause equally long; its jitter is added to the pause; and once a pause has begun it is too late to compare it with a
/// deadline. The random numbers here are those of `fastrand`, one generator per thread, seeded by the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    factor: u32,
}

impl Backoff {
    /// Up to 100 ms, doubled with each retry, up to 2 s.
    pub const fn new() -> Self {
        Self {
            first: Duration::from_millis(100),
            longest: Duration::from_secs(2),
            factor: 2,
        }
    }

    /// The maximum of the first pause. More than 0.
    pub const fn first(mut self, pause: Duration) -> Self {
        self.first = pause;
        self
    }

    /// The maximum of any pause. At least the [first](Self::first).
    pub const fn longest(mut self, pause: Duration) -> Self {
        self.longest = pause;
        self
    }

    /// Sets the factor by which the pauses grow: 1 means no growth, 2 doubles them.
    pub const fn factor(mut self, factor: u32) -> Self {
        self.factor = factor;
        self
    }

    /// Checks that these numbers are valid.
    pub const fn check(&self) -> Result<(), RetryConfigError> {
        let message = if self.first.is_zero() {
            "with a first pause of 0 all callers retry at once: lengthen it"
        } else if self.longest.as_nanos() < self.first.as_nanos() {
            "the longest pause is shorter than the first one: lengthen it or shorten the first"
        } else if self.factor == 0 {
            "with a factor of 0 there is no pause: set 1 for constant pauses, 2 to double them"
        } else {
            return Ok(());
        };
        Err(RetryConfigError(message))
    }

    /// The maximum pause before retry `retry`; the first retry is 1, and 0 is treated as 1.
    pub fn most(&self, retry: u32) -> Duration {
        let growth = self.factor.checked_pow(retry.saturating_sub(1));
        let grown = growth.and_then(|growth| self.first.checked_mul(growth));
        grown.map_or(self.longest, |pause| pause.min(self.longest))
    }

    /// The maximum of the pauses of this many retries in total.
    fn most_in_all(&self, retries: u32) -> Duration {
        let mut all = Duration::ZERO;
        for retry in 1..=retries {
            let most = self.most(retry);
            if most == self.most(retry.saturating_add(1)) {
                // They no longer grow: computed at once, where a loop would take billions of steps.
                let rest = most.checked_mul(retries - retry + 1);
                return rest.map_or(Duration::MAX, |rest| all.saturating_add(rest));
            }
            all = all.saturating_add(most);
        }
        all
    }

    /// A random pause before retry `retry`, drawn anew each time.
    pub fn draw(&self, retry: u32) -> Duration {
        let most = u64::try_from(self.most(retry).as_nanos()).unwrap_or(u64::MAX);
        // The cap of 584 years is long enough.
        Duration::from_nanos(fastrand::u64(0..most.max(1)))
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}
