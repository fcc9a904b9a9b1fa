//! Errors that say why, and no secrets.

use std::error::Error;
use std::fmt;
use std::ops::Deref;

use crate::http::text_of;

/// An error of reqwest, to be shown, logged and kept by a breaker: with its causes, at most 8
/// of them and 512 bytes, and without the URLs that it and they add, whose queries may hold secrets.
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
        f.write_str(&text_of(&self.0))
    }
}

// No source: `Display` shows all of them.
impl Error for ClientError {}
