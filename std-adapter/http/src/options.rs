//! The settings of the HTTP classifier.

use std::time::Duration;

use http::StatusCode;

use super::at_end::AtEnd;
use super::classifier::HttpClassifier;
use super::retry_after::RetryAfter;
use super::rules::FailsOn;
use crate::Outcome;

impl<S, X> HttpClassifier<S, X> {
    /// A classifier with your own rules, also in a `static`, where a function is a rule whose type has a name.
    ///
    /// ```
    /// use atomic_breaker_http::{EveryError, FailsOn, Failure, HttpClassifier, Outcome};
    /// use http::StatusCode;
    ///
    /// static HTTP: HttpClassifier<FailsOn<fn(StatusCode) -> bool>> =
    ///     HttpClassifier::with_rules(FailsOn(|status| status.as_u16() >= 502), EveryError);
    /// assert_eq!(HTTP.status(StatusCode::INTERNAL_SERVER_ERROR), Outcome::Success);
    /// assert_eq!(HTTP.status(StatusCode::BAD_GATEWAY), Failure::new().into());
    /// ```
    pub const fn with_rules(statuses: S, errors: X) -> Self {
        Self {
            statuses,
            errors,
            hints: RetryAfter::new(),
            trip_on_503: true,
            trip_on_429: false,
        }
    }

    /// The statuses that are failures, of weight 1, in place of 5xx, 408 and 429. A `Retry-After` of 503
    /// still counts, if 503 is among them.
    ///
    /// ```
    /// use atomic_breaker_http::{HttpClassifier, Outcome};
    /// use http::StatusCode;
    ///
    /// let http = HttpClassifier::new().fails_on(|status| status.is_server_error());
    /// assert_eq!(http.status(StatusCode::TOO_MANY_REQUESTS), Outcome::Success);
    /// ```
    pub fn fails_on<F: Fn(StatusCode) -> bool>(self, fails: F) -> HttpClassifier<FailsOn<F>, X> {
        self.rule(FailsOn(fails))
    }

    /// What each status counts as, with or without a weight. A rule with a name of its own goes into
    /// [`with_rules`](Self::with_rules).
    ///
    /// ```
    /// use atomic_breaker_http::{Failure, HttpClassifier, Outcome};
    /// use http::StatusCode;
    ///
    /// let http = HttpClassifier::new().statuses(|status| match status.as_u16() {
    ///     502 | 504 => Failure::with_weight(2).into(),
    ///     500..=599 => Failure::new().into(),
    ///     // They say nothing about the server: a probe that gets one is repeated.
    ///     400..=499 => Outcome::Ignored,
    ///     _ => Outcome::Success,
    /// });
    /// assert_eq!(http.status(StatusCode::NOT_FOUND), Outcome::Ignored);
    /// ```
    pub fn statuses<F: Fn(StatusCode) -> Outcome>(self, statuses: F) -> HttpClassifier<F, X> {
        self.rule(statuses)
    }

    fn rule<R>(self, statuses: R) -> HttpClassifier<R, X> {
        HttpClassifier {
            statuses,
            errors: self.errors,
            hints: self.hints,
            trip_on_503: self.trip_on_503,
            trip_on_429: self.trip_on_429,
        }
    }

    /// What each error counts as: weights, and errors that are not the server's fault. The closure must name the type
    /// of the error.
    ///
    /// Clients that turn statuses into errors (`error_for_status` of reqwest) need it: otherwise a "404 Not Found"
    /// counts as if the server could not be reached. [`status`](Self::status) says what a status counts as.
    ///
    /// ```
    /// use atomic_breaker_http::{Config, Failure, HttpClassifier, Outcome, breaker};
    /// use http::{Response, StatusCode};
    ///
    /// /// Has what `reqwest::Error` has.
    /// struct Error {
    ///     status: Option<StatusCode>,
    ///     is_connect: bool,
    ///     is_builder: bool,
    /// }
    ///
    /// let http = HttpClassifier::new().errors(|error: &Error| match error.status {
    ///     Some(status) => HttpClassifier::new().status(status),
    ///     None if error.is_connect => Failure::with_weight(3).into(),
    ///     None if error.is_builder => Outcome::Ignored,
    ///     None => Failure::new().into(),
    /// });
    ///
    /// let breaker = breaker(Config::new());
    /// let not_found = Some(StatusCode::NOT_FOUND);
    /// let error = Error { status: not_found, is_connect: false, is_builder: false };
    /// let _ = breaker.call_with(http, || Err::<Response<()>, _>(error));
    /// assert_eq!(breaker.snapshot().failures(), 0);
    /// ```
    pub fn errors<E, F: Fn(&E) -> Outcome>(self, errors: F) -> HttpClassifier<S, F> {
        HttpClassifier {
            statuses: self.statuses,
            errors,
            hints: self.hints,
            trip_on_503: self.trip_on_503,
            trip_on_429: self.trip_on_429,
        }
    }

    /// A `Retry-After` is believed up to this time; 300 s unless set, and with zero none is. Beyond 5 minutes the
    /// breaker needs a [`Config::max_retry_after`](crate::Config::max_retry_after) as well.
    pub const fn max_retry_after(mut self, limit: Duration) -> Self {
        self.hints = RetryAfter::with_limit(limit);
        self
    }

    /// Whether a 503 with `Retry-After` opens the breaker at once, at least for that time. It does unless this is set
    /// to `false`; then, or without a `Retry-After`, it counts like any failure.
    ///
    /// Turn it off where one breaker stands for several servers, and one of them says that it alone is restarting.
    pub const fn trip_on_503(mut self, trip: bool) -> Self {
        self.trip_on_503 = trip;
        self
    }

    /// Whether a 429 with `Retry-After` opens the breaker at once, at least for that time. By default it does not: it
    /// counts as one failure.
    ///
    /// Turn it on where all calls through a breaker share one quota.
    ///
    /// ```
    /// use atomic_breaker_http::{Failure, HttpClassifier};
    /// use http::Response;
    /// use std::time::Duration;
    ///
    /// let response = Response::builder().status(429).header("retry-after", "30").body(())?;
    /// let http = HttpClassifier::new();
    /// assert_eq!(http.response(&response), Failure::new().into());
    /// let half_a_minute = Failure::retry_after(Duration::from_secs(30));
    /// assert_eq!(http.trip_on_429(true).response(&response), half_a_minute.into());
    /// # Ok::<(), http::Error>(())
    /// ```
    pub const fn trip_on_429(mut self, trip: bool) -> Self {
        self.trip_on_429 = trip;
        self
    }

    /// Reports at the end of the body, so that one that breaks off counts as a failure. See [`AtEnd`].
    pub const fn at_end_of_body(self) -> AtEnd<Self> {
        AtEnd::new(self)
    }
}
