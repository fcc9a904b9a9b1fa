// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time limit that a request carries: reqwest's own, as the deadline of a request whose tries may outlive it.

use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{Extensions, Request, Uri};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use reqwest::{Response, ResponseBuilderExt};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::at_end::OwnLimit;

/// The limit that the caller of a request set (`RequestBuilder::timeout`), and when it passes. It covers the body of the
/// response as well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallersLimit {
    pub(crate) limit: Duration,
    /// `None` is beyond the range of the clock.
    ends: Option<Instant>,
}

impl CallersLimit {
    /// Longer than anything. Without any, that of the client would apply, which the request's own one replaces.
    const NONE: Duration = Duration::MAX;

    /// Returns whether a request has a limit that may pass.
    pub(crate) fn is_on(request: &reqwest::Request) -> bool {
        request.timeout().is_some_and(|limit| *limit < Self::NONE)
    }

    /// Takes the limit off a request, so that it is the caller who leaves when it passes, and not the try that ends.
    pub(crate) fn take(request: &mut reqwest::Request) -> Option<Self> {
        if !Self::is_on(request) {
            return None;
        }
        let limit = request.timeout_mut().replace(Self::NONE)?;
        Some(Self::from_now(limit))
    }

    fn from_now(limit: Duration) -> Self {
        let ends = Instant::now().checked_add(limit);
        Self { limit, ends }
    }

    /// [`take`](Self::take) for a request that is not reqwest's yet: leaves itself among the extensions, for
    /// [`HttpClient`](crate::HttpClient).
    pub(crate) fn take_from(extensions: &mut Extensions) -> Option<Self> {
        if extensions.is_empty() {
            return None;
        }
        // Only a request of reqwest can read its limit and write it.
        let mut request = Request::new(reqwest::Body::default());
        *request.uri_mut() = Uri::from_static("http://unused/");
        *request.extensions_mut() = std::mem::take(extensions);
        let mut request = reqwest::Request::try_from(request).expect("a URI with scheme and host");
        let limit = Self::take(&mut request);
        let request = Request::<reqwest::Body>::try_from(request).expect("converted before");
        *extensions = request.into_parts().0.extensions;
        // A copy that is sent when the limit of the request has passed has it anew. Until then one guard may be within another.
        let has_passed = |taken: &&Self| taken.ends.is_some_and(|ends| ends <= Instant::now());
        let taken = extensions.get().filter(has_passed);
        let limit = limit.or_else(|| taken.map(|taken| Self::from_now(taken.limit)));
        if let Some(limit) = limit {
            extensions.insert(limit);
        }
        limit
    }

    /// The error of a request for which it has passed.
    pub(crate) fn passed(self) -> reqwest::Error {
        timed_out(self.text())
    }

    pub(crate) fn text(self) -> String {
        format!(
            "no response within {:?}, the limit of its request",
            self.limit
        )
    }

    /// The response, whose body ends with an error when the limit passes.
    pub(crate) fn over(self, response: Response) -> Response {
        let mut response = take_apart(response).map(|body| {
            let passes = self.ends.map(sleep_until);
            reqwest::Body::wrap(LimitedBody {
                body: Some(body),
                passes,
                limit: self,
            })
        });
        // For those that wait for the body.
        response.extensions_mut().insert(OwnLimit);
        response.into()
    }
}

/// Splits off the head and the body, and puts the URL where reqwest finds it.
pub(crate) fn take_apart(response: Response) -> http::Response<reqwest::Body> {
    let with_url = http::Response::builder()
        .url(response.url().clone())
        .body(());
    let mut response = http::Response::from(response);
    if let Ok(with_url) = with_url {
        let (parts, ()) = with_url.into_parts();
        response.extensions_mut().extend(parts.extensions);
    }
    response
}

/// An error whose `is_timeout` is true, so that retries above and callers treat it as a timeout. Only reqwest can
/// create its errors, for example from an error of a body.
pub(crate) fn timed_out(text: String) -> reqwest::Error {
    let body = reqwest::Body::wrap(TimedOut(Some(text)));
    let mut context = Context::from_waker(Waker::noop());
    match pin!(body).poll_frame(&mut context) {
        Poll::Ready(Some(Err(error))) => error,
        _ => unreachable!("a body that fails at once"),
    }
}

struct TimedOut(Option<String>);

impl Body for TimedOut {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let text = self.0.take();
        Poll::Ready(text.map(|text| Err(io::Error::new(ErrorKind::TimedOut, text))))
    }
}

pin_project! {
    /// The body of a response whose request carried a limit.
    struct LimitedBody {
        // `None` once the limit has passed: a reader that keeps this does not keep the connection.
        #[pin]
        body: Option<reqwest::Body>,
        #[pin]
        passes: Option<Sleep>,
        limit: CallersLimit,
    }
}

impl Body for LimitedBody {
    type Data = Bytes;
    type Error = reqwest::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<reqwest::Result<Frame<Bytes>>>> {
        let mut this = self.project();
        let Some(body) = this.body.as_mut().as_pin_mut() else {
            return Poll::Ready(None);
        };
        let passes = this.passes.as_pin_mut();
        // Before the body, as in reqwest: one that always has more must end, too.
        if passes.is_some_and(|passes| passes.poll(context).is_ready()) {
            this.body.set(None);
            return Poll::Ready(Some(Err(this.limit.passed())));
        }
        body.poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let ended = SizeHint::with_exact(0);
        self.body.as_ref().map_or(ended, Body::size_hint)
    }
}
