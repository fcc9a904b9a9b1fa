// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idle connections whose host lost its side unnoticed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use atomic_breaker_http::{BudgetConfig, ClientGuard, State};
use atomic_breaker_server::RetryEvent;
use futures_util::future::join_all;
use http::Method;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use super::streams::{Hyper, PLAN, origin, send};
use test_support::host::Server;

/// Answers the first request of each connection once that many have come, and ends the first connections at their second
/// request, after reading it; later ones work.
fn serve(mut connection: TcpStream, number: u32, stale: u32, all: &Barrier) {
    let mut request = [0; 4_096];
    let mut requests = 0;
    while let Ok(1..) = connection.read(&mut request) {
        requests += 1;
        if number < stale {
            if requests == 2 {
                return;
            }
            all.wait();
        }
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    }
}

/// A pool of that many idle connections.
async fn fill(guard: &'static ClientGuard, server: &Server, connections: u32) -> Hyper {
    let hyper: Hyper = Client::builder(TokioExecutor::new()).build_http();
    let answers = (0..connections).map(|_| send(guard, &hyper, server, Method::POST));
    for answer in join_all(answers).await {
        answer.unwrap().into_body().collect().await.unwrap();
    }
    // Until the last one is back in the pool.
    tokio::time::sleep(Duration::from_millis(50)).await;
    hyper
}

fn guard() -> &'static ClientGuard {
    ClientGuard::new(PLAN).unwrap().leak()
}

#[tokio::test]
async fn thirty_stale_connections_cost_a_request_and_open_nothing() {
    static ALL: Barrier = Barrier::new(30);
    let server = Server::serving(|connection, number| serve(connection, number, 30, &ALL));
    let guard = guard();
    let hyper = fill(guard, &server, 30).await;
    let mut tries = 0;
    while send(guard, &hyper, &server, Method::GET).await.is_err() {
        tries += 1;
        assert!(tries < 3);
    }
    assert_eq!(guard.hosts().state(&origin(&server)), State::Closed);
}

#[tokio::test]
async fn a_probe_tries_until_a_connection_is_fresh() {
    static ALL: Barrier = Barrier::new(8);
    let server = Server::serving(|connection, number| serve(connection, number, 8, &ALL));
    let guard = guard();
    let hyper = fill(guard, &server, 8).await;
    let half_open = guard.hosts().command(&origin(&server), |host| {
        host.trip();
        host.probe_now()
    });
    assert!(half_open.unwrap().is_some());
    let answer = send(guard, &hyper, &server, Method::GET).await;
    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(guard.hosts().state(&origin(&server)), State::Closed);
    assert_eq!(
        events(guard),
        [(RetryEvent::Sent, 8), (RetryEvent::Recovered, 1)]
    );
}

fn events(guard: &ClientGuard) -> Vec<(RetryEvent, u64)> {
    let counts = guard.retries();
    let all = RetryEvent::ALL.map(|event| (event, counts.of(event)));
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// Each failure is counted once, whether it was sent again within its try or in a try of its own.
#[tokio::test]
async fn each_connection_that_breaks_is_counted_once() {
    for (tries, tokens, sends) in [(1, 1, 2), (3, 1, 2), (1, 100, 9), (2, 100, 18), (2, 12, 13)] {
        static SENDS: AtomicU32 = AtomicU32::new(0);
        let server = Server::serving(|mut connection, _| {
            if connection
                .read(&mut [0; 4_096])
                .is_ok_and(|length| length > 0)
            {
                SENDS.fetch_add(1, Ordering::Relaxed);
            }
        });
        let budget = BudgetConfig::new().max_tokens(tokens).tokens_per_second(0);
        let config = PLAN.tries(tries).budget(budget);
        let guard: &'static ClientGuard = ClientGuard::new(config).unwrap().leak();
        let hyper: Hyper = Client::builder(TokioExecutor::new()).build_http();
        assert!(send(guard, &hyper, &server, Method::GET).await.is_err());
        assert_eq!(SENDS.swap(0, Ordering::Relaxed), sends);
        let events = events(guard);
        let ends: u64 = events.iter().map(|(_, count)| count).sum();
        // Where no retry is wanted, what follows its last failure is not counted, unless a token was.
        let last = u64::from(tries == 1 && tokens == 100);
        assert_eq!(
            ends + last,
            u64::from(sends),
            "{tries}, {tokens}: {events:?}"
        );
    }
}

static READ: AtomicU32 = AtomicU32::new(0);

#[tokio::test]
async fn what_may_not_be_sent_twice_is_not_and_a_host_that_breaks_each_connection_opens() {
    // Reads each request, and ends its connection.
    let server = Server::serving(|mut connection, _| {
        let mut request = [0; 4_096];
        if connection.read(&mut request).is_ok_and(|length| length > 0) {
            READ.fetch_add(1, Ordering::Relaxed);
        }
    });
    let guard: &'static ClientGuard = ClientGuard::new(PLAN.tries(1)).unwrap().leak();
    let hyper: Hyper = Client::builder(TokioExecutor::new()).build_http();
    let reads = || READ.swap(0, Ordering::Relaxed);
    assert!(send(guard, &hyper, &server, Method::POST).await.is_err());
    assert_eq!(reads(), 1);
    assert!(send(guard, &hyper, &server, Method::GET).await.is_err());
    assert_eq!(reads(), 9, "bounded");
    for _ in 0..3 {
        assert!(send(guard, &hyper, &server, Method::POST).await.is_err());
    }
    assert_eq!(guard.hosts().state(&origin(&server)), State::Open);
    let budget = guard.budget_of(&origin(&server)).millitokens();
    // And some of it comes back with the time.
    assert_eq!(budget / 1_000, 92, "each costs a token");
}
