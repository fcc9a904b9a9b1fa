//! Why a result counted as a failure, for logs.

use std::fmt;

use http::StatusCode;

use super::ResponseHead;
use super::grpc_code::GrpcCode;

/// Why a result counted as a failure, in a few words. Borrows the error, and formats nothing until it is displayed.
///
/// The text of the error is the error's own: it may contain what a server sent, including line breaks, and secrets from
/// a URL, which a breaker leaves out of what it [keeps](crate::words::failure).
///
/// ```
/// use atomic_breaker_http::{GrpcCode, Reason};
/// use http::StatusCode;
///
/// let reason: Reason<'_, String> = Reason::Status(StatusCode::SERVICE_UNAVAILABLE);
/// assert_eq!(reason.to_string(), "503 Service Unavailable");
/// let reason = Reason::Error("connection refused");
/// assert_eq!(reason.to_string(), "transport: connection refused");
/// let reason: Reason<'_, String> = Reason::Grpc(GrpcCode::Unavailable);
/// assert_eq!(reason.to_string(), "grpc UNAVAILABLE");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Reason<'a, E: ?Sized> {
    /// The status of the response.
    Status(StatusCode),
    /// There was no response.
    Error(&'a E),
    /// The code of the response, as sent or as [derived](GrpcCode::from_http) from its HTTP status.
    Grpc(GrpcCode),
}

impl<E: ?Sized> Clone for Reason<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: ?Sized> Copy for Reason<'_, E> {}

impl<E: fmt::Display + ?Sized> fmt::Display for Reason<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => match status.canonical_reason() {
                Some(name) => write!(f, "{} {name}", status.as_u16()),
                None => write!(f, "{}", status.as_u16()),
            },
            Self::Error(error) => write!(f, "transport: {error}"),
            Self::Grpc(code) => write!(f, "grpc {code}"),
        }
    }
}

/// A few words about a result that counted as a failure.
pub(super) fn why<T: ResponseHead, E: fmt::Display>(result: &Result<T, E>) -> String {
    match result {
        Ok(response) => Reason::<E>::Status(response.status()).to_string(),
        Err(error) => Reason::Error(error).to_string(),
    }
}
