//! How long the server asks to wait.

use std::time::Duration;

/// How long the server's response asks the caller to wait: `Retry-After` of HTTP, push-back of gRPC. Delays only this
/// caller's retry. If the breaker rejects a retry after such a pause, the retry waits for the breaker, too, but only
/// once.
///
/// Asked only for results that are failures. The pause is the hint plus what the [`Backoff`](super::Backoff) draws, so
/// that callers with the same hint do not return together. With a hint that ends after the deadline, however large, the
/// result is returned at once.
///
/// ```
/// use atomic_breaker_tower::{RetryBudget, RetryConfig, RetryPolicy};
/// use std::time::Duration;
///
/// static BUDGET: RetryBudget = RetryBudget::new();
///
/// struct Response { code: u16, retry_after: Option<Duration> }
///
/// let policy = RetryPolicy::new(RetryConfig::new(), &BUDGET, |_: &u32| true).hint(
///     |result: &Result<Response, std::io::Error>| match result {
///         Ok(response) => response.retry_after.filter(|_| response.code == 429),
///         Err(_) => None,
///     },
/// );
/// # let _ = policy;
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say how long to wait after a `Result<{T}, {E}>`",
    note = "give the policy a closure: `.hint(|result: &Result<{T}, {E}>| ..)`"
)]
pub trait RetryHint<T, E> {
    /// The time that the server asks for, if it does.
    fn retry_hint(&self, result: &Result<T, E>) -> Option<Duration>;
}

/// Never asks for a wait. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHint;

impl<T, E> RetryHint<T, E> for NoHint {
    fn retry_hint(&self, _: &Result<T, E>) -> Option<Duration> {
        None
    }
}

impl<T, E, F: Fn(&Result<T, E>) -> Option<Duration>> RetryHint<T, E> for F {
    fn retry_hint(&self, result: &Result<T, E>) -> Option<Duration> {
        self(result)
    }
}
