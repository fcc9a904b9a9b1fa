// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stacks as users write them.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_server::Resource;
use atomic_breaker_tower::{
    Breaker, BreakerLayer, Config, Failure, Outcome, Rejection, ServiceError, State,
    TimeLimitLayer, Timed, TokioClock,
};
use axum::Router;
use axum::body::Body;
use axum::error_handling::HandleErrorLayer;
use axum::http::{Request, StatusCode};
use axum::routing::get;
use tower::retry::Policy;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt};

use crate::fake::{Fake, Mood, OnTokio, RULES, SECOND, breaker};

/// The order of the preset: total limit, breaker, limit of a try, service.
#[tokio::test(start_paused = true)]
async fn limits_around_and_within() {
    let (server, fake) = (breaker(), Fake::new(Mood::Hangs));
    let stack = ServiceBuilder::new()
        .timeout(10 * SECOND)
        .layer(BreakerLayer::new(Arc::clone(&server)))
        .layer(TimeLimitLayer::new(SECOND))
        .service(fake.twin());
    for _ in 0..2 {
        let error: BoxError = stack.clone().oneshot(1).await.unwrap_err();
        let error = error.downcast::<ServiceError<Timed<io::Error>>>().unwrap();
        assert!(matches!(*error, ServiceError::Failed(Timed::TimedOut)));
    }
    let error = stack.oneshot(1).await.unwrap_err();
    let error = error.downcast_ref::<ServiceError<Timed<io::Error>>>();
    assert_eq!(error.unwrap().rejected().unwrap().state(), State::Open);
}

/// tower's own limit and buffer give a `BoxError`, which is no `Error`.
#[tokio::test(start_paused = true)]
async fn a_breaker_over_boxed_errors_merges_them() {
    let (server, fake) = (breaker(), Fake::new(Mood::Hangs));
    let stack = ServiceBuilder::new()
        .boxed_clone()
        .timeout(10 * SECOND)
        .map_err(ServiceError::merge)
        .layer(BreakerLayer::new(Arc::clone(&server)))
        .buffer(8)
        .timeout(SECOND)
        .concurrency_limit(4)
        .service(fake.twin());
    for _ in 0..2 {
        let error: BoxError = stack.clone().oneshot(1).await.unwrap_err();
        assert!(error.is::<tower::timeout::error::Elapsed>());
    }
    let error = stack.oneshot(1).await.unwrap_err();
    assert!(error.is::<Rejection>());
}

#[tokio::test(start_paused = true)]
async fn errors_leave_by_the_question_mark_and_keep_their_chain() {
    #[derive(Debug)]
    struct Deep;
    impl std::fmt::Display for Deep {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("deep")
        }
    }
    impl Error for Deep {}

    async fn ask() -> Result<u32, Box<dyn Error + Send + Sync>> {
        let fails = tower::service_fn(|_: u32| async { Err::<u32, _>(io::Error::other(Deep)) });
        Ok(BreakerLayer::new(breaker()).layer(fails).oneshot(1).await?)
    }
    let error = ask().await.unwrap_err();
    assert_eq!(error.to_string(), "deep");
    let error = error.downcast::<ServiceError<io::Error>>().unwrap();
    assert!(error.failed().unwrap().get_ref().unwrap().is::<Deep>());
}

/// As in tower's guide: tries again what the service failed, not what was rejected.
#[derive(Clone)]
struct Attempts(u32);

impl<T> Policy<u32, T, ServiceError<io::Error>> for Attempts {
    type Future = tokio::time::Sleep;

    fn retry(
        &mut self,
        _: &mut u32,
        result: &mut Result<T, ServiceError<io::Error>>,
    ) -> Option<Self::Future> {
        match result {
            Err(ServiceError::Failed(_)) if self.0 > 0 => {
                self.0 -= 1;
                Some(tokio::time::sleep(Duration::from_millis(100)))
            }
            _ => None,
        }
    }

    fn clone_request(&mut self, request: &u32) -> Option<u32> {
        Some(*request)
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_around_ends_with_the_rejection() {
    let (server, fake) = (breaker(), Fake::new(Mood::Fails));
    let stack = ServiceBuilder::new()
        .retry(Attempts(5))
        .layer(BreakerLayer::new(server))
        .service(fake.twin());
    let error = stack.oneshot(1).await.unwrap_err();
    assert!(error.rejected().is_some());
    assert_eq!(fake.calls(), 2, "the third try was rejected");
}

#[tokio::test(start_paused = true)]
async fn a_concurrency_limit_inside_is_waited_for_inside_the_call() {
    let (server, fake) = (breaker(), Fake::new(Mood::AnswersAfter(SECOND)));
    let stack = ServiceBuilder::new()
        .layer(BreakerLayer::new(server))
        .concurrency_limit(1)
        .service(fake.twin());
    let begin = tokio::time::Instant::now();
    let calls = (0..3).map(|request| tokio::spawn(stack.clone().oneshot(request)));
    for call in calls.collect::<Vec<_>>() {
        assert!(call.await.unwrap().is_ok());
    }
    assert_eq!(begin.elapsed(), 3 * SECOND);
}

/// hyper and axum call services by `&self`: a clone per request.
#[tokio::test(start_paused = true)]
async fn it_works_boxed_and_by_reference() {
    let server = breaker();
    let boxed = BreakerLayer::new(Arc::clone(&server))
        .layer(Fake::new(Mood::Answers))
        .boxed_clone();
    let by_reference = |request| {
        let boxed = &boxed;
        async move { boxed.clone().call(request).await }
    };
    let (one, two) = tokio::join!(by_reference(1), by_reference(2));
    assert_eq!((one.unwrap(), two.unwrap()), (1, 2));
}

/// The errors of axum's services cannot happen, so what a response means must be said.
fn by_status(result: &Result<axum::response::Response, Infallible>) -> Outcome {
    match result {
        Ok(response) if response.status().is_server_error() => Failure::new().into(),
        _ => Outcome::Success,
    }
}

#[tokio::test(start_paused = true)]
async fn an_axum_router_responds_with_503_and_the_time_to_wait() {
    static SERVER: Resource<OnTokio> = Resource::new(Breaker::new(
        Config::new()
            .consecutive_failures(1)
            .open_for(Duration::from_secs(7)),
        TokioClock,
    ));

    async fn explain(error: ServiceError<Infallible>) -> (StatusCode, String) {
        let seconds = error.rejected().and_then(Rejection::retry_in);
        let wait = seconds.unwrap_or_default().as_secs();
        (StatusCode::SERVICE_UNAVAILABLE, wait.to_string())
    }

    let guard = ServiceBuilder::new()
        .layer(HandleErrorLayer::new(explain))
        .layer(BreakerLayer::new(&SERVER).classify(by_status));
    let app: Router = Router::new()
        .route("/works", get(async || "yes"))
        .route("/fails", get(async || StatusCode::BAD_GATEWAY))
        .layer(guard);
    let ask = |path: &str| {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let app = app.clone();
        async move { app.oneshot(request).await.unwrap() }
    };
    assert_eq!(ask("/works").await.status(), StatusCode::OK);
    assert_eq!(ask("/fails").await.status(), StatusCode::BAD_GATEWAY);
    let rejected = ask("/works").await;
    assert_eq!(rejected.status(), StatusCode::SERVICE_UNAVAILABLE);
    let body = axum::body::to_bytes(rejected.into_body(), 9).await.unwrap();
    assert_eq!(&body[..], b"7");
}

/// The error is a plain one, so `HandleErrorLayer` may take a `BoxError` as its handler's.
#[tokio::test(start_paused = true)]
async fn an_axum_handler_of_boxed_errors_will_do() {
    let server = Arc::new(Breaker::new(RULES, TokioClock));
    server.trip();
    let guard = ServiceBuilder::new()
        .layer(HandleErrorLayer::new(async |error: BoxError| {
            (StatusCode::SERVICE_UNAVAILABLE, error.to_string())
        }))
        .timeout(10 * SECOND)
        .layer(BreakerLayer::new(server).classify(by_status));
    let app: Router = Router::new().route("/", get(async || "yes")).layer(guard);
    let request = Request::get("/").body(Body::empty()).unwrap();
    let status = app.oneshot(request).await.unwrap().status();
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
}
