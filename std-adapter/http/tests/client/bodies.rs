// SPDX-License-Identifier: MIT OR Apache-2.0
//! Truncated bodies, for hyper-util's client.

use std::fmt::Debug;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use atomic_breaker_http::{
    BodyLimits, ClientConfig, ClientGuard, Config, Origin, ReportingBody, State, TokioClock,
};
use http::{Request, Response, Uri};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tower::{ServiceBuilder, ServiceExt, service_fn};

use super::server::{Server, start};
use test_support::http2::Http2;

type Guard = &'static ClientGuard;
type Hyper = Client<HttpConnector, Empty<&'static [u8]>>;

const PLAN: ClientConfig = ClientConfig::new()
    .breaker(Config::new().consecutive_failures(2))
    .at_end_of_body();

fn guard() -> Guard {
    ClientGuard::new(PLAN).unwrap().leak()
}

fn hyper() -> Hyper {
    Client::builder(TokioExecutor::new()).build_http()
}

async fn get(guard: Guard, hyper: &Hyper, uri: String) -> Response<impl Body<Error: Debug>> {
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(hyper.clone());
    let request = Request::get(uri).body(Empty::new()).unwrap();
    let response = client.oneshot(request).await.unwrap();
    response.map(|body: ReportingBody<_, _, _, _>| body)
}

fn state(guard: Guard, server: &Server) -> State {
    let uri: Uri = server.url("/").parse().unwrap();
    guard.hosts().state(&Origin::from_uri(&uri).unwrap())
}

fn failures(guard: Guard, server: &Server) -> u16 {
    let uri: Uri = server.url("/").parse().unwrap();
    let entry = guard.hosts().entry(&Origin::from_uri(&uri).unwrap());
    entry.map_or(0, |entry| entry.snapshot.failures())
}

#[tokio::test]
async fn two_truncated_bodies_in_a_row_open_although_their_heads_are_fine() {
    for path in ["/breaks-off", "/chunks-break-off"] {
        let (server, guard, hyper) = (start(), guard(), hyper());
        for count in 1..=2 {
            let response = get(guard, &hyper, server.url(path)).await;
            assert!(response.status().is_success());
            assert_eq!(failures(guard, &server), count - 1, "not yet");
            assert!(response.into_body().collect().await.is_err());
        }
        assert_eq!(state(guard, &server), State::Open, "{path}");
        assert_eq!(server.connections(), 2, "nothing is tried after its head");
    }
}

#[tokio::test]
async fn the_last_failure_says_that_a_body_was_cut_off() {
    // However busy the machine.
    let plan = PLAN.try_limit(Duration::from_secs(30));
    let plan = plan.deadline(Duration::from_secs(100));
    let guard: Guard = ClientGuard::new(plan).unwrap().leak();
    let (server, hyper) = (start(), hyper());
    for _ in 0..2 {
        let response = get(guard, &hyper, server.url("/breaks-off")).await;
        assert!(response.into_body().collect().await.is_err());
    }
    let uri: Uri = server.url("/").parse().unwrap();
    let entry = guard
        .hosts()
        .entry(&Origin::from_uri(&uri).unwrap())
        .unwrap();
    assert_eq!(&*entry.last_failure.unwrap().text, "the body was cut off");
}

/// Servers that pass it on say how long it is, and whether there is one.
#[tokio::test]
async fn a_guarded_body_has_the_length_and_the_end_of_the_one_inside() {
    let limits = BodyLimits::new().idle(Duration::from_secs(60));
    for plan in [ClientConfig::new(), PLAN, PLAN.body_limits(limits)] {
        let guard: Guard = ClientGuard::new(plan).unwrap().leak();
        for text in ["hello", ""] {
            let client = ServiceBuilder::new()
                .layer(guard.layer())
                .service(service_fn(move |_: Request<()>| async move {
                    Ok::<_, io::Error>(Response::new(text.to_owned()))
                }));
            let request = Request::get("http://a.example/").body(()).unwrap();
            let mut body = client.oneshot(request).await.unwrap().into_body();
            assert_eq!(body.size_hint().exact(), Some(text.len() as u64), "{plan}");
            assert_eq!(body.is_end_stream(), text.is_empty(), "{plan}");
            while let Some(frame) = body.frame().await {
                assert_eq!(frame.unwrap().into_data().unwrap(), text);
            }
            assert!(body.is_end_stream());
        }
    }
}

#[tokio::test]
async fn whole_bodies_are_successes_over_one_connection() {
    let (server, guard, hyper) = (start(), guard(), hyper());
    for _ in 0..3 {
        let response = get(guard, &hyper, server.url("/breaks-off")).await;
        assert!(response.into_body().collect().await.is_err());
        server.connections();
        for _ in 0..3 {
            let response = get(guard, &hyper, server.url("/")).await;
            let body = response.into_body().collect().await.unwrap();
            assert_eq!(body.to_bytes(), "hello");
        }
        assert_eq!(server.connections(), 1, "kept alive");
    }
    assert_eq!(state(guard, &server), State::Closed);
}

#[tokio::test]
async fn a_body_dropped_unread_counts_like_its_head() {
    let (server, guard, hyper) = (start(), guard(), hyper());
    let broken = get(guard, &hyper, server.url("/breaks-off")).await;
    assert!(broken.into_body().collect().await.is_err());
    assert_eq!(failures(guard, &server), 1);
    drop(get(guard, &hyper, server.url("/")).await);
    assert_eq!(failures(guard, &server), 0, "a success");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_takes_longer_than_a_try_is_in_time_and_not_slow() {
    let guard: &'static ClientGuard<TokioClock> =
        ClientGuard::with(PLAN, TokioClock, ()).unwrap().leak();
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .service(service_fn(|_: Request<()>| async {
            Ok::<_, io::Error>(Response::new("hello".to_owned()))
        }));
    let uri = Uri::from_static("http://a.example/");
    for _ in 0..3 {
        let request = Request::get(&uri).body(()).unwrap();
        let response = client.clone().oneshot(request).await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(response.into_body().collect().await.is_ok());
    }
    assert_eq!(
        guard.hosts().state(&Origin::from_uri(&uri).unwrap()),
        State::Closed
    );
}

#[tokio::test]
async fn a_request_that_is_dropped_leaves_the_pool_usable() {
    let (server, guard, hyper) = (start(), guard(), hyper());
    for _ in 0..5 {
        let hanging = get(guard, &hyper, server.url("/hangs"));
        let cut = tokio::time::timeout(Duration::from_millis(10), hanging).await;
        assert!(cut.is_err());
    }
    assert_eq!(failures(guard, &server), 0);
    let response = get(guard, &hyper, server.url("/")).await;
    assert!(response.into_body().collect().await.is_ok());
}

#[test]
fn the_plan_says_that_bodies_count() {
    let plan = PLAN.to_string();
    assert!(plan.contains("; truncated bodies are failures\n"), "{plan}");
    assert!(plan.contains("; never slow"), "{plan}");
}

/// The body of a request, which fails while the response comes.
struct Late(Pin<Box<tokio::time::Sleep>>);

impl Late {
    fn new() -> Self {
        Self(Box::pin(tokio::time::sleep(Duration::from_millis(200))))
    }
}

impl Clone for Late {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Body for Late {
    type Data = &'static [u8];
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<&'static [u8]>>>> {
        ready!(self.0.as_mut().poll(context));
        Poll::Ready(Some(Err(io::Error::other("the file is gone"))))
    }
}

#[tokio::test]
async fn an_upload_that_fails_while_the_response_arrives_is_the_callers_fault() {
    for http2 in [false, true] {
        let guard: Guard = ClientGuard::new(PLAN.breaker(Config::new().consecutive_failures(1)))
            .unwrap()
            .leak();
        let server = Server::serving(if http2 {
            |connection, _| {
                let mut connection = Http2::accept(connection);
                while let Some(stream) = connection.request() {
                    connection.begin(stream);
                }
            }
        } else {
            |mut connection, _| {
                let _ = connection.read(&mut [0; 4_096]);
                let begun = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbegun\r\n";
                let _ = connection.write_all(begun.as_bytes());
                // Until the client ends it.
                let _ = connection.read_to_end(&mut Vec::new());
            }
        });
        let hyper: Client<HttpConnector, Late> = Client::builder(TokioExecutor::new())
            .http2_only(http2)
            .build_http();
        let client = ServiceBuilder::new().layer(guard.layer()).service(hyper);
        let request = Request::post(server.url("/")).body(Late::new()).unwrap();
        let response = client.oneshot(request).await.unwrap();
        let body = response.into_body().collect().await;
        assert!(body.is_err());
        assert_eq!(state(guard, &server), State::Closed, "{http2}: {body:?}");
    }
}
