//! How long the server asks to wait.

use std::time::Duration;

/// How long the server asks the caller to wait, by its response: `Retry-After` of HTTP, push-back of gRPC.
/// Delays this caller's retry and nobody else's. A retry that the breaker rejects after such a pause waits once for the
/// breaker, too.
///
/// Asked only for results that are failures. The pause is the hint and, on top, what the
/// [`Backoff`](super::Backoff) draws, so that the callers who were given the same hint do not come back together.
/// A hint that ends after the deadline, however large, is answered at once.
///
/// ```
/// use atomic_breaker_std::retry::{RetryBudget, RetryConfig, RetryPolicy};
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

/// Nobody asks for anything. The default.
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
