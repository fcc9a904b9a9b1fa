//! Requests that can be sent again.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::Request;
use http_body::Body;

/// Turns a request built with reqwest's own builder (`.json(..)`, `.bearer_auth(..)`, `.timeout(..)`) into one that
/// layers can send again. Its body is shared and not copied. `None` if the body is streamed: that cannot be sent twice,
/// so send it with reqwest's client directly, or through a breaker without retries.
///
/// ```
/// use atomic_breaker_http::repeatable;
///
/// let client = reqwest::Client::new();
/// let request = client.put("https://api.example/items/7").body("seven").build()?;
/// let request = repeatable(&request).expect("not streamed");
/// assert_eq!((request.uri().path(), &request.body()[..]), ("/items/7", &b"seven"[..]));
/// # Ok::<(), reqwest::Error>(())
/// ```
pub fn repeatable(request: &reqwest::Request) -> Option<Request<Bytes>> {
    // It clones only bodies that are in memory.
    let request: Request<reqwest::Body> = request.try_clone()?.try_into().ok()?;
    let (parts, body) = request.into_parts();
    // Such a body is a single frame that is available at once, or empty.
    let mut context = Context::from_waker(Waker::noop());
    let body = match pin!(body).poll_frame(&mut context) {
        Poll::Ready(None) => Bytes::new(),
        Poll::Ready(Some(Ok(frame))) => frame.into_data().ok()?,
        Poll::Ready(Some(Err(_))) | Poll::Pending => return None,
    };
    Some(Request::from_parts(parts, body))
}
