// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choice of the requests that are retried, with the server's advice.

use std::time::Duration;

use atomic_breaker::{AnyError, Classify, Outcome};

/// The rules of a [`RetryLayer`](super::RetryLayer) for a request and its results: whether it may be sent twice, what
/// the outcome of a result is, and after which time the server allows another try.
///
/// A closure that says which requests may be sent twice is a policy: `|request: &Query| request.only_reads()`. It treats
/// every error as a failure. The classifiers of `atomic-breaker-http` know HTTP requests. For anything else, write one, which
/// judges results as the breaker below does:
///
/// ```
/// use atomic_breaker_tower::{Failure, Outcome, RetryPolicy};
/// use std::{io, time::Duration};
///
/// # struct Query { only_reads: bool }
/// # struct Rows { is_overloaded: bool }
/// #[derive(Clone, Copy)]
/// struct Reads;
///
/// impl RetryPolicy<Query, Rows, io::Error> for Reads {
///     fn may_repeat(&self, query: &Query) -> bool {
///         query.only_reads
///     }
///     fn classify(&self, result: &io::Result<Rows>) -> Outcome {
///         match result {
///             Ok(rows) if !rows.is_overloaded => Outcome::Success,
///             _ => Failure::new().into(),
///         }
///     }
///     fn retry_after(&self, result: &io::Result<Rows>) -> Option<Duration> {
///         result.is_ok().then_some(Duration::from_secs(1))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say when a `{Q}` that ended with a `Result<{T}, {E}>` is sent again",
    note = "a closure can, with the type of the request: `|request: &{Q}| true`"
)]
pub trait RetryPolicy<Q: ?Sized, T, E> {
    /// Returns whether this request may be sent again after it failed: it may have had its effect nevertheless, with
    /// only the response lost. Asked before the first try. A request that the breaker rejected was never sent, and may
    /// be sent in any case.
    fn may_repeat(&self, request: &Q) -> bool;

    /// Returns the caller's deadline for this request, counted from the call, if that may be sooner than
    /// [`RetryConfig::within`](super::RetryConfig::within): no pause begins that would not end by then. `None` unless
    /// implemented.
    fn deadline(&self, request: &Q) -> Option<Duration> {
        let _ = request;
        None
    }

    /// Classifies a result, like the breaker's [classifier](Classify): only a failure is tried again, and only a
    /// success deposits. Unless implemented, every error is a failure.
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        AnyError.classify(result)
    }

    /// Returns the time that the server's response asks the caller to wait: `Retry-After` of HTTP, push-back of gRPC.
    /// `None` unless implemented. Delays only this caller's retry. If the breaker rejects a retry after such a pause,
    /// the retry waits for the breaker, too, but only once.
    ///
    /// Asked for results that are failures, and for those that are ignored, such as a 429: that says nothing about the
    /// server, but when to try again. The pause is this time plus what the [`Backoff`](super::Backoff) draws, so that callers
    /// with the same hint do not return together. With a time that ends after the deadline, however large, the result is
    /// returned at once.
    fn retry_after(&self, result: &Result<T, E>) -> Option<Duration> {
        let _ = result;
        None
    }

    /// Called with the request before it is sent again, with the number of the retry, from 1: to mark it for what lies
    /// below, such as a span. Does nothing unless implemented. A retry that the breaker rejected and that is made later
    /// keeps its number.
    fn before_retry(&self, request: &mut Q, retry: u32) {
        let _ = (request, retry);
    }
}

impl<Q: ?Sized, T, E, F: Fn(&Q) -> bool> RetryPolicy<Q, T, E> for F {
    fn may_repeat(&self, request: &Q) -> bool {
        self(request)
    }
}
