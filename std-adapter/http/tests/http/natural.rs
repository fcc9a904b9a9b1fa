// SPDX-License-Identifier: MIT OR Apache-2.0
//! The code that users write first with axum, hyper and others does what they meant.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use atomic_breaker_http::{
    AtEnd, Breaker, Config, Failure, GrpcClassifier, HttpClassifier, HttpRules, Outcome,
    ServiceError, State, breaker,
};
use atomic_breaker_server::{AnyError, AnyPermit, AtOnce, Classify, Permit, Report};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State as Shared};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;

use crate::support::{ONE, Step, call_reported, headers, response, script};

static HTTP: HttpClassifier = HttpClassifier::new();
static AT_END: AtEnd<HttpClassifier> = HTTP.at_end_of_body();

type Server = Arc<Breaker>;

fn server() -> Server {
    // Nothing expires, however long the machine halts.
    let long = Duration::from_secs(3_600);
    let rules = Config::new().consecutive_failures(2);
    Arc::new(breaker(rules.open_for(long).cancel_limit(long)))
}

async fn serve(app: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async { axum::serve(listener, app).await.unwrap() });
    format!("http://{address}")
}

async fn fetch(url: &str) -> (StatusCode, String) {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let request = http::Request::get(url).body(Body::empty()).unwrap();
    let answer = client.request(request).await.unwrap();
    let status = answer.status();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

/// A breaker around handlers, such as for a database that all of them need.
async fn guard(Shared(server): Shared<Server>, request: Request, next: Next) -> Response {
    let Ok(permit) = Permit::acquire(server) else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let response = next.run(request).await;
    permit.report(HTTP.response(&response));
    response
}

#[tokio::test]
async fn a_middleware_of_axum_reports_what_its_handlers_return() {
    let server = server();
    let app = Router::new()
        .route("/", get(|| async { "fine" }))
        .route("/bad", get(|| async { StatusCode::INTERNAL_SERVER_ERROR }))
        .layer(from_fn_with_state(Arc::clone(&server), guard));
    let url = serve(app).await;
    assert_eq!(fetch(&url).await, (StatusCode::OK, "fine".to_owned()));
    for _ in 0..2 {
        let answer = fetch(&format!("{url}/bad")).await;
        assert_eq!(answer.0, StatusCode::INTERNAL_SERVER_ERROR);
    }
    assert_eq!(server.state(), State::Open);
    assert_eq!(fetch(&url).await.0, StatusCode::SERVICE_UNAVAILABLE);
}

/// Also a middleware, and the body counts.
async fn guard_at_end(Shared(server): Shared<Server>, request: Request, next: Next) -> Response {
    let run = || async { Ok::<_, Infallible>(next.run(request).await) };
    match call_reported(server, AT_END, run).await {
        Ok(response) => response.map(Body::new),
        Err(ServiceError::Rejected(_)) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Err(ServiceError::Failed(never)) => match never {},
    }
}

#[tokio::test]
async fn a_body_goes_through_axum_as_a_body_of_axum() {
    let server = server();
    server.acquire().unwrap().failure();
    let app = Router::new()
        .route("/", get(|| async { "fine" }))
        .layer(from_fn_with_state(Arc::clone(&server), guard_at_end));
    let url = serve(app).await;
    assert_eq!(fetch(&url).await, (StatusCode::OK, "fine".to_owned()));
    assert_eq!(
        server.snapshot().failures(),
        0,
        "a success clears the count"
    );
}

#[tokio::test]
async fn calls_and_their_bodies_may_be_spawned() {
    let server = server();
    let answer = tokio::spawn(async move {
        let send = || async { Ok::<_, Infallible>(http::Response::new(Body::from("hello"))) };
        call_reported(server, AT_END, send).await
    });
    let body = answer.await.unwrap().unwrap().into_body();
    let read = tokio::spawn(body.collect());
    assert_eq!(read.await.unwrap().unwrap().to_bytes(), "hello");
}

async fn panics() -> Result<(), Infallible> {
    panic!("on purpose")
}

#[tokio::test]
async fn a_call_that_panics_has_failed_and_one_that_is_dropped_is_cancelled() {
    let server = server();
    let call = tokio::spawn(call_reported(Arc::clone(&server), AnyError, panics));
    assert!(call.await.is_err());
    assert_eq!(server.snapshot().failures(), 1);
    let build = || -> std::future::Ready<Result<(), Infallible>> { panic!("on purpose") };
    let call = AssertUnwindSafe(call_reported(Arc::clone(&server), AnyError, build));
    assert!(tokio::spawn(call.0).await.is_err());
    assert_eq!(server.state(), State::Open);

    server.probe_now();
    let send = std::future::pending::<Result<(), Infallible>>;
    let call = call_reported(Arc::clone(&server), AnyError, send);
    assert!(tokio::time::timeout(Duration::ZERO, call).await.is_err());
    assert_eq!(server.state(), State::HalfOpen);
    assert!(server.acquire().is_ok(), "its slot is free");
}

/// Like `reqwest::Error` after `error_for_status`.
#[derive(Debug)]
struct ClientError(Option<StatusCode>);

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {:?}", self.0)
    }
}

impl Error for ClientError {}

#[test]
fn errors_made_of_statuses_count_as_their_statuses_by_a_rule() {
    let http = HTTP.errors(|error: &ClientError| match error.0 {
        Some(status) => HTTP.status(status),
        None => Failure::new().into(),
    });
    let classify = |status| http.classify(&Err::<Response, _>(ClientError(status)));
    assert_eq!(classify(Some(StatusCode::NOT_FOUND)), Outcome::Success);
    assert_eq!(classify(Some(StatusCode::BAD_GATEWAY)), ONE);
    assert_eq!(classify(None), ONE);
    // Without the rule a 404 is an error like any other: documented at `errors`.
    let plain = Err::<Response, _>(ClientError(Some(StatusCode::NOT_FOUND)));
    assert_eq!(HTTP.classify(&plain), ONE);
}

#[test]
fn boxed_errors_are_errors() {
    type Anything = Box<dyn Error + Send + Sync>;
    let result = Err::<Response, Anything>("refused".into());
    assert_eq!(HTTP.classify(&result), ONE);
    assert_eq!(HTTP.reason(&result).unwrap(), "transport: refused");
    let http = HTTP.errors(
        |error: &Anything| match error.downcast_ref::<ClientError>() {
            Some(_) => Outcome::Ignored,
            None => Failure::new().into(),
        },
    );
    assert_eq!(http.classify(&result), ONE);
}

#[test]
fn a_call_without_a_body_needs_no_type_but_that_of_the_error() {
    let server = server();
    let result = server.call_with(HTTP, || Ok::<_, Infallible>(response(404, &[], ())));
    assert_eq!(result.unwrap().status(), 404);
    assert_eq!(server.snapshot().failures(), 0);
}

/// A layer of gRPC holds its classifier by a bound alone.
fn layer<B, R: Report<http::Response<B>, Infallible>, P: AnyPermit>(
    report: &R,
    permit: P,
    body: B,
) -> R::Output<P> {
    let head = response(200, &[("content-type", "application/grpc")], body);
    let Ok(output) = report.report(permit, Ok(head));
    output
}

#[test]
fn one_bound_takes_them_all() {
    static GRPC: GrpcClassifier = GrpcClassifier::new();
    struct Mine;
    impl<T, E> Classify<T, E> for Mine {
        fn classify(&self, _: &Result<T, E>) -> Outcome {
            Outcome::Ignored
        }
    }
    static SERVER: LazyLock<Server> = LazyLock::new(server);
    let permit = || Permit::acquire(Arc::clone(&SERVER)).unwrap();
    let body = || {
        let status = headers(&[("grpc-status", "14")]);
        script([Step::Data("a"), Step::Trailers(status), Step::End])
    };
    drop(layer(&AnyError, permit(), body()));
    drop(layer(&HTTP, permit(), body()));
    drop(layer(&AT_END, permit(), body()));
    drop(layer(&GRPC.at_head(), permit(), body()));
    drop(layer(&AtOnce(Mine), permit(), body()));
    let closure = |_: &Result<http::Response<_>, Infallible>| Outcome::Success;
    drop(layer(&closure, permit(), body()));
    assert_eq!(SERVER.snapshot().failures(), 0);

    let mut body = layer(&GRPC.at_end_of_body(), permit(), body()).into_body();
    while let std::task::Poll::Ready(Some(_)) = crate::support::poll(&mut body) {}
    assert_eq!(SERVER.snapshot().failures(), 1);
}
