//! What an HTTP response says about its server.

use std::fmt;
use std::time::Duration;

use http::StatusCode;

use super::head::ResponseHead;
use super::reason::{Reason, why};
use super::retry_after::RetryAfter;
use super::rules::{ErrorRule, EveryError, StatusRule, UsualStatuses};
use super::scope::report_result;
use crate::{AnyPermit, Classify, Failure, Outcome, Report};

/// The [classifier](Classify) of HTTP: 5xx, 408, 429 and every `Err` count as failed. It looks at the head of the
/// response; [`at_end_of_body`](Self::at_end_of_body) waits for the body as well.
///
/// - A `Retry-After` of a **503** opens the breaker at once, at least for that long.
/// - A **429** counts as one failure, and its `Retry-After` is for the caller alone ([`retry_hint`](Self::retry_hint)):
///   where several tenants share a host, the quota of one must not shut out the others.
/// - Every other **4xx** is a success: the server has responded, the request was wrong.
///
/// `Copy`, two words in addition to what its closures capture, and usable for any number of breakers.
///
/// ```
/// use atomic_breaker_http::{Breaker, Config, HttpClassifier, breaker};
/// use http::{Response, StatusCode};
/// use std::{io, time::Duration};
///
/// static HTTP: HttpClassifier = HttpClassifier::new();
/// static PAYMENTS: Breaker = breaker(Config::new());
///
/// fn call() -> io::Result<Response<&'static str>> {
///     let mut response = Response::new("maintenance");
///     *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
///     response.headers_mut().insert("retry-after", "30".parse().unwrap());
///     Ok(response)
/// }
///
/// // The caller has its response, and the breaker knows.
/// let response = PAYMENTS.call_with(HTTP, call)?;
/// assert_eq!(*response.body(), "maintenance");
/// let wait = PAYMENTS.acquire().unwrap_err().retry_in();
/// assert!(wait > Some(Duration::from_secs(29)));
/// # Ok::<(), atomic_breaker_http::CallError<io::Error>>(())
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct HttpClassifier<S = UsualStatuses, X = EveryError> {
    pub(super) statuses: S,
    pub(super) errors: X,
    pub(super) hints: RetryAfter,
    pub(super) trip_on_503: bool,
    pub(super) trip_on_429: bool,
}

impl HttpClassifier {
    /// 5xx, 408, 429 and every error are failures of weight 1.
    pub const fn new() -> Self {
        Self::with_rules(UsualStatuses, EveryError)
    }
}

impl<S, X> HttpClassifier<S, X> {
    /// When the caller may try again, as the server says: the `Retry-After` of a 429 or 503, whatever the breaker makes
    /// of it. For retries, and for passing on to one's own callers.
    ///
    /// ```
    /// use atomic_breaker_http::HttpClassifier;
    /// use http::Response;
    /// use std::time::Duration;
    ///
    /// let response = Response::builder().status(429).header("retry-after", "2").body(())?;
    /// assert_eq!(HttpClassifier::new().retry_hint(&response), Some(Duration::from_secs(2)));
    /// # Ok::<(), http::Error>(())
    /// ```
    pub fn retry_hint(&self, response: &(impl ResponseHead + ?Sized)) -> Option<Duration> {
        match response.status() {
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                self.hints.read(response.headers())
            }
            _ => None,
        }
    }
}

impl<S: StatusRule, X> HttpClassifier<S, X> {
    /// What a response says: for use without a `Result`, such as in axum middleware.
    pub fn response(&self, response: &(impl ResponseHead + ?Sized)) -> Outcome {
        let outcome = self.status(response.status());
        let trips = match response.status() {
            StatusCode::SERVICE_UNAVAILABLE => self.trip_on_503,
            StatusCode::TOO_MANY_REQUESTS => self.trip_on_429,
            _ => false,
        };
        if !trips || !matches!(outcome, Outcome::Failure(_)) {
            return outcome;
        }
        self.hints
            .read(response.headers())
            .map_or(outcome, |hint| Failure::retry_after(hint).into())
    }

    /// What a status alone says.
    pub fn status(&self, status: StatusCode) -> Outcome {
        self.statuses.outcome(status)
    }

    /// Why a result is a failure, in a few words for a log; `None` if it is not. Formatted only when it is displayed.
    ///
    /// ```
    /// use atomic_breaker_http::HttpClassifier;
    /// use http::{Response, StatusCode};
    /// use std::io;
    ///
    /// let http = HttpClassifier::new();
    /// let mut result = Ok(Response::new(()));
    /// assert!(http.reason(&result).is_none());
    /// *result.as_mut().unwrap().status_mut() = StatusCode::BAD_GATEWAY;
    /// assert_eq!(http.reason(&result).unwrap().to_string(), "502 Bad Gateway");
    /// result = Err(io::Error::other("connection reset"));
    /// assert_eq!(http.reason(&result).unwrap().to_string(), "transport: connection reset");
    /// ```
    pub fn reason<'a, T: ResponseHead, E>(&self, result: &'a Result<T, E>) -> Option<Reason<'a, E>>
    where
        X: ErrorRule<E>,
    {
        let failed = matches!(self.classify(result), Outcome::Failure(_));
        failed.then(|| match result {
            Ok(response) => Reason::Status(response.status()),
            Err(error) => Reason::Error(error),
        })
    }
}

impl<S, X> HttpClassifier<S, X> {
    /// What an error means; [`response`](Self::response) says it of a response.
    pub fn error<E: ?Sized>(&self, error: &E) -> Outcome
    where
        X: ErrorRule<E>,
    {
        self.errors.outcome(error)
    }
}

impl<T: ResponseHead, E, S: StatusRule, X: ErrorRule<E>> Classify<T, E> for HttpClassifier<S, X> {
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        match result {
            Ok(response) => self.response(response),
            Err(error) => self.errors.outcome(error),
        }
    }
}

impl<T, E, S, X> Report<T, E> for HttpClassifier<S, X>
where
    T: ResponseHead,
    E: fmt::Display,
    S: StatusRule,
    X: ErrorRule<E>,
{
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        let outcome = || self.classify(&result);
        report_result(permit, &result, &self.errors, outcome, || why(&result));
        result
    }
}

impl Default for HttpClassifier {
    fn default() -> Self {
        Self::new()
    }
}

// By hand, since closures do not implement `Debug`.
impl<S, X> fmt::Debug for HttpClassifier<S, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClassifier")
            .field("max_retry_after", &self.hints.limit())
            .field("trip_on_503", &self.trip_on_503)
            .field("trip_on_429", &self.trip_on_429)
            .finish_non_exhaustive()
    }
}
