// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streamed bodies of requests that keep the host waiting.

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

use atomic_breaker_http::{
    Breaker, BreakerMiddleware, Bytes, ClientConfig, ClientGuard, Config, Origin, State, breaker,
};
use http::StatusCode;
use http_body::{Body, Frame};
use reqwest::Response;
use tokio::time::{Sleep, sleep, timeout};

use super::middleware::through;
use super::server::{Server, reqwest, start};

const LIMIT: Duration = Duration::from_millis(500);
/// A few of them are longer than the limit, and none is.
const PAUSE: Duration = Duration::from_millis(200);
const ONCE: Config = Config::new().consecutive_failures(1);

/// A body with a pause before each of its parts.
struct Trickle {
    pause: Pin<Box<Sleep>>,
    left: u32,
}

impl Trickle {
    fn of(parts: u32) -> reqwest::Body {
        let pause = Box::pin(sleep(PAUSE));
        reqwest::Body::wrap(Self { pause, left: parts })
    }
}

impl Body for Trickle {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        ready!(self.pause.as_mut().poll(context));
        self.left -= 1;
        self.pause = Box::pin(sleep(PAUSE));
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
    }
}

/// Reads the whole request, and answers as its path says.
fn reads_all(mut connection: TcpStream, _: u32) {
    let (mut request, mut more) = (Vec::new(), [0; 4_096]);
    while !request.ends_with(b"0\r\n\r\n") {
        match connection.read(&mut more) {
            Ok(0) | Err(_) => return,
            Ok(length) => request.extend_from_slice(&more[..length]),
        }
    }
    if request.starts_with(b"POST /hangs") {
        thread::sleep(Duration::from_secs(3_600));
    }
    thread::sleep(PAUSE);
    let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
}

/// A body that its caller supplies, as through a channel: it ends without an error when the caller has gone.
struct Supplied {
    caller: Weak<()>,
    pause: Pin<Box<Sleep>>,
    is_begun: bool,
}

impl Body for Supplied {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if !std::mem::replace(&mut self.is_begun, true) {
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"a half")))));
        }
        while self.caller.strong_count() > 0 {
            ready!(self.pause.as_mut().poll(context));
            self.pause = Box::pin(sleep(PAUSE / 20));
        }
        Poll::Ready(None)
    }
}

/// In the place of a server that does not wait for the rest of a request.
fn gives_up(mut connection: TcpStream, _: u32) {
    let _ = connection.read(&mut [0; 4_096]);
    thread::sleep(2 * PAUSE);
    let _ = connection.write_all(b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n");
    // Closed with something unread, the connection would be reset, and the answer might be lost.
    let _ = connection.shutdown(Shutdown::Write);
    let _ = io::copy(&mut connection, &mut io::sink());
}

async fn post(
    breaker: &'static Breaker,
    server: &Server,
    path: &str,
    parts: u32,
) -> reqwest_middleware::Result<Response> {
    let client = through(BreakerMiddleware::new(breaker, reqwest()).time_limit(LIMIT));
    let request = client.post(server.url(path)).body(Trickle::of(parts));
    request.send().await
}

fn one(rules: Config) -> &'static Breaker {
    Box::leak(Box::new(breaker(rules)))
}

#[tokio::test]
async fn an_upload_that_trickles_beyond_the_limit_does_not_open_the_host() {
    let (server, breaker) = (Server::serving(reads_all), one(ONCE));
    let error = post(breaker, &server, "/", 20).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("request not complete within"), "{source}");
    assert_eq!(breaker.state(), State::Closed);
    // A probe says nothing either, and gives its slot back.
    breaker.trip();
    breaker.probe_now();
    assert!(post(breaker, &server, "/", 20).await.is_err());
    assert_eq!(breaker.state(), State::HalfOpen);
    assert!(post(breaker, &server, "/", 1).await.is_ok());
    assert_eq!(breaker.state(), State::Closed);
}

/// With the limit for slow calls that follows from that of a try: half of it. Five of them in a row, and as probes.
#[tokio::test]
async fn slow_uploads_do_not_open_a_host_of_a_guard() {
    let server = Server::serving(reads_all);
    let guard = ClientGuard::new(
        ClientConfig::new()
            .breaker(Config::new().consecutive_failures(5))
            .try_limit(4 * LIMIT),
    );
    let guard: &'static ClientGuard = guard.unwrap().leak();
    // The server closes each connection after its answer.
    let fresh = reqwest::Client::builder()
        .no_proxy()
        .pool_max_idle_per_host(0);
    let client = through(guard.middleware(fresh.build().unwrap()));
    let origin = Origin::from_uri(&server.url("/").parse().unwrap()).unwrap();
    let upload = async || {
        // 800 ms, and 200 ms for the answer.
        let request = client.post(server.url("/")).body(Trickle::of(4));
        request.send().await.unwrap();
    };
    for _ in 0..6 {
        upload().await;
    }
    assert_eq!(guard.hosts().state(&origin), State::Closed);
    guard.hosts().command(&origin, |host| host.trip()).unwrap();
    guard
        .hosts()
        .command(&origin, |host| host.probe_now())
        .unwrap();
    upload().await;
    assert_eq!(guard.hosts().state(&origin), State::Closed);
}

/// 400 ms for the upload and 200 ms for the answer.
#[tokio::test]
async fn the_host_gets_the_whole_limit_once_the_upload_is_complete() {
    let server = Server::serving(reads_all);
    let breaker = one(ONCE.slow_call(2 * PAUSE));
    let answer = post(breaker, &server, "/", 2).await;
    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(breaker.state(), State::Closed, "slow was the caller");
}

#[tokio::test]
async fn a_host_that_hangs_after_a_slow_upload_fails() {
    let (server, breaker) = (Server::serving(reads_all), one(ONCE));
    let error = post(breaker, &server, "/hangs", 2).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test]
async fn a_408_is_the_callers_only_if_its_upload_waited_for_it() {
    let (server, breaker) = (Server::serving(gives_up), one(ONCE));
    let answer = post(breaker, &server, "/", 20).await.unwrap();
    assert_eq!(answer.status(), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(breaker.state(), State::Closed);

    // This one was there as a whole.
    let client = through(BreakerMiddleware::new(breaker, reqwest()).time_limit(60 * LIMIT));
    let answer = client.post(server.url("/")).body("x").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(breaker.state(), State::Open);
}

/// Or its host would have to find out where it ends, and that there is none.
#[tokio::test]
async fn a_streamed_body_is_sent_with_its_length_and_an_empty_one_not() {
    let server = start();
    let client = through(BreakerMiddleware::new(one(ONCE), reqwest()));
    for (text, expected) in [("streamed", Some("content-length: 8")), ("", None)] {
        let body = reqwest::Body::wrap(String::from(text));
        assert!(
            body.as_bytes().is_none(),
            "not in memory, as far as it knows"
        );
        let request = client.get(server.url("/")).body(body);
        let seen = request.send().await.unwrap().text().await.unwrap();
        let mut lines = seen.lines();
        let length = lines.find(|line| {
            line.starts_with("content-length") || line.starts_with("transfer-encoding")
        });
        assert_eq!(length, expected, "{seen}");
    }
}

/// Most bodies that are streamed wait at times, for a disk or a channel.
#[tokio::test]
async fn a_host_that_hangs_fails_although_the_upload_waited_for_a_moment() {
    let (server, breaker) = (Server::serving(reads_all), one(ONCE));
    let client = through(BreakerMiddleware::new(breaker, reqwest()).time_limit(4 * LIMIT));
    let request = client.post(server.url("/hangs")).body(Trickle::of(1));
    let begun = std::time::Instant::now();
    assert!(request.send().await.is_err());
    assert!(begun.elapsed() < 6 * LIMIT);
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test]
async fn an_upload_whose_caller_leaves_in_the_middle_is_never_complete_for_its_host() {
    static COMPLETE: AtomicU32 = AtomicU32::new(0);
    let server = Server::serving(|mut connection, _| {
        let (mut request, mut more) = (Vec::new(), [0; 4_096]);
        while let Ok(length @ 1..) = connection.read(&mut more) {
            request.extend_from_slice(&more[..length]);
            if request.ends_with(b"0\r\n\r\n") {
                COMPLETE.fetch_add(1, Relaxed);
                let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
                return;
            }
        }
    });
    let breaker = one(ONCE.cancel_limit(PAUSE / 20));
    let client = through(BreakerMiddleware::new(breaker, reqwest()).time_limit(LIMIT));
    for is_own_limit in [false, true] {
        let caller = Arc::new(());
        let body = reqwest::Body::wrap(Supplied {
            caller: Arc::downgrade(&caller),
            pause: Box::pin(sleep(PAUSE)),
            is_begun: false,
        });
        let request = client.post(server.url("/")).body(body);
        if is_own_limit {
            assert!(request.timeout(PAUSE).send().await.is_err());
        } else {
            assert!(timeout(PAUSE, request.send()).await.is_err());
        }
        drop(caller);
        sleep(2 * LIMIT).await;
        assert_eq!(COMPLETE.load(Relaxed), 0, "{is_own_limit}");
        assert_eq!(breaker.state(), State::Closed, "{is_own_limit}");
    }
}
