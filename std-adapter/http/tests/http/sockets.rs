// SPDX-License-Identifier: MIT OR Apache-2.0
//! Over real sockets: servers that cut bodies off, never end them, or write garbage.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use atomic_breaker_http::{
    AtEnd, Breaker, Config, Failure, HttpClassifier, HttpRules, ServiceError, State, breaker,
};
use atomic_breaker_server::Report;
use axum::body::{Body, Bytes};
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;

use crate::support::call_reported;

const HTTP: HttpClassifier = HttpClassifier::new();
const AT_END: AtEnd<HttpClassifier> = HTTP.at_end_of_body();
const RULES: Config = Config::new()
    .consecutive_failures(5)
    .open_for(Duration::from_secs(3_600));

/// Answers each connection's first request with this, and closes the connection.
fn server(answer: impl Fn(&mut TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    // Ends with the test's process.
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if connection.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                request.push(byte[0]);
            }
            answer(&mut connection);
        }
    });
    address
}

fn says(text: impl AsRef<[u8]> + Send + 'static) -> SocketAddr {
    server(move |connection| {
        let _ = connection.write_all(text.as_ref());
    })
}

struct Peer {
    client: Client<HttpConnector, Body>,
    address: SocketAddr,
    breaker: Arc<Breaker>,
}

impl Peer {
    fn new(address: SocketAddr) -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
            address,
            breaker: Arc::new(breaker(RULES)),
        }
    }

    async fn send(&self, method: Method) -> Result<Response<impl Answer + use<>>, Error> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}/", self.address));
        let request = request.body(Body::empty()).unwrap();
        self.client.request(request).await
    }

    async fn call(
        &self,
        method: Method,
    ) -> Result<Response<impl Answer + use<>>, ServiceError<Error>> {
        let server = Arc::clone(&self.breaker);
        call_reported(server, AT_END, || self.send(method)).await
    }

    fn failures(&self) -> u32 {
        self.breaker.snapshot().failures().into()
    }
}

/// The type of hyper's bodies.
trait Answer: http_body::Body<Data = Bytes, Error: std::error::Error> + Unpin + Send + 'static {}

impl<B> Answer for B where
    B: http_body::Body<Data = Bytes, Error: std::error::Error> + Unpin + Send + 'static
{
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

#[tokio::test]
async fn a_truncated_body_is_a_failure_that_the_head_alone_does_not_show() {
    for text in [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n".to_owned(),
        format!("{CHUNKED}4\r\nhalf\r\n"),
        format!("{CHUNKED}4\r\nha"),
        format!("{CHUNKED}garbage\r\n"),
    ] {
        let peer = Peer::new(says(text.clone()));
        let answer = peer.call(Method::GET).await.unwrap();
        assert_eq!(peer.failures(), 0, "not known yet");
        assert!(answer.into_body().collect().await.is_err(), "{text:?}");
        assert_eq!(peer.failures(), 1, "{text:?}");

        let permit = peer.breaker.acquire().unwrap();
        let answer = HTTP.report(permit, peer.send(Method::GET).await).unwrap();
        assert!(answer.into_body().collect().await.is_err());
        assert_eq!(
            peer.failures(),
            0,
            "the success of its head cleared the count"
        );
    }
}

#[tokio::test]
async fn whole_bodies_and_empty_ones_are_successes() {
    for (method, text, length) in [
        (
            Method::GET,
            "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfull".to_owned(),
            4,
        ),
        (Method::GET, format!("{CHUNKED}4\r\nfull\r\n0\r\n\r\n"), 4),
        (Method::GET, "HTTP/1.1 204 No Content\r\n\r\n".to_owned(), 0),
        (
            Method::HEAD,
            "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n".to_owned(),
            0,
        ),
        (
            Method::GET,
            "HTTP/1.0 200 OK\r\n\r\nuntil it closes".to_owned(),
            15,
        ),
    ] {
        let peer = Peer::new(says(text.clone()));
        peer.breaker.acquire().unwrap().failure();
        let answer = peer.call(method).await.unwrap();
        let known_at_head = length == 0;
        assert_eq!(peer.failures() == 0, known_at_head, "{text:?}");
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(bytes.len(), length);
        assert_eq!(peer.failures(), 0, "a success clears the count");
    }
}

#[tokio::test]
async fn five_truncated_bodies_trip_and_a_probe_with_a_truncated_one_opens_again() {
    let peer = Peer::new(says("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"));
    for _ in 0..5 {
        let answer = peer.call(Method::GET).await.unwrap();
        assert!(answer.into_body().collect().await.is_err());
    }
    assert_eq!(peer.breaker.state(), State::Open);
    assert!(
        peer.call(Method::GET)
            .await
            .is_err_and(|error| error.rejected().is_some())
    );

    peer.breaker.probe_now();
    let answer = peer.call(Method::GET).await.unwrap();
    assert_eq!(peer.breaker.state(), State::HalfOpen);
    assert!(answer.into_body().collect().await.is_err());
    assert_eq!(peer.breaker.state(), State::Open);
}

fn endless() -> SocketAddr {
    server(|connection| {
        let _ = connection.write_all(CHUNKED.as_bytes());
        while connection.write_all(b"5\r\ntick\n\r\n").is_ok() {
            thread::sleep(Duration::from_millis(1));
        }
    })
}

#[tokio::test]
async fn an_endless_body_closes_with_its_first_data_and_is_dropped_without_harm() {
    let peer = Peer::new(endless());
    peer.breaker.trip();
    peer.breaker.probe_now();
    let answer = peer.call(Method::GET).await.unwrap();
    let mut body = answer.into_body();
    assert!(body.frame().await.unwrap().is_ok());
    assert_eq!(peer.breaker.state(), State::Closed);
    for _ in 0..10 {
        assert!(body.frame().await.unwrap().is_ok());
    }
    drop(body);

    peer.breaker.acquire().unwrap().failure();
    let mut body = peer.call(Method::GET).await.unwrap().into_body();
    assert!(body.frame().await.unwrap().is_ok());
    assert_eq!(peer.failures(), 1, "it goes on");
    drop(body);
    assert_eq!(peer.failures(), 0, "dropped by a reader who has enough");
}

#[tokio::test]
async fn callers_that_give_up_do_not_hide_a_server_that_hangs_within_the_body() {
    let address = server(|connection| {
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
        let _ = connection.read(&mut [0]);
    });
    let peer = Peer::new(address);
    peer.breaker.acquire().unwrap().failure();
    let answer = peer.call(Method::GET).await.unwrap();
    let patience = Duration::from_millis(50);
    let read = tokio::time::timeout(patience, answer.into_body().collect());
    assert!(read.await.is_err());
    assert_eq!(peer.failures(), 1, "neither counted nor cleared");
}

#[tokio::test]
async fn garbage_in_retry_after_counts_as_a_503_without_it() {
    for value in [
        &b"soon"[..],
        b"-1",
        b"1.5",
        b"\xff\xfe\x80",
        b"",
        b"0",
        b"Sun, 99 Nov 1994 08:49:37 GMT",
        b"120\r\ndate: 120",
    ] {
        let head =
            &b"HTTP/1.1 503 Busy\r\nconnection: close\r\ncontent-length: 0\r\nretry-after: "[..];
        let peer = Peer::new(says([head, value, b"\r\n\r\n"].concat()));
        for failures in 1..=5 {
            let answer = peer.call(Method::GET).await.unwrap();
            assert_eq!(answer.status(), 503);
            assert_eq!(peer.failures(), failures % 5, "{value:?}");
        }
        assert_eq!(peer.breaker.state(), State::Open);
        let hinted = value.starts_with(b"120");
        let snapshot = peer.breaker.snapshot();
        assert_eq!(snapshot.is_demanded(), hinted, "{value:?}: {snapshot:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_gone_or_writes_garbage_has_failed() {
    // Nothing listens on port 1.
    let gone = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    for address in [gone, says("garbage\r\n\r\n"), says("")] {
        let peer = Peer::new(address);
        let Err(error) = peer.call(Method::GET).await else {
            panic!("no answer is an error");
        };
        assert!(error.rejected().is_none());
        assert_eq!(peer.failures(), 1);
    }
}

#[tokio::test]
async fn an_error_of_the_client_is_weighed_by_its_kind() {
    let http = HTTP.errors(|error: &Error| {
        let weight = if error.is_connect() { 3 } else { 1 };
        Failure::with_weight(weight).into()
    });
    let gone = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    for (address, weight) in [(gone, 3), (says("garbage\r\n\r\n"), 1)] {
        let peer = Peer::new(address);
        let result = peer.send(Method::GET).await;
        let reason = http.reason(&result).unwrap();
        assert!(reason.starts_with("transport: "), "{reason}");
        let _ = http.report(peer.breaker.acquire().unwrap(), result);
        assert_eq!(peer.failures(), weight);
    }
}
