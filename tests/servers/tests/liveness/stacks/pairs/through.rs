// SPDX-License-Identifier: MIT OR Apache-2.0
//! The resource at the end of a chain of reqwest's middlewares, without a network, so that time stays virtual.

use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use atomic_breaker_http::rejection_of;
use http::Extensions;
use http_body::{Body, Frame};
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error, Middleware, Next, Result};
use tokio::time::timeout;

use super::guard::Guarded;
use super::users::Manners;
use crate::host::{Host, Trouble};
use crate::stack::{Answer, Caller, throw};

pub(super) const URL: &str = "http://a.example/";

/// The source of a response.
pub(super) enum Responder {
    Host(Host),
    OfGuard(Guarded, Manners),
}

/// A client with a middleware that sends through another client.
pub(super) fn with(middleware: impl Middleware) -> ClientWithMiddleware {
    let client = ClientBuilder::new(reqwest::Client::new());
    client.with(middleware).build()
}

/// A client whose requests the responder answers.
pub(super) fn host_client(responder: Responder) -> ClientWithMiddleware {
    with(HostMiddleware(Arc::new(responder)))
}

/// Responds in place of the network, and keeps the time limit of the request as reqwest does.
struct HostMiddleware(Arc<Responder>);

impl Responder {
    async fn answer(&self) -> std::result::Result<u32, Trouble> {
        match self {
            Self::Host(host) => host.answer_without_limit().await,
            Self::OfGuard(of, _) => of.answer().await,
        }
    }

    fn is_over_quota(&self) -> bool {
        matches!(self, Self::OfGuard(_, manners) if manners.is_over_quota())
    }
}

impl Middleware for HostMiddleware {
    fn handle<'me, 'extensions, 'next, 'call>(
        &'me self,
        request: Request,
        extensions: &'extensions mut Extensions,
        _: Next<'next>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'call>>
    where
        'me: 'call,
        'extensions: 'call,
        'next: 'call,
        Self: 'call,
    {
        let panics = extensions
            .get::<Caller>()
            .is_some_and(|caller| caller.ending.panics());
        let responder = Arc::clone(&self.0);
        Box::pin(async move {
            if panics {
                throw();
            }
            let answer = responder.answer();
            let answer = match request.timeout() {
                Some(limit) => timeout(*limit, answer).await.map_err(|_| timed_out())?,
                None => answer.await,
            };
            response(answer, responder.is_over_quota())
        })
    }
}

/// The host's answer as one of HTTP.
fn response(answer: std::result::Result<u32, Trouble>, over_quota: bool) -> Result<Response> {
    match answer {
        Ok(_) if over_quota => {
            let response = http::Response::builder().status(429);
            Ok(response.body("").unwrap().into())
        }
        Ok(_) => Ok(http::Response::new("").into()),
        Err(Trouble {
            retry_after: Some(time),
        }) => {
            let response = http::Response::builder().status(503);
            let response = response.header("retry-after", time.as_secs());
            Ok(response.body("").unwrap().into())
        }
        Err(trouble) => Err(Error::middleware(trouble)),
    }
}

/// The answer that a caller makes of the result.
pub(super) fn answer_of(result: &Result<Response>) -> Answer {
    match result {
        Ok(response) if response.status().is_success() => Answer::Served,
        Ok(response) if response.status() == 429 => Answer::Other,
        Err(error) if rejection_of(error).is_some() => Answer::Rejected,
        _ => Answer::Failed,
    }
}

/// Only reqwest can create its errors, for example from an error of a body.
pub(super) fn timed_out() -> reqwest::Error {
    let body = reqwest::Body::wrap(TimedOut);
    let mut context = Context::from_waker(Waker::noop());
    match pin!(body).poll_frame(&mut context) {
        Poll::Ready(Some(Err(error))) => error,
        _ => unreachable!("a body that fails at once"),
    }
}

struct TimedOut;

impl Body for TimedOut {
    type Data = &'static [u8];
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Self::Data>>>> {
        Poll::Ready(Some(Err(ErrorKind::TimedOut.into())))
    }
}
