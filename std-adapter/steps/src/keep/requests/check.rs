//! Settings that make no sense.

use std::error::Error;
use std::fmt;

use http::header::HeaderName;

use super::KeepConfig;

/// The largest body, in bytes: as base64 it leaves a third of the largest state to headers and URI.
pub(super) const LARGEST_BODY: usize = 512 << 10;

const SECRETS: [&str; 6] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "x-auth-token",
];

const OF_A_CONNECTION: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Why requests cannot be kept with these settings, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepConfigError(String);

impl KeepConfigError {
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

impl fmt::Display for KeepConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for KeepConfigError {}

impl KeepConfig {
    pub(super) fn check(&self) -> Result<(), KeepConfigError> {
        let wrong = |name: &str, words| Err(KeepConfigError(format!("{name:?} {words}")));
        for allowed in &self.headers {
            let name = &*allowed.name;
            if HeaderName::from_bytes(name.as_bytes()).is_err() {
                return wrong(name, "is no name of a header: correct it");
            }
            if OF_A_CONNECTION.contains(&name) {
                let words = "belongs to one connection, and the client writes it: leave it out";
                return wrong(name, words);
            }
            if SECRETS.contains(&name) && !allowed.is_secret {
                let words = "is a secret: let the client of the replay add it, or keep it by `secret_header`";
                return wrong(name, words);
            }
        }
        let largest = self.largest_body;
        if !(1..=LARGEST_BODY).contains(&largest) {
            let words = format!("a largest body of {largest} bytes: set 1 to {LARGEST_BODY}");
            return Err(KeepConfigError(words));
        }
        if self.most == 0 {
            return Err(KeepConfigError::new(
                "with `most` 0 nothing is kept: set at least 1",
            ));
        }
        Ok(())
    }
}
