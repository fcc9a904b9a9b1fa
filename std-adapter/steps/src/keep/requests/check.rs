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

/// Why requests cannot be kept with these settings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeepConfigError {
    /// This is not the name of a header.
    Header(String),
    /// This header is a secret.
    Secret(String),
    /// This header belongs to one connection, or is written by the client itself.
    Connection(String),
    /// A body of 0 bytes, or of more than 512 KiB.
    Body(usize),
    /// No request may be kept.
    NoJobs,
    /// The steps do not know the workflow of this kind, or the lane of its step.
    Unknown(&'static str),
    /// The workflow of this kind has not exactly one step.
    Steps(&'static str),
}

impl fmt::Display for KeepConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "{name:?} is no name of a header: correct it"),
            Self::Secret(name) => write!(
                f,
                "{name:?} is a secret: let the client of the replay add it, or keep it by `secret_header`"
            ),
            Self::Connection(name) => write!(
                f,
                "{name:?} belongs to one connection, and the client writes it: leave it out"
            ),
            Self::Body(bytes) => write!(
                f,
                "a largest body of {bytes} bytes: set 1 to {LARGEST_BODY}"
            ),
            Self::NoJobs => f.write_str("with `most` 0 nothing is kept: set at least 1"),
            Self::Unknown(kind) => write!(
                f,
                "workflow {kind:?} is not known here: give it to the builder of the steps"
            ),
            Self::Steps(kind) => write!(
                f,
                "workflow {kind:?} does not have one step: take it as `replay` made it"
            ),
        }
    }
}

impl Error for KeepConfigError {}

impl KeepConfig {
    pub(super) fn check(&self) -> Result<(), KeepConfigError> {
        for allowed in &self.headers {
            let name = &*allowed.name;
            if HeaderName::from_bytes(name.as_bytes()).is_err() {
                return Err(KeepConfigError::Header(name.to_owned()));
            }
            if OF_A_CONNECTION.contains(&name) {
                return Err(KeepConfigError::Connection(name.to_owned()));
            }
            if SECRETS.contains(&name) && !allowed.is_secret {
                return Err(KeepConfigError::Secret(name.to_owned()));
            }
        }
        if !(1..=LARGEST_BODY).contains(&self.largest_body) {
            return Err(KeepConfigError::Body(self.largest_body));
        }
        if self.most == 0 {
            return Err(KeepConfigError::NoJobs);
        }
        Ok(())
    }
}
