// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules for sending HTTP requests again.

use std::time::Duration;

use atomic_breaker_tower::RetryPolicy;
use http::{HeaderMap, Method, Request};

use crate::classifier::HttpClassifier;
use crate::errors::ErrorRule;
use crate::head::ResponseHead;
use crate::rules::at_head;
use crate::{Failure, Outcome, Scope};

/// HTTP requests may be sent twice if their method or their sender says so. A result that the classifier counts as a
/// failure is tried again, and so is a 429 that it ignores, but not before a `Retry-After` has elapsed. Give the
/// breaker below the same classifier. [`ClientGuard`](crate::ClientGuard) does all this by itself.
///
/// ```
/// use atomic_breaker_http::{HttpClassifier, RetryBudget};
/// use atomic_breaker_tower::{RetryConfig, RetryLayer};
///
/// static BUDGET: RetryBudget = RetryBudget::new();
/// const RETRY: RetryLayer<&RetryBudget, HttpClassifier> =
///     RetryLayer::new(RetryConfig::new(), &BUDGET, HttpClassifier::new());
/// # let _ = RETRY;
/// ```
///
/// These may be sent twice, in this order:
///
/// 1. [`MayRepeat`] among the extensions of the request decides, either way.
/// 2. The idempotent methods of [RFC 9110, 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2), and only
///    these: GET, HEAD, OPTIONS, TRACE, PUT, DELETE.
/// 3. Others with an [`Idempotency-Key`](https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/):
///    exactly one, of visible ASCII characters, not empty (nor an empty string in quotes), without a comma, with which
///    proxies join several keys. If there are several, or one that is empty or garbled, the header is disregarded, as
///    it is unclear what the server makes of it.
///
/// Behind a proxy the sender may be anyone: a stranger with a key gets a POST tried as often as a GET, within the tries
/// and the budget. A proxy that does not want that removes the header, or sets `MayRepeat(false)`.
impl<B, T: ResponseHead, E, X: ErrorRule<E>> RetryPolicy<Request<B>, T, E> for HttpClassifier<X> {
    fn may_repeat(&self, request: &Request<B>) -> bool {
        may_repeat(request)
    }

    fn deadline(&self, request: &Request<B>) -> Option<Duration> {
        request.extensions().get().map(|&Deadline(time)| time)
    }

    fn classify(&self, result: &Result<T, E>) -> Outcome {
        match at_head(self, result) {
            // For the caller it is a failure that a later try may cure, whatever it says about the server.
            (_, Scope::Quota) => Failure::new().into(),
            (outcome, _) => outcome,
        }
    }

    fn retry_after(&self, result: &Result<T, E>) -> Option<Duration> {
        self.retry_hint(result.as_ref().ok()?)
    }

    fn before_retry(&self, request: &mut Request<B>, retry: u32) {
        request.extensions_mut().insert(ResendCount(retry));
    }
}

/// The caller's decision, among the extensions of a request: whether it may be sent twice, whatever its method.
/// `Request::post("/search").extension(MayRepeat(true))`, which only searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MayRepeat(pub bool);

/// The time limit that the caller sets for this request, all tries and pauses together: among the extensions of a
/// request (`.extension(Deadline(time))` of its builder). It only counts if it is shorter than the deadline of all
/// requests.
///
/// A `ClientGuard` ends the request at that time, and takes this off its tries, which go on. Other stacks begin no pause that
/// would not end before it; ending the try that is under way needs a time limit above the retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(pub Duration);

/// The number of times that a request has been sent before, as far as its try knows: among its extensions, from the
/// first retry on. It is the value of a span's attribute
/// [`http.request.resend_count`](https://opentelemetry.io/docs/specs/semconv/registry/attributes/http/) (stable since
/// 1.23 of OpenTelemetry's conventions), for a layer below the retries that makes spans. Where a
/// [`ClientGuard`](crate::ClientGuard) sends it again at once within a try, on another connection, that counts on from
/// the number of the try. [`ClientGuard::retries`](crate::ClientGuard::retries) counts the results of the retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResendCount(pub u32);

/// Returns whether a request may be sent twice.
pub(crate) fn may_repeat<B>(request: &Request<B>) -> bool {
    match request.extensions().get() {
        Some(MayRepeat(word)) => *word,
        None => may_be_sent_twice(request.method(), request.headers()),
    }
}

/// Returns whether the method and the sender allow a second try.
pub(crate) fn may_be_sent_twice(method: &Method, headers: &HeaderMap) -> bool {
    // Not `Method::is_idempotent`: which requests are tried again must not change with another crate's version.
    let is_idempotent = matches!(
        *method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE | Method::PUT | Method::DELETE
    );
    is_idempotent || idempotency_key(headers).is_some()
}

/// The `Idempotency-Key` of a request, if there is exactly one that is usable: the same key in each try tells the server
/// that they are one request.
pub fn idempotency_key(headers: &HeaderMap) -> Option<&str> {
    let mut keys = headers.get_all("idempotency-key").iter();
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return None;
    };
    // Fails unless all characters are visible ASCII, spaces or tabs.
    let key = key.to_str().ok()?;
    let says_nothing = key.trim().trim_matches('"').trim().is_empty() || key.contains(',');
    (!says_nothing).then_some(key)
}
