// SPDX-License-Identifier: MIT OR Apache-2.0
//! The record of a result.

use std::error::Error;

use atomic_breaker_server::Rejection;

/// The end of a recorded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordedOutcome {
    /// The resource answered.
    Ok,
    /// The resource failed, or did not answer in time.
    Failed,
    /// The result says nothing about the resource.
    Ignored,
    /// A breaker rejected the call.
    Rejected,
    /// The caller left before the result.
    Cancelled,
}

impl RecordedOutcome {
    /// The outcome of a result: `Ok` is a success, a rejection by a breaker is one wherever in the chain of the error it is, and
    /// every other `Err` is a failure.
    pub fn from_result<T, E: Error + 'static>(result: &Result<T, E>) -> Self {
        match result {
            Ok(_) => Self::Ok,
            Err(error) => Self::from_error(error),
        }
    }

    /// [`from_result`](Self::from_result) for an error, such as what is in a `Box<dyn Error>`.
    pub fn from_error(error: &(dyn Error + 'static)) -> Self {
        match Rejection::in_chain(error) {
            Some(_) => Self::Rejected,
            None => Self::Failed,
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Ignored => "ignored",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
        }
    }
}
