//! What a classifier looks at: the status and the headers.

use http::{HeaderMap, Response, StatusCode, response};

/// A response of whatever client, as far as its [`HttpClassifier`](super::HttpClassifier) looks: the
/// status and the headers.
///
/// Implemented for [`http::Response`] with any body, for its [`Parts`](response::Parts) and for
/// references. A client with a response type of its own takes two lines:
///
/// ```
/// use atomic_breaker_std::http::{HttpClassifier, ResponseHead};
/// use http::{HeaderMap, StatusCode};
///
/// /// Stands for the type of a client, wrapped because of the orphan rule.
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
/// assert!(HttpClassifier::new().response(&answer) != atomic_breaker_std::Outcome::Success);
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

impl<R: ResponseHead + ?Sized> ResponseHead for &R {
    fn status(&self) -> StatusCode {
        (**self).status()
    }

    fn headers(&self) -> &HeaderMap {
        (**self).headers()
    }
}
