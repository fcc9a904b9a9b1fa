//! How long to pause before a retry.

use std::time::Duration;

use super::RetryConfigError;

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
///
/// ```
/// use atomic_breaker_tower::Backoff;
/// use std::time::Duration;
///
/// const PATIENT: Backoff = Backoff::new()
///     .first(Duration::from_millis(200))
///     .factor(3)
///     .longest(Duration::from_secs(10));
///
/// assert_eq!(PATIENT.most(2), Duration::from_millis(600));
/// assert!(PATIENT.draw(2) < Duration::from_millis(600));
/// ```
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

    /// By how much the pauses grow: 1 means no growth, 2 doubles them.
    pub const fn factor(mut self, factor: u32) -> Self {
        self.factor = factor;
        self
    }

    /// Whether these numbers are valid.
    ///
    /// # Errors
    /// [`RetryConfigError`] says which number is wrong, and what to do.
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

    /// The maximum of the pauses of this many retries in total: what to leave room for in a deadline.
    pub fn most_in_all(&self, retries: u32) -> Duration {
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
