//! Retries of HTTP requests.

use std::time::Duration;

use crate::{
    ByMethod, EveryError, HttpClassifier, ResponseHead, RetryBudget, RetryConfig, RetryHint,
    RetryPolicy, UsualStatuses,
};

/// When an HTTP request is retried: [`HttpClassifier::retry_policy`].
pub type HttpRetryPolicy<B = &'static RetryBudget, S = UsualStatuses, X = EveryError> =
    RetryPolicy<B, ByMethod, HttpClassifier<S, X>, HttpClassifier<S, X>>;

impl<S: Copy, X: Copy> HttpClassifier<S, X> {
    /// A policy that retries what this classifier counts as a failure, if the request may be sent twice ([`ByMethod`]
    /// says which may), and not before a `Retry-After` has elapsed. Give the breaker below the same classifier.
    ///
    /// ```
    /// use atomic_breaker_http::{HttpClassifier, HttpRetryPolicy, RetryBudget, RetryConfig};
    ///
    /// static BUDGET: RetryBudget = RetryBudget::new();
    /// const POLICY: HttpRetryPolicy = HttpClassifier::new().retry_policy(RetryConfig::new(), &BUDGET);
    /// # let _ = POLICY;
    /// ```
    ///
    /// # Panics
    /// When the numbers are invalid: [`RetryPolicy::new`].
    pub const fn retry_policy<B>(self, config: RetryConfig, budget: B) -> HttpRetryPolicy<B, S, X> {
        RetryPolicy::from_parts(config, budget, ByMethod, self, self)
    }
}

/// The `Retry-After` of a 429 or 503: delays this caller's retry.
impl<T: ResponseHead, E, S, X> RetryHint<T, E> for HttpClassifier<S, X> {
    fn retry_hint(&self, result: &Result<T, E>) -> Option<Duration> {
        let response = result.as_ref().ok()?;
        HttpClassifier::retry_hint(self, response)
    }
}
