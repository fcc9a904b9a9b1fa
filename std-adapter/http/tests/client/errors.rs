// SPDX-License-Identifier: MIT OR Apache-2.0
//! The party at fault for an error of hyper-util's client.

use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker_http::{
    ClientConfig, ClientGuard, Config, ErrorRule, Failure, Origin, Outcome, Rejection,
    RequestError, ServiceError, State, Timed, UsualErrors, WithCauses,
};
use atomic_breaker_server::{CallError, Rejected};
use http::{Request, Uri};
use http_body::{Body, Frame};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use tower::{ServiceBuilder, ServiceExt};

use super::server::{Down, start};

/// The body of a request, which may fail while it is sent.
#[derive(Clone, Copy, PartialEq)]
enum Upload {
    Empty,
    Torn,
}

impl Body for Upload {
    type Data = &'static [u8];
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<&'static [u8]>>>> {
        Poll::Ready(match *self {
            Self::Empty => None,
            Self::Torn => Some(Err(io::Error::other("the file is gone"))),
        })
    }

    fn is_end_stream(&self) -> bool {
        *self == Self::Empty
    }
}

fn guard() -> &'static ClientGuard {
    let plan = ClientConfig::new().breaker(Config::new().consecutive_failures(3));
    ClientGuard::new(plan).unwrap().leak()
}

fn hyper() -> Client<HttpConnector, Upload> {
    Client::builder(TokioExecutor::new()).build_http()
}

async fn error_of(guard: &'static ClientGuard, uri: &str, body: Upload) -> RequestError<Error> {
    let client = ServiceBuilder::new().layer(guard.layer()).service(hyper());
    let request = Request::put(uri).body(body).unwrap();
    client.oneshot(request).await.unwrap_err()
}

fn state(guard: &'static ClientGuard, uri: &str) -> State {
    guard
        .hosts()
        .state(&Origin::from_uri(&uri.parse::<Uri>().unwrap()).unwrap())
}

#[tokio::test]
async fn a_host_that_does_not_respond_opens() {
    let (server, down) = (start(), Down::new());
    for uri in [&down.url, &server.url("/closes"), &server.url("/no-http")] {
        let guard = guard();
        let error = error_of(guard, uri, Upload::Empty).await;
        assert!(matches!(error, RequestError::Failed(_)), "{uri}: {error:?}");
        assert_eq!(state(guard, uri), State::Open, "{uri}, after three tries");
    }
}

#[tokio::test]
async fn the_last_failure_names_the_cause() {
    let (guard, down) = (guard(), Down::new());
    error_of(guard, &down.url, Upload::Empty).await;
    let error = error_of(guard, &down.url, Upload::Empty).await;
    let RequestError::Rejected(rejection) = error else {
        panic!("{error:?}");
    };
    let text = rejection.last_failure.unwrap().text.clone();
    let beginning = "transport: client error (Connect): tcp connect error: ";
    assert!(text.starts_with(beginning), "{text}");
    assert!(text.to_lowercase().contains("refused"), "{text}");
}

#[tokio::test]
async fn a_callers_mistake_is_returned_each_time_and_opens_nothing() {
    let (server, guard) = (start(), guard());
    let scheme = server.url("/").replace("http", "ftp");
    for (uri, body) in [(&*scheme, Upload::Empty), (&*server.url("/"), Upload::Torn)] {
        let tries = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&tries);
        let client = ServiceBuilder::new()
            .layer(guard.layer())
            .map_request(move |request| {
                counted.fetch_add(1, Ordering::Relaxed);
                request
            })
            .service(hyper());
        for _ in 0..5 {
            let request = Request::put(uri).body(body).unwrap();
            let error = client.clone().oneshot(request).await.unwrap_err();
            assert!(matches!(error, RequestError::Failed(_)), "{uri}: {error:?}");
        }
        assert_eq!(state(guard, uri), State::Closed, "{uri}");
        assert_eq!(
            tries.load(Ordering::Relaxed),
            5,
            "none of them was made again"
        );
    }
}

#[tokio::test]
async fn a_request_that_names_no_host_is_rejected_with_what_to_do_and_shares_no_breaker() {
    let (server, guard) = (start(), guard());
    let error = error_of(guard, "/path", Upload::Empty).await;
    let RequestError::Rejected(rejection) = &error else {
        panic!("{error:?}");
    };
    assert!(rejection.is_without_key());
    assert_eq!(rejection.retry_in(), None);
    assert!(error.to_string().contains("with_origin"), "{error}");
    assert_eq!(guard.hosts().entries().count(), 0);

    // Below, a layer that puts the host in front of each path.
    let hosted = server.url("");
    let hosted: &'static str = hosted.leak();
    let client = ServiceBuilder::new()
        .layer(
            guard
                .layer()
                .with_origin(Origin::from_uri(&Uri::from_static(hosted)).unwrap()),
        )
        .map_request(move |mut request: Request<Upload>| {
            *request.uri_mut() = format!("{hosted}{}", request.uri()).parse().unwrap();
            request
        })
        .service(hyper());
    for path in ["/", "/closes"] {
        let request = Request::get(path).body(Upload::Empty).unwrap();
        let result = client.clone().oneshot(request).await;
        assert_eq!(result.is_ok(), path == "/", "{result:?}");
    }
    assert_eq!(state(guard, hosted), State::Open, "after three tries");
}

#[tokio::test]
async fn over_http_2_as_well() {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listener = listener.await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    let reads = axum::routing::put(|_: axum::body::Bytes| async {});
    let router = axum::Router::new().route("/", reads);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let client: Client<_, Upload> = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http();
    for (body, is_fine) in [(Upload::Empty, true), (Upload::Torn, false)] {
        let request = Request::put(&uri).body(body).unwrap();
        let result = client.request(request).await;
        assert_eq!(result.is_ok(), is_fine, "{result:?}");
        if let Err(error) = result {
            assert_eq!(UsualErrors.outcome(&error), Outcome::Ignored, "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_custom_rule_decides() {
    let (guard, down) = (guard(), Down::new());
    let layer = guard.layer().errors(|error: &Error| {
        if error.is_connect() {
            return Failure::with_weight(3).into();
        }
        UsualErrors.outcome(error)
    });
    let client = ServiceBuilder::new().layer(layer).service(hyper());
    let post = |uri: &str, body| Request::post(uri).body(body).unwrap();
    let (server, torn) = (start(), Upload::Torn);
    let ignored = client.clone().oneshot(post(&server.url("/"), torn)).await;
    assert!(ignored.is_err());
    assert_eq!(state(guard, &server.url("/")), State::Closed);
    assert!(
        client
            .oneshot(post(&down.url, Upload::Empty))
            .await
            .is_err()
    );
    assert_eq!(state(guard, &down.url), State::Open);
}

#[tokio::test]
async fn boxed_errors_are_looked_into_once_they_are_errors() {
    let (server, guard) = (start(), guard());
    let client = ServiceBuilder::new()
        .layer(guard.layer())
        .map_err(io::Error::other)
        .timeout(Duration::from_secs(60))
        .service(hyper());
    for _ in 0..5 {
        let request = Request::put(server.url("/")).body(Upload::Torn).unwrap();
        let error = client.clone().oneshot(request).await.unwrap_err();
        assert!(matches!(error, RequestError::Failed(_)), "{error:?}");
    }
    assert_eq!(state(guard, &server.url("/")), State::Closed);
}

#[test]
fn an_error_within_many_others_is_judged_quickly() {
    let mut error = io::Error::other("reset");
    for _ in 0..64 {
        error = io::Error::other(error);
    }
    let expected: Outcome = Failure::new().into();
    assert_eq!(UsualErrors.outcome(&error), expected);
}

#[test]
fn a_rejection_by_a_breaker_within_is_no_failure_whatever_shows_it() {
    fn is_ignored<E: std::error::Error + Send + Sync + 'static>(error: E) -> bool {
        let alone = UsualErrors.outcome(&error);
        let within = UsualErrors.outcome(&io::Error::other(error));
        alone == Outcome::Ignored && within == Outcome::Ignored
    }
    let rejected = Rejected::new(State::Open, Duration::from_secs(1));
    let rejection = || Rejection::from(rejected);
    assert!(is_ignored(rejected));
    assert!(is_ignored(rejection()));
    assert!(is_ignored(CallError::<io::Error>::Rejected(rejected)));
    assert!(is_ignored(ServiceError::<Error>::Rejected(rejection())));
    assert!(is_ignored(RequestError::<Error>::Rejected(rejection())));
    let within = || ServiceError::<io::Error>::Rejected(rejection());
    assert!(is_ignored(WithCauses(within())));
    assert!(is_ignored(Timed::Failed(within())));
    assert!(!is_ignored(RequestError::<Error>::DeadlineExceeded));
    assert!(is_ignored(RequestError::<Error>::OwnDeadlineExceeded));
    assert!(!is_ignored(ServiceError::Failed(io::Error::other("reset"))));
    // The response of an upstream that itself uses this crate.
    let words = io::Error::other(rejection().to_string());
    assert!(!is_ignored(words));
}
