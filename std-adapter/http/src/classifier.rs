// SPDX-License-Identifier: MIT OR Apache-2.0
//! The classifier of HTTP responses.

use std::fmt;
use std::time::Duration;

use atomic_breaker_server::{AnyError, AnyPermit, Classify, Report};
use atomic_breaker_tower::ReadOn;
use http::StatusCode;

use crate::at_end::AtEnd;
use crate::errors::{ErrorRule, is_quota, of_one_request, scope_of_status};
use crate::head::ResponseHead;
use crate::retry_after::RetryAfter;
use crate::rules::{Head, HttpRules, at_head, report_head};
use crate::{Failure, Outcome, Scope};

/// The [classifier](Classify) of HTTP: 5xx, 408 and every `Err` count as failed, but not a 501, 505, 507 or 511, which
/// answer one request; a 429 is neutral, and a `Retry-After` of a 503 says for how long to open once the rules trip. The
/// [table](crate#what-counts-as-what) says why, and how to change it. It looks at the head of the response;
/// [`at_end_of_body`](Self::at_end_of_body) waits for the body as well.
///
/// A probe that gets a 429 [succeeds](Scope::Quota), except where this is a [`Classify`], which does not know of
/// probes: with [`Breaker::call_with`](atomic_breaker::Breaker::call_with), with `.classify(..)` of the layers and with
/// `retry_with`, it is ignored, and the next probe decides. So hand it to `.report(..)` of a layer, or to
/// [`AnyPermit::run_async`], or else a host that answers every call by 429 keeps its breaker half-open.
///
/// `Copy`, four words in addition to what its rule for errors captures, and usable for any number of breakers.
///
/// ```
/// use atomic_breaker_http::{Breaker, Config, HttpClassifier, breaker};
/// use http::{Response, StatusCode};
/// use std::{io, time::Duration};
///
/// static HTTP: HttpClassifier = HttpClassifier::new();
/// static PAYMENTS: Breaker = breaker(Config::new().consecutive_failures(2));
///
/// fn call() -> io::Result<Response<&'static str>> {
///     let mut response = Response::new("maintenance");
///     *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
///     response.headers_mut().insert("retry-after", "30".parse().unwrap());
///     Ok(response)
/// }
///
/// // The callers have their responses. The second failure in a row trips, for the time that the server asks for.
/// assert_eq!(*PAYMENTS.call_with(HTTP, call)?.body(), "maintenance");
/// assert_eq!(*PAYMENTS.call_with(HTTP, call)?.body(), "maintenance");
/// let wait = PAYMENTS.acquire().unwrap_err().retry_in();
/// assert!(wait > Some(Duration::from_secs(29)));
/// # Ok::<(), atomic_breaker_server::CallError<io::Error>>(())
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct HttpClassifier<X = AnyError> {
    responses: Responses,
    errors: X,
}

/// The rules for responses.
#[derive(Clone, Copy)]
struct Responses {
    statuses: fn(StatusCode) -> Outcome,
    hints: RetryAfter,
    trip_on_429: bool,
}

impl HttpClassifier {
    /// 5xx, 408 and every error are failures of weight 1, except 501, 505, 507 and 511; a 429 is neutral.
    pub const fn new() -> Self {
        let responses = Responses {
            statuses: usual,
            hints: RetryAfter::new(),
            trip_on_429: false,
        };
        let errors = AnyError;
        Self { responses, errors }
    }
}

/// Even with "404 Not Found" the server has responded.
fn usual(status: StatusCode) -> Outcome {
    if let Some(outcome) = of_one_request(status) {
        return outcome;
    }
    match status {
        // It concerns one tenant, and may come from a limiter in front of a server that is dead.
        StatusCode::TOO_MANY_REQUESTS => Outcome::Ignored,
        StatusCode::REQUEST_TIMEOUT => Failure::new().into(),
        status if status.is_server_error() => Failure::new().into(),
        _ => Outcome::Success,
    }
}

/// The settings.
impl<X> HttpClassifier<X> {
    /// Sets the outcome of each status, with or without a weight, in place of the default; a `Retry-After` of a 503 is
    /// still heeded, if 503 is a failure, and a 429 that is ignored still lets a probe [succeed](Scope::Quota).
    ///
    /// An answer that says no is a success: the host lives. Ignore only what others say in its place, since a probe that gets
    /// it decides nothing, and the breaker stays half-open for as long as that is all that comes.
    ///
    /// ```
    /// use atomic_breaker_http::{Failure, HttpClassifier, Outcome};
    /// use http::StatusCode;
    ///
    /// static HTTP: HttpClassifier = HttpClassifier::new().statuses(|status| match status.as_u16() {
    ///     502 | 504 => Failure::with_weight(2).into(),
    ///     // The gateway's own word for a route that it does not have: the server was not asked.
    ///     421 => Outcome::Ignored,
    ///     _ => HttpClassifier::new().status(status),
    /// });
    /// assert_eq!(HTTP.status(StatusCode::NOT_FOUND), Outcome::Success);
    /// assert_eq!(HTTP.status(StatusCode::MISDIRECTED_REQUEST), Outcome::Ignored);
    /// ```
    pub const fn statuses(mut self, statuses: fn(StatusCode) -> Outcome) -> Self {
        self.responses.statuses = statuses;
        self
    }

    /// Sets the outcome of each error: a [rule](ErrorRule) such as [`UsualErrors`](crate::UsualErrors), or a closure,
    /// which must name the type of the error, and its own result if that is not clear:
    /// `|error: &io::Error| -> Outcome`.
    ///
    /// Clients that turn statuses into errors (`error_for_status` of reqwest) need it: otherwise a "404 Not Found"
    /// counts as if the server could not be reached. [`status`](Self::status) says what a status counts as.
    ///
    /// ```
    /// use atomic_breaker_http::{Failure, HttpClassifier, Outcome};
    /// use http::StatusCode;
    ///
    /// # /// Has what `reqwest::Error` has.
    /// # struct Error { status: Option<StatusCode>, is_connect: bool, is_builder: bool }
    /// let http = HttpClassifier::new().errors(|error: &Error| -> Outcome {
    ///     match error.status {
    ///         Some(status) => HttpClassifier::new().status(status),
    ///         None if error.is_connect => Failure::with_weight(3).into(),
    ///         None if error.is_builder => Outcome::Ignored,
    ///         None => Failure::new().into(),
    ///     }
    /// });
    /// # let error = Error { status: Some(StatusCode::NOT_FOUND), is_connect: false, is_builder: false };
    /// # assert_eq!(http.error(&error), Outcome::Success);
    /// ```
    pub const fn errors<Y>(self, errors: Y) -> HttpClassifier<Y>
    where
        X: Copy,
    {
        let responses = self.responses;
        HttpClassifier { responses, errors }
    }

    /// A `Retry-After` is honoured up to this time, 300 s unless set. Beyond 5 minutes the breaker needs a
    /// [`Config::max_retry_after`](crate::Config::max_retry_after) as well.
    ///
    /// It says for how long to open once the rules trip; on its own it opens nothing, so that one overloaded instance of
    /// many shuts out none of the others. With zero it is ignored: the breaker opens for its own time, however long a
    /// server asks for. A retry above that should wait for it has a classifier of its own.
    pub const fn max_retry_after(mut self, limit: Duration) -> Self {
        self.responses.hints = RetryAfter::with_limit(limit);
        self
    }

    /// Sets whether a 429 is a failure, and with `Retry-After` opens the breaker at once, at least for that time. By
    /// default it is [neutral](Scope::Quota). Turn it on where all calls through a breaker share one quota.
    pub const fn trip_on_429(mut self, trip: bool) -> Self {
        self.responses.trip_on_429 = trip;
        self
    }

    /// Reports at the end of the body, so that a truncated one counts as a failure. See [`AtEnd`].
    pub const fn at_end_of_body(self) -> AtEnd<Self> {
        AtEnd::new(self)
    }
}

/// Classification of results.
impl<X> HttpClassifier<X> {
    /// Classifies a response: for use without a `Result`, such as in axum middleware.
    pub fn response(&self, response: &(impl ResponseHead + ?Sized)) -> Outcome {
        let (status, trips) = (response.status(), self.responses.trip_on_429);
        match self.status(status) {
            Outcome::Failure(failure) => match self.retry_hint(response) {
                Some(hint) if !is_quota(status) => failure.asking_for(hint).into(),
                Some(hint) if trips => Failure::tripping_for(hint).into(),
                _ => failure.into(),
            },
            outcome => outcome,
        }
    }

    /// Classifies a status alone.
    pub fn status(&self, status: StatusCode) -> Outcome {
        match (self.responses.statuses)(status) {
            Outcome::Ignored if self.responses.trip_on_429 && is_quota(status) => {
                Failure::new().into()
            }
            outcome => outcome,
        }
    }

    /// Classifies an error.
    pub fn error<E: ?Sized>(&self, error: &E) -> Outcome
    where
        X: ErrorRule<E>,
    {
        self.errors.outcome(error)
    }

    /// The time after which the server allows another try: the `Retry-After` of a 503, and for a 429 also a rate
    /// limiter's [quota](RetryAfter::read_quota), whatever the breaker makes of it. For retries, and for passing on to
    /// one's own callers.
    pub fn retry_hint(&self, response: &(impl ResponseHead + ?Sized)) -> Option<Duration> {
        let hints = self.responses.hints;
        match response.status() {
            StatusCode::SERVICE_UNAVAILABLE => hints.read(response.headers()),
            StatusCode::TOO_MANY_REQUESTS => hints.read_quota(response.headers()),
            _ => None,
        }
    }

    /// This classifier without its rule for errors: for responses alone.
    pub(crate) const fn of_responses(&self) -> HttpClassifier {
        let (responses, errors) = (self.responses, AnyError);
        HttpClassifier { responses, errors }
    }

    /// This classifier with a rule for errors that is made of its own.
    #[cfg(feature = "reqwest-middleware")]
    pub(crate) fn map_errors<Y>(self, map: impl FnOnce(X) -> Y) -> HttpClassifier<Y> {
        let (responses, errors) = (self.responses, map(self.errors));
        HttpClassifier { responses, errors }
    }
}

impl<X> HttpRules for HttpClassifier<X> {
    fn head(&self, response: &(impl ResponseHead + ?Sized)) -> Head {
        match self.response(response) {
            Outcome::Success => Head::Open {
                without: Outcome::Success,
                dropped: Some(Outcome::Success),
            },
            outcome => Head::Over(outcome, scope_of_status(response.status(), outcome)),
        }
    }
}

impl<E: ?Sized, X: ErrorRule<E>> ErrorRule<E> for HttpClassifier<X> {
    fn judge(&self, error: &E) -> (Outcome, Scope) {
        self.errors.judge(error)
    }
}

impl<T: ResponseHead, E, X: ErrorRule<E>> Classify<T, E> for HttpClassifier<X> {
    fn classify(&self, result: &Result<T, E>) -> Outcome {
        at_head(self, result).0
    }
}

impl<T, E, X> Report<T, E> for HttpClassifier<X>
where
    T: ResponseHead,
    E: fmt::Display,
    X: ErrorRule<E>,
{
    type Output<P: AnyPermit> = T;

    fn report<P: AnyPermit>(&self, permit: P, result: Result<T, E>) -> Result<T, E> {
        report_head(self, permit, &result);
        result
    }
}

impl<T, E, X> ReadOn<T, E> for HttpClassifier<X> where Self: Report<T, E> {}

impl Default for HttpClassifier {
    fn default() -> Self {
        Self::new()
    }
}

// By hand, since closures do not implement `Debug`.
impl<X> fmt::Debug for HttpClassifier<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClassifier")
            .field("max_retry_after", &self.responses.hints.limit())
            .field("trip_on_429", &self.responses.trip_on_429)
            .finish_non_exhaustive()
    }
}
