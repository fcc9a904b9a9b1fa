//! A timeout as an error of reqwest.

use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};

/// An error whose `is_timeout` is true, so that retries above and callers treat it as a timeout. Only reqwest can
/// create its errors, for example from an error of a body.
pub(super) fn timed_out(limit: Duration) -> reqwest::Error {
    let body = reqwest::Body::wrap(TimedOut(limit));
    let mut context = Context::from_waker(Waker::noop());
    match pin!(body).poll_frame(&mut context) {
        Poll::Ready(Some(Err(error))) => error,
        _ => unreachable!("a body that fails at once"),
    }
}

struct TimedOut(Duration);

impl Body for TimedOut {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let text = format!("no response within {:?}", self.0);
        Poll::Ready(Some(Err(io::Error::new(ErrorKind::TimedOut, text))))
    }
}
