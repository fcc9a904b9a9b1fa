//! What the caller of a service that keeps requests is told.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use http::header::HeaderName;
use http::{Response, StatusCode};

use crate::error::BoxError;
use crate::{JobId, LONGEST_KEY, Status, StoreError};

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<R> {
    /// It was sent, and this is its response. If the response is a failure for which the request should have been kept,
    /// a [`NotKept`] among its extensions says why it was not.
    Now(R),
    /// It is kept as this job, and will be sent again; or one of the same key was kept, and has been sent again since.
    Kept(JobId),
}

impl<B: Default> Answer<Response<B>> {
    /// The response itself, or "202 Accepted" without a body for a request that is kept: for `map_response` above the
    /// layer.
    pub fn accepted(self) -> Response<B> {
        match self {
            Self::Now(response) => response,
            Self::Kept(_) => {
                let mut response = Response::new(B::default());
                *response.status_mut() = StatusCode::ACCEPTED;
                response
            }
        }
    }
}

/// Why a request that may be kept was not.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NotKept {
    /// Its query contains names that are not allowed; they may be secrets.
    Query,
    /// This header is marked as sensitive, and not allowed as a secret.
    Sensitive(HeaderName),
    /// Its body is larger than this many bytes, or the request as a whole is larger than a job may be.
    Large(usize),
    /// Its body has trailers.
    Trailers,
    /// Its body was cut off.
    Broken,
    /// The key of its job would have this many bytes, or contains NUL.
    Key(usize),
    /// This many requests are kept already.
    Full(usize),
    /// A job of this key was kept before, and has ended without success: it needs attention.
    Ended(JobId, Status),
    /// Another request with this key is kept, as this job.
    OtherRequest(JobId),
    /// Its schedule has no second try.
    NoTries,
    /// The store failed: it may or may not be kept.
    Store(Arc<StoreError>),
}

impl fmt::Display for NotKept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query => f.write_str(
                "its query has names that are not allowed: allow them with `query`, if they are not secret",
            ),
            Self::Sensitive(name) => write!(
                f,
                "its header {name:?} is marked as sensitive: let the client of the replay add it"
            ),
            Self::Large(most) => write!(
                f,
                "it is too large: at most {most} bytes of a body are kept"
            ),
            Self::Trailers => f.write_str("its body has trailers"),
            Self::Broken => f.write_str("its body was cut off"),
            Self::Key(long) => write!(
                f,
                "its key has {long} bytes, or contains NUL: send one of 1 to {} bytes without NUL",
                LONGEST_KEY - 17
            ),
            Self::Full(most) => write!(
                f,
                "{most} requests are kept already, including those that ended without success: raise `most`, or deal with those"
            ),
            Self::Ended(job, status) => write!(
                f,
                "job {job} of the same key is {}: have it tried again, or send another key",
                status.name()
            ),
            Self::OtherRequest(job) => write!(
                f,
                "job {job} has the same key but is another request: send another key"
            ),
            Self::NoTries => f.write_str("its schedule has one try: set more"),
            Self::Store(error) => write!(f, "the store failed: {error}"),
        }
    }
}

impl Error for NotKept {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Store(error) => Some(&**error),
            _ => None,
        }
    }
}

/// Why there is no response: the error of the service below, which is the source, with the reason why the request is
/// not kept, if it was meant to be.
#[derive(Debug)]
pub struct KeepError {
    error: BoxError,
    not_kept: Option<NotKept>,
}

impl KeepError {
    pub(super) const fn new(error: BoxError, not_kept: Option<NotKept>) -> Self {
        Self { error, not_kept }
    }

    /// Why the request is not kept; `None` if it was not meant to be.
    pub const fn not_kept(&self) -> Option<&NotKept> {
        self.not_kept.as_ref()
    }
}

impl fmt::Display for KeepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)?;
        match &self.not_kept {
            Some(why) => write!(f, "; not kept: {why}"),
            None => Ok(()),
        }
    }
}

impl Error for KeepError {
    // `Display` shows it, too; but code that walks a chain finds it here.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}
