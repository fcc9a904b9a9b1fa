//! Why a result counted as a failure, for logs.

use std::fmt;

use http::StatusCode;

use super::ResponseHead;
use super::causes::without_url;
use super::grpc::GrpcCode;
use crate::{AnyPermit, Classify};

/// Why a result counted as a failure, in a few words. Borrows the error, and writes nothing until it is
/// displayed.
///
/// The text of the error is the error's own: it may hold what a server sent, line ends included.
///
/// ```
/// use atomic_breaker_std::http::{GrpcCode, Reason};
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

/// Reports what a classifier says, with the reason.
pub(super) fn at_once<T: ResponseHead, E: fmt::Display, P: AnyPermit>(
    classifier: &impl Classify<T, E>,
    permit: P,
    result: Result<T, E>,
) -> Result<T, E> {
    permit.report_because(classifier.classify(&result), || why(&result));
    result
}

/// A few words about a result that counted as a failure.
pub(super) fn why<T: ResponseHead, E: fmt::Display>(result: &Result<T, E>) -> String {
    match result {
        Ok(response) => Reason::<E>::Status(response.status()).to_string(),
        // reqwest's error ends with the URL, whose query may hold secrets.
        Err(error) => without_url(&Reason::Error(error).to_string()).to_owned(),
    }
}
