//! The errors that the middleware creates: rejections and timeouts.

use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use reqwest_middleware::Error;

use crate::Rejection;

/// The rejection that kept a request from being sent, even inside the errors of other middlewares, such as those of
/// retries: [`Rejection::in_chain`], which also finds one that is the error of a middleware itself.
pub fn rejection_of(error: &Error) -> Option<Rejection> {
    match error {
        Error::Middleware(error) => Rejection::in_chain(error.as_ref()),
        Error::Reqwest(error) => Rejection::in_chain(error),
    }
}

/// The rejection is the source and not the error itself, as middlewares that pass an error on expose only its source.
pub(super) fn not_sent(rejection: Rejection) -> Error {
    let reason = if rejection.is_without_key() {
        rejection.to_string()
    } else {
        format!(
            "request not sent, because its circuit breaker is {}",
            rejection.state()
        )
    };
    Error::Middleware(anyhow::Error::new(rejection).context(reason))
}

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
