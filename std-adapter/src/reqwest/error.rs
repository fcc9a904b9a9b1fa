//! Errors that say why, and no secrets.

use std::error::Error;
use std::fmt;
use std::iter::successors;
use std::ops::Deref;

/// An error of reqwest, to be shown, logged and kept by a breaker: with its causes, and without the URL, whose query
/// may hold secrets.
///
/// ```text
/// reqwest:  error sending request for url (http://db.example/?key=1234)
/// this:     error sending request: client error (Connect): tcp connect error: Connection refused (os error 111)
/// ```
///
/// What `reqwest::Error` knows (`is_timeout`, `is_connect`) it knows as well.
#[derive(Debug)]
pub struct ClientError(reqwest::Error);

impl ClientError {
    /// The error of reqwest, without its URL.
    pub fn into_inner(self) -> reqwest::Error {
        self.0
    }
}

impl From<reqwest::Error> for ClientError {
    fn from(error: reqwest::Error) -> Self {
        Self(error.without_url())
    }
}

impl Deref for ClientError {
    type Target = reqwest::Error;

    fn deref(&self) -> &reqwest::Error {
        &self.0
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)?;
        successors(self.0.source(), |&error| error.source())
            .try_for_each(|cause| write!(f, ": {cause}"))
    }
}

// No source: `Display` shows all of them.
impl Error for ClientError {}
