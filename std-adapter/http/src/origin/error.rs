//! Why a request names no server.

use std::error::Error;
use std::fmt;

/// Why a request names no server that could have a breaker of its own.
///
/// ```
/// use atomic_breaker_http::{Origin, OriginError};
/// use http::Uri;
///
/// let error = Origin::of(&Uri::from_static("/a/path")).unwrap_err();
/// assert_eq!(error, OriginError::Missing);
/// assert!(error.to_string().starts_with("the request names no host"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OriginError {
    /// The URI is only a path, and there is no `Host` header.
    Missing,
    /// The text in place of the host can be neither a DNS name nor an IP address: more than 253 bytes, a label that is
    /// empty or has more than 63, or a character other than letters, digits, `-` and `_`.
    BadHost,
    /// The port is not a number up to 65,535.
    BadPort,
}

impl OriginError {
    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::Missing => {
                "the request names no host, so there is no breaker for it: give its client an absolute URI (tonic: \
                 `with_origin`), or name the host of such requests by `PerHost::with_origin` or \
                 `ClientLayer::with_origin`"
            }
            Self::BadHost => {
                "the host of the request is no DNS name of at most 253 bytes and no IP address, so there is no breaker \
                 for it: correct the URI"
            }
            Self::BadPort => {
                "the port of the request is not a number up to 65535, so there is no breaker for it: correct the URI"
            }
        }
    }
}

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl Error for OriginError {}
