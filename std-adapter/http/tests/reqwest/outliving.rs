// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of a middleware's tries that continue without their callers, and their progress.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, mem};

use atomic_breaker_http::{Breaker, BreakerMiddleware, Config, State, breaker};
use http::Extensions;
use http_body::{Body, Frame};
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, Middleware, Next, Result};
use tokio::time::timeout;

use super::going_on::{MS, PATIENCE, Takes};
use super::middleware::through;
use super::server::reqwest;

/// Counts the calls that it has answered.
#[derive(Clone, Default)]
struct Answers(Arc<AtomicU32>);

impl Middleware for Answers {
    fn handle<'a, 'b, 'c, 'd>(
        &'a self,
        request: Request,
        extensions: &'b mut Extensions,
        next: Next<'c>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'd>>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        Box::pin(async move {
            let answer = Takes(400 * MS).handle(request, extensions, next).await;
            self.0.fetch_add(1, Relaxed);
            answer
        })
    }
}

#[tokio::test(start_paused = true)]
async fn as_many_tries_go_on_as_are_set_and_none_without_a_limit() {
    let one: &'static Breaker = Box::leak(Box::new(breaker(Config::new())));
    for (tries, limit, expected) in [
        (0, Duration::from_secs(30), 0),
        (1, Duration::from_secs(30), 1),
        (2, Duration::from_secs(30), 2),
        (9, Duration::from_secs(30), 3),
        (9, Duration::MAX, 0),
    ] {
        let answers = Answers::default();
        let below = ClientBuilder::new(reqwest()).with(answers.clone()).build();
        let middleware = BreakerMiddleware::new(one, below).time_limit(limit);
        let client = through(middleware.outliving(tries));
        for _ in 0..3 {
            tokio::spawn(timeout(PATIENCE, client.get("http://a.example/").send()));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(
            answers.0.load(Relaxed),
            expected,
            "{tries} within {limit:?}"
        );
    }
}

/// Answers after 400 ms, with a body that is cut off.
struct CutsOff;

impl Middleware for CutsOff {
    fn handle<'a, 'b, 'c, 'd>(
        &'a self,
        _: Request,
        _: &'b mut Extensions,
        _: Next<'c>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'd>>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        Box::pin(async {
            tokio::time::sleep(400 * MS).await;
            let body = reqwest::Body::wrap(Cut { has_begun: false });
            Ok(http::Response::new(body).into())
        })
    }
}

struct Cut {
    has_begun: bool,
}

impl Body for Cut {
    type Data = &'static [u8];
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<&'static [u8]>>>> {
        Poll::Ready(Some(if mem::replace(&mut self.has_begun, true) {
            Err(io::Error::other("reset"))
        } else {
            Ok(Frame::data(b"begun"))
        }))
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_decides_is_read_on_although_its_caller_has_left() {
    for waits in [false, true] {
        let one: &'static Breaker = Box::leak(Box::new(breaker(Config::new())));
        let below = ClientBuilder::new(reqwest()).with(CutsOff).build();
        let middleware = BreakerMiddleware::new(one, below).time_limit(Duration::from_secs(30));
        let client = through(if waits {
            middleware.at_end_of_body()
        } else {
            middleware
        });
        for _ in 0..5 {
            let sent = client.get("http://a.example/").send();
            assert!(timeout(PATIENCE, sent).await.is_err());
            tokio::time::sleep(400 * MS).await;
        }
        let expected = if waits { State::Open } else { State::Closed };
        assert_eq!(one.state(), expected, "waits for the body: {waits}");
    }
}
