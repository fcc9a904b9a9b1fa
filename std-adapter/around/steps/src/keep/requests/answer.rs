// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answers to the caller of a service that keeps requests.

use std::sync::Arc;

use http::header::HeaderName;
use http::{Response, StatusCode};
use thiserror::Error;

use crate::error::{BoxError, StoreError};
use crate::job::{JobId, Status};
use crate::text::LONGEST_KEY;

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<R> {
    /// The request was sent, and this is its response. If the response is a failure for which the request should have been kept,
    /// a [`NotKept`] among its extensions says why it was not.
    Now(R),
    /// The request is kept as this job, and will be sent again; or one of the same key was kept, and has been sent again since.
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

/// The reason why a request that may be kept was not.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum NotKept {
    /// The query contains names that are not allowed; they may be secrets.
    #[error(
        "its query has names that are not allowed: allow them with `query`, if they are not secret"
    )]
    Query,
    /// This header is marked as sensitive, and not allowed as a secret.
    #[error("its header {0:?} is marked as sensitive: let the client of the replay add it")]
    Sensitive(HeaderName),
    /// The body is larger than this many bytes, or the request as a whole is larger than a job may be.
    #[error("it is too large: at most {0} bytes of a body are kept")]
    Large(usize),
    /// The body has trailers.
    #[error("its body has trailers")]
    Trailers,
    /// The body was cut off.
    #[error("its body was cut off")]
    Broken,
    /// The key of its job would have this many bytes, or contains NUL.
    #[error("its key has {0} bytes, or contains NUL: send one of 1 to {most} bytes without NUL", most = LONGEST_KEY - 17)]
    Key(usize),
    /// This many requests are kept already.
    #[error(
        "{0} requests are kept already, including those that ended without success: raise `most`, or deal with those"
    )]
    Full(usize),
    /// A job of this key was kept before, and has ended without success: it needs attention.
    #[error("job {0} of the same key is {status}: have it tried again, or send another key", status = .1.name())]
    Ended(JobId, Status),
    /// Another request with this key is kept, as this job.
    #[error("job {0} has the same key but is another request: send another key")]
    OtherRequest(JobId),
    /// The schedule has no second try.
    #[error("its schedule has one try: set more")]
    NoTries,
    /// The store failed: it may or may not be kept.
    #[error("the store failed: {0}")]
    Store(#[source] Arc<StoreError>),
}

/// The reason why there is no response: the error of the service below, which is the source, with the reason why the
/// request is not kept, if it was meant to be.
#[derive(Debug, Error)]
#[error("{error}{}", .not_kept.as_ref().map(|why| format!("; not kept: {why}")).unwrap_or_default())]
pub struct KeepError {
    // The text shows it, too; but code that walks a chain finds it as the source.
    #[source]
    error: BoxError,
    not_kept: Option<NotKept>,
}

impl KeepError {
    pub(super) const fn new(error: BoxError, not_kept: Option<NotKept>) -> Self {
        Self { error, not_kept }
    }

    /// The reason why the request is not kept; `None` if it was not meant to be.
    pub const fn not_kept(&self) -> Option<&NotKept> {
        self.not_kept.as_ref()
    }
}
