// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answer of a service to its own callers when a call that it needed was rejected.

use std::error::Error;
use std::time::Duration;

use atomic_breaker_server::Rejection;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};

/// The answer to one's own caller when a call that its request needed was rejected.
///
/// # For one dependency, or for the whole service
///
/// A caller that has a breaker for your host and opens it by a 503 with `Retry-After` sends *nothing* to your host for that
/// time, and many breakers open by the first. If only one of your dependencies is down, that shuts out all requests that do
/// not need it. So the answer is a plain 503, unless you say that [without this dependency nothing works](Self::of_whole_service). Callers of which half of the
/// requests or more need the dependency may still open: [another status](Self::status), or breakers by route at the caller,
/// prevents that.
///
/// ```
/// use atomic_breaker_http::{Config, Unavailable, breaker};
///
/// let payments = breaker(Config::new());
/// payments.trip();
/// let error = payments.call(|| Ok::<_, std::io::Error>(())).unwrap_err();
///
/// let unavailable = Unavailable::from_error(&error).expect("a rejection is in its chain");
/// // With axum: `unavailable.response::<axum::body::Body>()` is an answer of a handler.
/// let response = unavailable.response::<String>();
/// assert_eq!(response.status(), 503);
/// assert!(!response.headers().contains_key("retry-after"));
///
/// let response = unavailable.of_whole_service().response::<String>();
/// assert_eq!(response.headers()["retry-after"], "5");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable {
    retry_in: Option<Duration>,
    is_whole: bool,
    status: StatusCode,
}

impl Unavailable {
    /// The answer to a request that failed with this error; `None` if no rejection caused it, as
    /// [`Rejection::in_chain`] finds it.
    pub fn from_error(error: &(dyn Error + 'static)) -> Option<Self> {
        Rejection::in_chain(error).map(Self::from)
    }

    /// Nothing of this service works without the dependency, so that callers should stay away: the answer has a
    /// [`Retry-After`](Self::retry_after), or a [push-back](Self::push_back) of gRPC.
    #[must_use]
    pub const fn of_whole_service(mut self) -> Self {
        self.is_whole = true;
        self
    }

    /// Another status than 503. 424 is a failure for no breaker that goes by classes of statuses, and so never shuts out
    /// other requests; in return, no monitoring of 5xx sees it.
    #[must_use]
    pub const fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// The value of `Retry-After`: whole seconds, rounded up, at least 1. `None` unless it is
    /// [of the whole service](Self::of_whole_service), and if the time is unknown, as with a breaker that is forced
    /// open.
    pub fn retry_after(&self) -> Option<HeaderValue> {
        self.told().map(|time| HeaderValue::from(seconds(time)))
    }

    /// The value of gRPC's `grpc-retry-pushback-ms`, for the trailers of a call that ends with UNAVAILABLE ([gRFC A6]): whole
    /// milliseconds, rounded up, at least 1 and at most 2147483647. `None` in the same cases as
    /// [`retry_after`](Self::retry_after).
    ///
    /// [gRFC A6]: https://github.com/grpc/proposal/blob/master/A6-client-retries.md#pushback
    pub fn push_back(&self) -> Option<HeaderValue> {
        self.told().map(|time| {
            let ms = time.as_nanos().div_ceil(1_000_000).max(1);
            HeaderValue::from(i32::try_from(ms).unwrap_or(i32::MAX))
        })
    }

    /// A response with the status, `Retry-After` if there is one, and a line of text that names neither the dependency nor its
    /// failure.
    pub fn response<B: From<String>>(&self) -> Response<B> {
        let text = match self.retry_in {
            Some(time) => format!("unavailable at the moment, retry in {} s\n", seconds(time)),
            None => "unavailable at the moment\n".to_owned(),
        };
        let mut response = Response::new(B::from(text));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        headers.insert(CONTENT_TYPE, plain);
        if let Some(value) = self.retry_after() {
            headers.insert(RETRY_AFTER, value);
        }
        response
    }

    fn told(&self) -> Option<Duration> {
        self.retry_in.filter(|_| self.is_whole)
    }
}

/// Whole seconds, rounded up, at least 1.
fn seconds(time: Duration) -> u64 {
    let up = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(up).max(1)
}

impl From<Rejection> for Unavailable {
    fn from(rejection: Rejection) -> Self {
        Self {
            retry_in: rejection.retry_in(),
            is_whole: false,
            status: StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}
