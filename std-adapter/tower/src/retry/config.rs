//! The numbers of a policy, and what is wrong with them.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::Backoff;

/// How often and for how long a request is tried. Checked when the policy is built.
///
/// ```
/// use atomic_breaker_tower::{Backoff, RetryConfig};
/// use std::time::Duration;
///
/// const PATIENT: RetryConfig = RetryConfig::new()
///     .tries(5)
///     .backoff(Backoff::new().longest(Duration::from_secs(5)))
///     .within(Duration::from_secs(30))
///     .rejection_waits(2);
/// assert!(PATIENT.check().is_ok());
///
/// let error = PATIENT.tries(0).check().unwrap_err();
/// assert!(error.to_string().contains("set at least 1"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct RetryConfig {
    pub(super) tries: u32,
    pub(super) backoff: Backoff,
    pub(super) within: Duration,
    pub(super) rejection_waits: u32,
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

    /// The deadline, counted from the call: no pause begins that would not end before it, whatever asks for the pause;
    /// the result is returned at once instead. More than 0. A try that is under way is not cut short: that needs a time
    /// limit above the retry, best the same, and another one below the breaker.
    pub const fn within(mut self, time: Duration) -> Self {
        self.within = time;
        self
    }

    /// How many times a request waits for a breaker that rejects it, in all of its tries together; after that the
    /// rejection is returned. 0, the default: never. It waits at least [`Rejection::retry_in`](crate::Rejection), and
    /// up to a first pause longer, since all rejected requests return then; and only if the wait ends before the
    /// deadline. While the breaker is forced open it never waits.
    ///
    /// A waiting request holds its caller, its memory and its place in all limits above. On a server with a bounded
    /// number of callers, all of them end up waiting for the host that is down, and none are left for those that work;
    /// so wait only where a late response is worth that, such as in a background task.
    pub const fn rejection_waits(mut self, waits: u32) -> Self {
        self.rejection_waits = waits;
        self
    }

    /// The maximum number of times that a request is made.
    pub const fn get_tries(&self) -> u32 {
        self.tries
    }

    /// How many times a request waits for a breaker that rejects it.
    pub const fn get_rejection_waits(&self) -> u32 {
        self.rejection_waits
    }

    /// The longest that all pauses between tries can take together, if no server asks for more and no breaker is waited for.
    /// Together with the time of all tries it should be shorter than the deadline.
    pub fn most_paused(&self) -> Duration {
        self.backoff.most_in_all(self.tries.saturating_sub(1))
    }

    /// Whether these numbers are valid.
    ///
    /// # Errors
    /// [`RetryConfigError`] says which number is wrong, and what to do.
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
