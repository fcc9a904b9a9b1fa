// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors that say why, and reveal no secrets.

use std::error::Error;
use std::fmt;
use std::ops::Deref;

use crate::callers_limit::CallersLimit;
use crate::causes::text_of;

/// An error of reqwest, to be shown, logged and kept by a breaker: with its causes, at most 8 of them and 512 bytes,
/// and without the URLs that it and they add, whose queries may hold secrets.
///
/// ```text
/// reqwest:  error sending request for url (http://db.example/?key=1234)
/// this:     error sending request: client error (Connect): tcp connect error: Connection refused (os error 111)
/// ```
///
/// The methods of `reqwest::Error` (`is_timeout`, `is_connect`) work on it as well.
#[derive(Debug)]
pub struct ClientError {
    error: reqwest::Error,
    has_own_limit: bool,
    /// The limit of the request, if it passed while a try went on.
    passed: Option<CallersLimit>,
}

impl ClientError {
    /// The error of reqwest, without its URL.
    pub fn into_inner(self) -> reqwest::Error {
        self.error
    }

    /// The error of a request that may have carried its own time limit.
    pub(crate) fn of(error: reqwest::Error, has_own_limit: bool) -> Self {
        Self {
            error: error.without_url(),
            has_own_limit,
            passed: None,
        }
    }

    /// The error of a request whose own limit has passed, whatever becomes of its try.
    pub(crate) fn passed(limit: CallersLimit) -> Self {
        Self {
            error: limit.passed(),
            has_own_limit: true,
            passed: Some(limit),
        }
    }

    pub(crate) const fn has_own_limit(&self) -> bool {
        self.has_own_limit
    }
}

impl From<reqwest::Error> for ClientError {
    fn from(error: reqwest::Error) -> Self {
        Self::of(error, false)
    }
}

impl Deref for ClientError {
    type Target = reqwest::Error;

    fn deref(&self) -> &reqwest::Error {
        &self.error
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.passed {
            // reqwest's own text speaks of a body.
            Some(limit) => f.write_str(&limit.text()),
            None => f.write_str(&text_of(&self.error)),
        }
    }
}

// No source: `Display` shows all of them.
impl Error for ClientError {}
