//! Why there is no response.

use std::error::Error;
use std::fmt;

use crate::{Rejection, ServiceError, Timed, WithCauses};

/// Why a request got no response. A response of any status is a response: only the breaker and the retry look at the
/// status.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError<E> {
    /// The breaker of its host rejected it, so it was never sent. If a retry is rejected, the result of the previous
    /// try is returned instead.
    Rejected(Rejection),
    /// All tries and pauses together took too long.
    DeadlineExceeded,
    /// The last try took too long.
    TryTimedOut,
    /// The client failed.
    Failed(E),
}

impl<E> RequestError<E> {
    pub(crate) fn of(error: ServiceError<Timed<WithCauses<E>>>) -> Self {
        match error {
            ServiceError::Rejected(rejection) => Self::Rejected(rejection),
            ServiceError::Failed(Timed::TimedOut) => Self::TryTimedOut,
            ServiceError::Failed(Timed::Failed(WithCauses(error))) => Self::Failed(error),
        }
    }
}

impl<E: fmt::Display> fmt::Display for RequestError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejection) => rejection.fmt(f),
            Self::DeadlineExceeded => f.write_str("deadline exceeded"),
            Self::TryTimedOut => f.write_str("timed out"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for RequestError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // `Display` shows it, too; but here code that walks the chain finds it whatever `E` is.
            Self::Rejected(rejection) => Some(rejection),
            Self::DeadlineExceeded | Self::TryTimedOut => None,
            // `Display` shows the client's error itself, so the chain continues below it.
            Self::Failed(error) => error.source(),
        }
    }
}
