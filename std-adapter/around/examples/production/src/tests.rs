// SPDX-License-Identifier: MIT OR Apache-2.0
//! In virtual time, with a host that is a function.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll, ready as poll_ready};
use std::{convert::Infallible, future::ready, time::Duration};

use atomic_breaker_http::{Bytes, ClientConfig, ClientError, Rejection};
use axum::extract::{Path, State};
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep, sleep, timeout};
use tower::{BoxError, Layer, service_fn};

use crate::guard;
use crate::prices::{Prices, price};

static WORKS: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU32 = AtomicU32::new(0);

fn is_rejected(asked: &Result<String, BoxError>) -> bool {
    let error = asked.as_ref().err();
    error.is_some_and(|error| Rejection::in_chain(&**error).is_some())
}

#[tokio::test(start_paused = true)]
async fn a_host_that_fails_is_left_alone_and_asked_again_when_it_works() {
    let host = service_fn(|_: http::Request<Bytes>| {
        CALLS.fetch_add(1, Relaxed);
        let status = if WORKS.load(Relaxed) { 200 } else { 500 };
        let answer = http::Response::builder().status(status).body("7.50");
        ready(Ok::<reqwest::Response, ClientError>(answer.unwrap().into()))
    });
    let (guard, _) = guard::start(ClientConfig::new()).unwrap();
    let url = "http://host.example/".parse().unwrap();
    let prices = Prices::new(guard.layer().layer(host), url);
    // Ten tries in a row that fail, over 100 ms at least: a call has three, with pauses in between.
    while !is_rejected(&prices.ask("tea").await) {}
    let tries = CALLS.load(Relaxed);
    assert!((10..=12).contains(&tries), "{tries}");
    assert!(is_rejected(&prices.ask("tea").await));
    assert_eq!(CALLS.load(Relaxed), tries, "nothing was sent while open");

    WORKS.store(true, Relaxed);
    tokio::time::sleep(Duration::from_millis(1_200)).await; // takes no time
    assert_eq!(prices.ask("tea").await.unwrap(), "7.50");
    assert_eq!(prices.ask("tea").await.unwrap(), "7.50");
}

/// A byte each 0.9 seconds, without end.
struct Drips(Pin<Box<Sleep>>);

impl Drips {
    const PAUSE: Duration = Duration::from_millis(900);
}

impl Body for Drips {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        poll_ready!(self.0.as_mut().poll(context));
        self.0.as_mut().reset(Instant::now() + Self::PAUSE);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"7")))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_drips_without_end_is_given_up() {
    let host = service_fn(|_: http::Request<Bytes>| {
        let body = reqwest::Body::wrap(Drips(Box::pin(sleep(Drips::PAUSE))));
        ready(Ok::<reqwest::Response, ClientError>(
            http::Response::new(body).into(),
        ))
    });
    let settings = crate::settings::read("settings.toml").unwrap();
    let (guard, _) = guard::start(settings.client).unwrap();
    let url = "http://host.example/".parse().unwrap();
    let prices = Prices::new(guard.layer().layer(host), url);
    let asked = timeout(Duration::from_secs(3), prices.ask("tea"));
    let error = asked.await.expect("an end").unwrap_err();
    let text = atomic_breaker_http::text_of(&*error);
    assert!(
        text.contains("the body was not complete within 2s"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_item_that_makes_the_url_too_long_is_an_answer_and_no_panic() {
    let host = service_fn(|_: http::Request<Bytes>| {
        ready(Ok::<reqwest::Response, ClientError>(
            http::Response::new("7.50").into(),
        ))
    });
    let (guard, _) = guard::start(ClientConfig::new()).unwrap();
    let url = "http://host.example/".parse().unwrap();
    let prices = Prices::new(guard.layer().layer(host), url);
    let ask = |item: String| price(State(prices.clone()), Path(item));
    assert_eq!(ask("tea".to_owned()).await.status(), 200);
    assert_eq!(ask("x".repeat(65_535)).await.status(), 414);
}
