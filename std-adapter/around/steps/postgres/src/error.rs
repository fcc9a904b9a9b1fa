// SPDX-License-Identifier: MIT OR Apache-2.0
//! The errors, in words.

use std::error::Error;

use atomic_breaker_steps::StoreError;

/// An error on its way to the caller.
#[derive(Debug)]
pub(crate) struct Fault(StoreError);

impl Fault {
    pub(crate) fn new(words: String) -> Self {
        Self(StoreError::new(words))
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        fault.0
    }
}

/// The error's own text leaves out the server's message.
impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(error) = error.as_db_error() {
            let detail = error.detail().map(|detail| format!(" ({detail})"));
            let (detail, code) = (detail.unwrap_or_default(), error.code().code());
            return Self::new(format!("{}{detail} [{code}]", error.message()));
        }
        let mut words = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            words = format!("{words}: {error}");
            cause = error.source();
        }
        Self::new(words)
    }
}
