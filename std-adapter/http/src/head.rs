//! What a classifier looks at: the status and the headers.

use http::{HeaderMap, Response, StatusCode, response};

/// A response of any client, as far as [`HttpClassifier`](super::HttpClassifier) looks at it: the status and the
/// headers.
///
/// Implemented for [`http::Response`] with any body, for its [`Parts`](response::Parts), for references, with the
/// feature `reqwest` for `reqwest::Response`, and for a status with headers, which every client has:
///
/// ```
/// use atomic_breaker_http::{Config, Failure, HttpClassifier, Outcome, breaker};
/// # mod reqwest {
/// #     use http::{HeaderMap, StatusCode};
/// #     #[derive(Default)] pub struct Response(StatusCode, HeaderMap);
/// #     pub struct Error;
/// #     impl Response {
/// #         pub fn status(&self) -> StatusCode { self.0 }
/// #         pub fn headers(&self) -> &HeaderMap { &self.1 }
/// #     }
/// # }
///
/// static HTTP: HttpClassifier = HttpClassifier::new();
///
/// let classify = |result: &Result<reqwest::Response, reqwest::Error>| match result {
///     Ok(response) => HTTP.response(&(response.status(), response.headers())),
///     Err(_) => Failure::new().into(),
/// };
/// let server = breaker(Config::new());
/// let answer = server.call_with(classify, || Ok(reqwest::Response::default()));
/// assert!(answer.is_ok());
/// # let _ = |error: reqwest::Error| Err::<reqwest::Response, _>(error);
/// # let _ = Outcome::Ignored;
/// ```
///
/// For your own response type it takes a few lines:
///
/// ```
/// use atomic_breaker_http::{HttpClassifier, ResponseHead};
/// use http::{HeaderMap, StatusCode};
///
/// struct Answer {
///     status: StatusCode,
///     headers: HeaderMap,
/// }
///
/// impl ResponseHead for Answer {
///     fn status(&self) -> StatusCode {
///         self.status
///     }
///     fn headers(&self) -> &HeaderMap {
///         &self.headers
///     }
/// }
///
/// let answer = Answer { status: StatusCode::BAD_GATEWAY, headers: HeaderMap::new() };
/// assert!(HttpClassifier::new().response(&answer) != atomic_breaker_http::Outcome::Success);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to be an HTTP response",
    note = "return `Result<http::Response<_>, _>` from the call, or implement `ResponseHead` for a type of yours"
)]
pub trait ResponseHead {
    /// The status of the response.
    fn status(&self) -> StatusCode;

    /// The headers of the response, without its trailers.
    fn headers(&self) -> &HeaderMap;
}

impl<B> ResponseHead for Response<B> {
    fn status(&self) -> StatusCode {
        Self::status(self)
    }

    fn headers(&self) -> &HeaderMap {
        Self::headers(self)
    }
}

impl ResponseHead for response::Parts {
    fn status(&self) -> StatusCode {
        self.status
    }

    fn headers(&self) -> &HeaderMap {
        &self.headers
    }
}

impl ResponseHead for (StatusCode, &HeaderMap) {
    fn status(&self) -> StatusCode {
        self.0
    }

    fn headers(&self) -> &HeaderMap {
        self.1
    }
}

impl<R: ResponseHead + ?Sized> ResponseHead for &R {
    fn status(&self) -> StatusCode {
        (**self).status()
    }

    fn headers(&self) -> &HeaderMap {
        (**self).headers()
    }
}
