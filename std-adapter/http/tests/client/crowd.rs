// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forty callers at once of a host that loses most of its connections, over loopback.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{ClientConfig, ClientGuard, Config, Origin, State};
use futures_util::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tower::{ServiceBuilder, ServiceExt};

use test_support::host::Server;
use test_support::http2::{Http2, NO_ERROR, REFUSED_STREAM};

const HOUR: Duration = Duration::from_secs(3_600);
const CALLERS: usize = 40;
/// As many as a caller makes at most.
const CALLS: usize = 50;

type Hyper = Client<HttpConnector, Empty<&'static [u8]>>;

fn hyper(is_http2: bool) -> Hyper {
    let mut client = Client::builder(TokioExecutor::new());
    client.http2_only(is_http2).build_http()
}

/// Open for so long that it stays so.
fn guard() -> &'static ClientGuard {
    let plan = ClientConfig::new();
    let rules = plan
        .breaker_config()
        .open_for(HOUR)
        .exponential(2, 2 * HOUR);
    let plan = plan.tries(1).at_end_of_body().breaker(rules);
    ClientGuard::new(plan).unwrap().leak()
}

/// Returns whether a call was answered to its end.
async fn call(guard: &'static ClientGuard, hyper: &Hyper, server: &Server) -> bool {
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(hyper.clone());
    let request = Request::post(server.url("/")).body(Empty::new()).unwrap();
    match client.oneshot(request).await {
        Ok(response) => response.into_body().collect().await.is_ok(),
        Err(_) => false,
    }
}

fn state(guard: &'static ClientGuard, server: &Server) -> State {
    let origin = Origin::from_uri(&server.url("/").parse().unwrap()).unwrap();
    guard.hosts().state(&origin)
}

/// The number of the crowd's calls that were answered; it stops once the host is shut out.
async fn crowd(guard: &'static ClientGuard, hyper: &Hyper, server: &Server) -> usize {
    let callers = (0..CALLERS).map(|_| async {
        let mut answered = 0;
        for _ in 0..CALLS {
            if state(guard, server) == State::Open {
                break;
            }
            answered += usize::from(call(guard, hyper, server).await);
        }
        answered
    });
    join_all(callers).await.into_iter().sum()
}

/// The host that loses most calls is shut out, although it answers some; the one beside it, with the same client, is not.
async fn is_noticed(ill: fn(TcpStream, u32), well: fn(TcpStream, u32), is_http2: bool) {
    let (guard, hyper) = (guard(), hyper(is_http2));
    let (ill, well) = (Server::serving(ill), Server::serving(well));
    let (some, all) = tokio::join!(crowd(guard, &hyper, &ill), crowd(guard, &hyper, &well));
    assert_eq!(state(guard, &ill), State::Open, "after {some} answers");
    assert!(some > 0, "it answers some");
    assert_eq!((all, state(guard, &well)), (CALLERS * CALLS, State::Closed));
}

/// Reads the head of a request of HTTP/1.
fn read_head(connection: &mut BufReader<TcpStream>) -> bool {
    let mut lines = connection.lines();
    lines.any(|line| line.is_ok_and(|line| line.is_empty()))
}

fn answers(connection: TcpStream, _: u32) {
    let mut connection = BufReader::new(connection);
    while read_head(&mut connection) {
        let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwhole";
        let _ = connection.get_mut().write_all(whole);
    }
}

/// Cuts off the bodies of nineteen of twenty.
fn cuts_off(connection: TcpStream, number: u32) {
    let mut connection = BufReader::new(connection);
    read_head(&mut connection);
    let length = if number % 20 == 1 { 5 } else { 500 };
    let begun =
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\nbegun");
    let _ = connection.get_mut().write_all(begun.as_bytes());
}

#[tokio::test]
async fn bodies_cut_off_are_noticed_over_http_1() {
    is_noticed(cuts_off, answers, false).await;
}

fn answers_streams(connection: TcpStream, _: u32) {
    let mut connection = Http2::accept(connection);
    while let Some(stream) = connection.request() {
        connection.answer(stream);
    }
}

/// Of forty requests it answers two, and then its connection ends.
fn dies(connection: TcpStream, _: u32) {
    let mut connection = Http2::accept(connection);
    for stream in (0..2)
        .map_while(|_| connection.request())
        .collect::<Vec<_>>()
    {
        connection.answer(stream);
    }
    for _ in 2..CALLERS {
        connection.request();
    }
}

#[tokio::test]
async fn connections_that_die_are_noticed_over_http_2() {
    is_noticed(dies, answers_streams, true).await;
}

/// Of forty streams of all connections, answers one.
fn refuses_most(connection: TcpStream, _: u32) {
    static STREAMS: AtomicU32 = AtomicU32::new(0);
    let mut connection = Http2::accept(connection);
    while let Some(stream) = connection.request() {
        if STREAMS.fetch_add(1, Relaxed) % 40 == 1 {
            connection.answer(stream);
        } else {
            connection.reset(stream, REFUSED_STREAM);
        }
    }
}

#[tokio::test]
async fn streams_that_are_refused_are_noticed() {
    is_noticed(refuses_most, answers_streams, true).await;
}

/// Answers the first request of a connection, and does not look at the others.
fn goes_away_after_one(connection: TcpStream, _: u32) {
    let mut connection = Http2::accept(connection);
    let Some(first) = connection.request() else {
        return;
    };
    connection.answer(first);
    for _ in 1..20 {
        connection.request();
    }
    connection.go_away(first, NO_ERROR);
    // Closed with something unread, the end would overtake it.
    while connection.request().is_some() {}
}

#[tokio::test]
async fn connections_that_go_away_under_most_requests_are_noticed() {
    is_noticed(goes_away_after_one, answers_streams, true).await;
}

/// Its first connection ends with forty requests on it, and the others work.
fn dies_once(connection: TcpStream, number: u32) {
    if number > 0 {
        return answers_streams(connection, number);
    }
    let mut connection = Http2::accept(connection);
    for stream in (0..20)
        .map_while(|_| connection.request())
        .collect::<Vec<_>>()
    {
        connection.answer(stream);
    }
    for _ in 0..CALLERS {
        connection.request();
    }
}

#[tokio::test]
async fn a_connection_that_dies_once_under_forty_requests_shuts_out_no_host() {
    let (guard, hyper) = (guard(), hyper(true));
    let server = Server::serving(dies_once);
    let answered = crowd(guard, &hyper, &server).await;
    assert_eq!(answered, CALLERS * CALLS - CALLERS);
    assert_eq!(state(guard, &server), State::Closed);
}

/// Each connection ends with eight requests on it, when all five have so many.
fn dies_with_the_others(connection: TcpStream, _: u32) {
    static ALL: Barrier = Barrier::new(5);
    let mut connection = Http2::accept(connection);
    for _ in 0..8 {
        connection.request();
    }
    ALL.wait();
}

#[tokio::test]
async fn connections_that_die_at_the_same_time_are_a_failure_each() {
    let plan = ClientConfig::new().tries(1);
    let plan = plan.breaker(Config::new().consecutive_failures(200));
    let guard = ClientGuard::new(plan).unwrap().leak();
    let server = Server::serving(dies_with_the_others);
    let clients = [(); 5].map(|()| hyper(true));
    let calls = clients
        .iter()
        .flat_map(|hyper| (0..8).map(|_| call(guard, hyper, &server)));
    let answered = join_all(calls).await;
    assert!(answered.iter().all(|answered| !answered));
    let origin = Origin::from_uri(&server.url("/").parse().unwrap()).unwrap();
    let entry = guard.hosts().entry(&origin).unwrap();
    assert_eq!(entry.snapshot.failures(), 5);
}
