// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes of the middleware: whose connections break before a response, and of hosts that hang.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use atomic_breaker_http::{BreakerMiddleware, ClientConfig, ClientGuard, Origin, State};
use reqwest_middleware::ClientWithMiddleware;

use super::middleware::{one, through};
use super::server::{Server, reqwest};

#[tokio::test]
async fn a_probe_tries_until_a_connection_is_fresh() {
    // The first three connections end when they are used.
    let server = Server::serving(|mut connection, number| {
        let mut request = [0; 4_096];
        let _ = connection.read(&mut request);
        if number >= 3 {
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let breaker = one();
    breaker.trip();
    breaker.probe_now();
    let client = through(BreakerMiddleware::new(breaker, reqwest()));
    assert!(client.get(server.url("/")).send().await.is_ok());
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(server.connections(), 4);

    // What may not be sent twice is sent once.
    let server = Server::serving(|mut connection, _| {
        let _ = connection.read(&mut [0; 4_096]);
    });
    breaker.trip();
    breaker.probe_now();
    assert!(client.post(server.url("/")).send().await.is_err());
    assert_eq!(breaker.state(), State::Open);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_probe_with_an_idempotency_key_is_sent_again_whatever_its_method() {
    // The first two connections end when they are used; the answers repeat what arrived.
    let server = Server::serving(|mut connection, number| {
        let mut request = [0; 4_096];
        let length = connection.read(&mut request).unwrap_or(0);
        if number >= 2 {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
            let _ = connection.write_all(head.as_bytes());
            let _ = connection.write_all(&request[..length]);
        }
    });
    let breaker = one();
    let client = through(BreakerMiddleware::new(breaker, reqwest()));
    let post = |key| {
        breaker.trip();
        breaker.probe_now();
        let request = client.post(server.url("/")).header("idempotency-key", key);
        request.body("an item").send()
    };
    // A key that may be several keys says nothing.
    assert!(post("1, 2").await.is_err());
    assert_eq!((breaker.state(), server.connections()), (State::Open, 1));

    let answer = post("7").await.unwrap().text().await.unwrap();
    assert!(answer.contains("idempotency-key: 7"), "{answer}");
    assert!(answer.ends_with("an item"), "{answer}");
    assert_eq!((breaker.state(), server.connections()), (State::Closed, 3));
}

/// The quota of one caller, and a host that responds.
#[tokio::test]
async fn a_429_is_neutral_and_closes_as_the_answer_to_a_probe() {
    let server = Server::serving(|mut connection, _| {
        let _ = connection.read(&mut [0; 4_096]);
        let answer = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\nretry-after: 9\r\n";
        let answer = format!("{answer}connection: close\r\n\r\n");
        let _ = connection.write_all(answer.as_bytes());
    });
    for at_end in [false, true] {
        let breaker = one();
        let middleware = BreakerMiddleware::new(breaker, reqwest());
        let client = through(if at_end {
            middleware.at_end_of_body()
        } else {
            middleware
        });
        let get = || client.get(server.url("/")).send();
        for _ in 0..20 {
            assert_eq!(get().await.unwrap().status(), 429);
        }
        assert_eq!(breaker.state(), State::Closed);
        breaker.trip();
        breaker.probe_now();
        assert_eq!(get().await.unwrap().status(), 429);
        assert_eq!(breaker.state(), State::Closed);
    }
}

/// With a limit of its own, and with a guard that knows when an answer would be slow.
#[tokio::test]
async fn a_probe_of_a_host_that_hangs_ends_before_a_call_would() {
    let server = Server::serving(|mut connection, _| {
        let _ = connection.read(&mut [0; 4_096]);
        std::thread::sleep(Duration::from_secs(20));
    });
    let url = server.url("/");
    let held = |client: ClientWithMiddleware| {
        let url = url.clone();
        async move {
            let begun = Instant::now();
            let error = client.get(url).send().await.unwrap_err();
            assert!(error.is_timeout(), "{error}");
            begun.elapsed()
        }
    };
    let breaker = one();
    breaker.trip();
    breaker.probe_now();
    let middleware = BreakerMiddleware::new(breaker, reqwest());
    let middleware = middleware.probe_limit(Duration::from_millis(200));
    assert!(held(through(middleware)).await < Duration::from_secs(5));
    assert_eq!(breaker.state(), State::Open);

    let plan = ClientConfig::new()
        .try_limit(Duration::from_secs(4))
        .tries(1);
    let guard = ClientGuard::new(plan.deadline(Duration::from_secs(60)))
        .unwrap()
        .leak();
    let host = Origin::from_uri(&url.parse().unwrap()).unwrap();
    let probe = guard
        .hosts()
        .command(&host, |host| (host.trip(), host.probe_now()));
    probe.unwrap();
    let took = held(through(guard.middleware(reqwest()))).await;
    assert!(
        took >= Duration::from_secs(2) && took < Duration::from_millis(3_900),
        "{took:?}"
    );
}
