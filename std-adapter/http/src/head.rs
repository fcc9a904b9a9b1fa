// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a response that a classifier looks at: the status and the headers.

use http::{HeaderMap, Response, StatusCode, response};

/// A response of any client, as far as [`HttpClassifier`](super::HttpClassifier) looks at it: the status and the
/// headers.
///
/// Implemented for [`http::Response`] with any body, for its [`Parts`](response::Parts), for references, with the
/// feature `reqwest` for `reqwest::Response`, and for a status with headers, which every client has:
/// `HTTP.response(&(response.status(), response.headers()))`.
///
/// Your own response type takes a few lines:
///
/// ```
/// use atomic_breaker_http::{HttpClassifier, ResponseHead};
/// use http::{HeaderMap, StatusCode};
///
/// struct Reply {
///     status: StatusCode,
///     headers: HeaderMap,
/// }
///
/// impl ResponseHead for Reply {
///     fn status(&self) -> StatusCode {
///         self.status
///     }
///     fn headers(&self) -> &HeaderMap {
///         &self.headers
///     }
/// }
///
/// let reply = Reply { status: StatusCode::BAD_GATEWAY, headers: HeaderMap::new() };
/// assert!(HttpClassifier::new().response(&reply) != atomic_breaker_http::Outcome::Success);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to be an HTTP response",
    note = "return `Result<http::Response<_>, _>` from the call, or implement `ResponseHead` for your own type"
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
