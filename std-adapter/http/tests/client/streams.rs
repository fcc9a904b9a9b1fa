// SPDX-License-Identifier: MIT OR Apache-2.0
//! HTTP/2: many requests on one connection, and what its end says about the host.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{
    ClientBody, ClientConfig, ClientGuard, Config, Origin, RequestError, State,
};
use futures_util::future::join_all;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use tower::{ServiceBuilder, ServiceExt};

use test_support::host::Server;
use test_support::http2::{ENHANCE_YOUR_CALM, Http2, INTERNAL_ERROR, NO_ERROR, REFUSED_STREAM};

pub(super) type Hyper = Client<HttpConnector, Empty<&'static [u8]>>;

fn hyper() -> Hyper {
    Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http()
}

/// The default rules, with times so long that nothing expires.
pub(super) const PLAN: ClientConfig = ClientConfig::new().breaker(
    Config::new()
        .consecutive_failures(5)
        .open_for(Duration::from_secs(3_600)),
);

pub(super) fn origin(server: &Server) -> Origin {
    Origin::from_uri(&server.url("/").parse().unwrap()).unwrap()
}

pub(super) type Answer = Result<Response<ClientBody<Incoming>>, RequestError<Error>>;

pub(super) async fn send(
    guard: &'static ClientGuard,
    hyper: &Hyper,
    server: &Server,
    method: Method,
) -> Answer {
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(hyper.clone());
    let request = Request::builder().method(method).uri(server.url("/"));
    client.oneshot(request.body(Empty::new()).unwrap()).await
}

/// The number of requests, out of eleven simultaneous ones, that are answered, on a connection that has answered one
/// before.
async fn eleven(guard: &'static ClientGuard, server: &Server, method: Method) -> usize {
    let hyper = hyper();
    let first = send(guard, &hyper, server, Method::POST).await;
    assert!(first.is_ok(), "{first:?}");
    let answers = (0..11).map(|_| send(guard, &hyper, server, method.clone()));
    let answers = join_all(answers).await;
    answers.iter().filter(|answer| answer.is_ok()).count()
}

fn failures(guard: &'static ClientGuard, server: &Server) -> u16 {
    let entry = guard.hosts().entry(&origin(server));
    entry.map_or(0, |entry| entry.snapshot.failures())
}

fn guard(tries: u32) -> &'static ClientGuard {
    ClientGuard::new(PLAN.tries(tries)).unwrap().leak()
}

/// Answers all requests of all connections but the first: there it answers the first request, and once eleven more
/// have come does what `end` says.
pub(super) fn serve_after(
    connection: std::net::TcpStream,
    number: u32,
    end: fn(&mut Http2, &[u32]),
) {
    let mut connection = Http2::accept(connection);
    if number == 0 {
        let first = connection.request().unwrap();
        connection.answer(first);
        let streams: Vec<_> = (0..11).map_while(|_| connection.request()).collect();
        end(&mut connection, &streams);
        return;
    }
    while let Some(stream) = connection.request() {
        connection.answer(stream);
    }
}

#[tokio::test]
async fn a_connection_lost_under_eleven_requests_is_one_failure() {
    let server = Server::serving(|connection, number| serve_after(connection, number, |_, _| {}));
    let guard = guard(1);
    assert_eq!(eleven(guard, &server, Method::POST).await, 0);
    assert_eq!(failures(guard, &server), 1);
    assert!(send(guard, &hyper(), &server, Method::POST).await.is_ok());
    assert_eq!(failures(guard, &server), 0);
}

#[tokio::test]
async fn so_is_one_that_its_host_ends_with_enhance_your_calm() {
    // As servers do after too many resets, which callers cause that cancel.
    let server = Server::serving(|connection, number| {
        serve_after(connection, number, |connection, streams| {
            connection.go_away(*streams.last().unwrap(), ENHANCE_YOUR_CALM);
        });
    });
    let guard = guard(1);
    assert_eq!(eleven(guard, &server, Method::POST).await, 0);
    assert_eq!(failures(guard, &server), 1);
    assert_eq!(guard.hosts().state(&origin(&server)), State::Closed);
}

#[tokio::test]
async fn all_eleven_that_may_be_sent_again_get_a_response() {
    for end in [
        (|_, _| {}) as fn(&mut Http2, &[u32]),
        |connection, _| connection.go_away(1, NO_ERROR),
        |connection, streams| {
            for &stream in streams {
                connection.reset(stream, REFUSED_STREAM);
            }
            while let Some(stream) = connection.request() {
                connection.answer(stream);
            }
        },
    ] {
        *END.lock().unwrap() = Some(end);
        let server = Server::serving(|connection, number| {
            let end = END.lock().unwrap().unwrap();
            serve_after(connection, number, end);
        });
        let guard = guard(3);
        assert_eq!(eleven(guard, &server, Method::GET).await, 11);
        assert_eq!(guard.hosts().state(&origin(&server)), State::Closed);
    }
}

/// The end of a connection.
type End = fn(&mut Http2, &[u32]);

static END: std::sync::Mutex<Option<End>> = std::sync::Mutex::new(None);

/// Refuses each request unprocessed.
pub(super) fn refuses(connection: std::net::TcpStream, _: u32) {
    let mut connection = Http2::accept(connection);
    while let Some(stream) = connection.request() {
        connection.reset(stream, REFUSED_STREAM);
    }
}

/// Ends each connection before it looks at a request.
pub(super) fn goes_away(connection: std::net::TcpStream, _: u32) {
    let mut connection = Http2::accept(connection);
    connection.request();
    connection.go_away(0, NO_ERROR);
    // Closed with something unread, the end would overtake it.
    while connection.request().is_some() {}
}

#[tokio::test]
async fn a_host_that_refuses_everything_unprocessed_opens_and_stays_so_when_it_refuses_its_probe() {
    for server in [Server::serving(refuses), Server::serving(goes_away)] {
        let (guard, hyper) = (guard(1), hyper());
        for count in 1..=5 {
            assert_eq!(guard.hosts().state(&origin(&server)), State::Closed);
            let answer = send(guard, &hyper, &server, Method::POST).await;
            assert!(matches!(answer, Err(RequestError::Failed(_))), "{answer:?}");
            assert!(count == 5 || failures(guard, &server) == count);
        }
        assert_eq!(guard.hosts().state(&origin(&server)), State::Open);
        let hosts = guard.hosts();
        let half_open = hosts.command(&origin(&server), |host| host.probe_now());
        assert!(half_open.unwrap().is_some());
        let answer = send(guard, &hyper, &server, Method::POST).await;
        assert!(matches!(answer, Err(RequestError::Failed(_))), "{answer:?}");
        assert_eq!(guard.hosts().state(&origin(&server)), State::Open);
    }
}

/// On the same connection it would be refused again.
#[tokio::test]
async fn a_request_that_is_refused_is_sent_again_once() {
    static RECEIVED: AtomicU32 = AtomicU32::new(0);
    let server = Server::serving(|connection, _| {
        let mut connection = Http2::accept(connection);
        while let Some(stream) = connection.request() {
            RECEIVED.fetch_add(1, Relaxed);
            connection.reset(stream, REFUSED_STREAM);
        }
    });
    let (guard, hyper) = (guard(1), hyper());
    for _ in 0..20 {
        let answer = send(guard, &hyper, &server, Method::POST).await;
        assert!(answer.is_err(), "{answer:?}");
    }
    assert_eq!(RECEIVED.load(Relaxed), 10, "five were admitted");
}

/// Their host did not look at them, whatever reason it gives.
#[tokio::test]
async fn a_post_that_was_never_looked_at_is_sent_again() {
    type Serve = fn(std::net::TcpStream, u32);
    let no_error: Serve = |connection, number| ends_two(connection, number, NO_ERROR);
    let refused: Serve = |connection, number| ends_two(connection, number, REFUSED_STREAM);
    for serve in [no_error, refused] {
        let server = Server::serving(serve);
        // However busy the machine.
        let plan = PLAN.tries(1).try_limit(Duration::from_secs(30));
        let plan = plan.deadline(Duration::from_secs(60));
        let guard = ClientGuard::new(plan).unwrap().leak();
        let answer = send(guard, &hyper(), &server, Method::POST).await;
        assert!(answer.is_ok(), "{answer:?}");
        assert_eq!(server.connections(), 3);
        assert_eq!(failures(guard, &server), 0);
    }
}

fn ends_two(connection: std::net::TcpStream, number: u32, reason: u32) {
    let mut connection = Http2::accept(connection);
    while let Some(stream) = connection.request() {
        if number < 2 {
            connection.go_away(0, reason);
        } else {
            connection.answer(stream);
        }
    }
}

/// It may have been processed, so it is not sent again.
#[tokio::test]
async fn a_stream_that_its_host_breaks_off_is_a_failure_by_itself() {
    static RECEIVED: AtomicU32 = AtomicU32::new(0);
    let server = Server::serving(|connection, _| {
        let mut connection = Http2::accept(connection);
        // Four at a time.
        loop {
            let streams: Vec<_> = (0..4).map_while(|_| connection.request()).collect();
            for &stream in &streams {
                RECEIVED.fetch_add(1, Relaxed);
                connection.reset(stream, INTERNAL_ERROR);
            }
            if streams.is_empty() {
                return;
            }
        }
    });
    let guard = guard(1);
    let hyper = hyper();
    let at_once = (0..4).map(|_| send(guard, &hyper, &server, Method::POST));
    for answer in join_all(at_once).await {
        assert!(matches!(answer, Err(RequestError::Failed(_))), "{answer:?}");
    }
    assert_eq!(RECEIVED.load(Relaxed), 4);
    assert_eq!(failures(guard, &server), 4);
}

#[tokio::test]
async fn requests_refused_together_are_one_failure_even_when_no_token_is_left() {
    let server = Server::serving(refuses);
    let guard = guard(1);
    while guard.budget_of(&origin(&server)).withdraw() {}
    let hyper = hyper();
    let at_once = (0..11).map(|_| send(guard, &hyper, &server, Method::POST));
    join_all(at_once).await;
    assert_eq!(failures(guard, &server), 1);
}

#[tokio::test]
async fn a_host_that_breaks_each_connection_opens_after_five_of_them() {
    let server = Server::serving(|connection, _| {
        let mut connection = Http2::accept(connection);
        connection.request();
    });
    let guard = guard(1);
    for count in 1..=5 {
        assert_eq!(guard.hosts().state(&origin(&server)), State::Closed);
        let hyper = hyper();
        let at_once = (0..3).map(|_| send(guard, &hyper, &server, Method::POST));
        join_all(at_once).await;
        assert!(count < 5 || guard.hosts().state(&origin(&server)) == State::Open);
    }
}

#[tokio::test]
async fn bodies_cut_off_with_their_connection_are_one_failure() {
    let server = Server::serving(|connection, number| {
        serve_after(connection, number, |connection, streams| {
            for &stream in streams {
                connection.begin(stream);
            }
        });
    });
    let plan = PLAN.tries(1).at_end_of_body();
    let guard: &'static ClientGuard = ClientGuard::new(plan).unwrap().leak();
    let hyper = hyper();
    let get = || {
        let client = ServiceBuilder::new()
            .layer(guard.layer())
            .service(hyper.clone());
        let request = Request::get(server.url("/")).body(Empty::new());
        client.oneshot(request.unwrap())
    };
    assert!(get().await.is_ok());
    let answers = join_all((0..11).map(|_| get())).await;
    let bodies = answers
        .into_iter()
        .map(|answer| answer.unwrap().into_body().collect());
    let bodies = join_all(bodies).await;
    assert!(bodies.iter().all(Result::is_err), "{bodies:?}");
    let entry = guard.hosts().entry(&origin(&server)).unwrap();
    assert_eq!(entry.snapshot.failures(), 1);
}
