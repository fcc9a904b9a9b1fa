// SPDX-License-Identifier: MIT OR Apache-2.0
//! reqwest's requests as those of the crate `http`, which can be sent again.

use std::error::Error;
use std::fmt;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Uri};
use http_body::Body;

/// Turns a request built with reqwest's own builder (`.json(..)`, `.bearer_auth(..)`, `.timeout(..)`) into one that
/// layers can send again. Its body is shared and not copied.
///
/// # Errors
/// [`NotRepeatable`] says why. A part of the URL that comes from outside, such as a query, can make it too long, so pass
/// the error on.
///
/// ```
/// use atomic_breaker_http::repeatable;
///
/// let client = reqwest::Client::new();
/// let request = client.put("https://api.example/items/7").body("seven").build()?;
/// let request = repeatable(&request)?;
/// assert_eq!((request.uri().path(), &request.body()[..]), ("/items/7", &b"seven"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn repeatable(request: &reqwest::Request) -> Result<Request<Bytes>, NotRepeatable> {
    let url = request.url().as_str();
    if url.len() > LONGEST_URI {
        return Err(NotRepeatable::UrlTooLong(url.len()));
    }
    url.parse::<Uri>().map_err(|_| NotRepeatable::NoHttpUrl)?;
    // It clones only bodies that are in memory.
    let copy = request.try_clone().ok_or(NotRepeatable::StreamedBody)?;
    let request: Request<reqwest::Body> = copy.try_into().map_err(|_| NotRepeatable::NoHttpUrl)?;
    let (parts, body) = request.into_parts();
    // Such a body is a single frame that is available at once, or empty.
    let mut context = Context::from_waker(Waker::noop());
    let body = match pin!(body).poll_frame(&mut context) {
        Poll::Ready(None) => Some(Bytes::new()),
        Poll::Ready(Some(frame)) => frame.ok().and_then(|frame| frame.into_data().ok()),
        Poll::Pending => None,
    };
    let body = body.ok_or(NotRepeatable::StreamedBody)?;
    Ok(Request::from_parts(parts, body))
}

/// The longest that an [`Uri`] can be, in bytes.
const LONGEST_URI: usize = u16::MAX as usize - 1;

/// The reason why a request of reqwest cannot be made [`repeatable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotRepeatable {
    /// Its body is streamed, so it can be sent only once: with reqwest's client directly, or through a breaker without
    /// retries.
    StreamedBody,
    /// Its URL has this many bytes, and an [`http::Uri`] at most 65,534: it cannot be sent over HTTP with reqwest
    /// either.
    UrlTooLong(usize),
    /// Its URL is none for HTTP, such as `data:text/plain,x`.
    NoHttpUrl,
}

impl fmt::Display for NotRepeatable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StreamedBody => f.write_str(
                "a streamed body cannot be sent twice: read it first, or send it without retries",
            ),
            Self::UrlTooLong(bytes) => write!(
                f,
                "a URL of {bytes} bytes is too long to be sent: shorten it to {LONGEST_URI} bytes or fewer"
            ),
            Self::NoHttpUrl => f.write_str("the URL is none for HTTP: set one with a host"),
        }
    }
}

impl Error for NotRepeatable {}
