// SPDX-License-Identifier: MIT OR Apache-2.0
//! gRPC calls whose callers set a time limit of their own, in virtual time.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::pin::pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::task::Poll;
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, GrpcClassifier, GrpcDeadlineLayer, State, TokioClock};
use atomic_breaker_tower::TryLayer;
use axum::body::{Body, Bytes};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
use tokio::time::{Instant, sleep, timeout};
use tower::{ServiceBuilder, ServiceExt, service_fn};

const LIMIT: Duration = Duration::from_millis(600);
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const OPEN: Duration = Duration::from_secs(1);

/// A server, what it was told, and the breaker in front of it.
#[derive(Clone)]
struct Server {
    /// `None` never answers.
    answers_after: Option<Duration>,
    /// The `grpc-timeout` of each call that has reached it.
    told: Arc<Mutex<Vec<String>>>,
    breaker: Arc<Breaker<TokioClock>>,
}

impl Server {
    fn new(answers_after: Option<Duration>) -> Self {
        let rules = Config::new().consecutive_failures(3).open_for(OPEN);
        Self {
            answers_after,
            told: Arc::default(),
            breaker: Arc::new(Breaker::new(rules, TokioClock)),
        }
    }

    async fn answer(self, request: Request<()>) -> Result<Response<Body>, Infallible> {
        let told = request.headers().get("grpc-timeout");
        let told = told.map_or("", |value| value.to_str().unwrap());
        self.told.lock().unwrap().push(told.to_owned());
        match self.answers_after {
            Some(time) => sleep(time).await,
            None => pending().await,
        }
        let response = Response::builder().header("grpc-status", "0");
        Ok(response.body(Body::empty()).unwrap())
    }

    fn reached(&self) -> usize {
        self.told.lock().unwrap().len()
    }

    /// The `grpc-status` of a call whose caller waits this long; `None` for a rejection, or a try that took too long.
    async fn call(&self, own: Option<&str>) -> Option<String> {
        let server = self.clone();
        let service = ServiceBuilder::new()
            .layer(GrpcDeadlineLayer::new(LIMIT))
            .layer(
                TryLayer::new(Arc::clone(&self.breaker), LIMIT)
                    .report(GrpcClassifier::new().at_end_of_body()),
            )
            .service(service_fn(move |request| server.clone().answer(request)));
        let mut request = Request::new(());
        if let Some(own) = own {
            request
                .headers_mut()
                .insert("grpc-timeout", own.parse().unwrap());
        }
        let response = service.oneshot(request).await.ok()?;
        Some(
            response.headers()["grpc-status"]
                .to_str()
                .unwrap()
                .to_owned(),
        )
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_is_found_through_callers_with_short_limits() {
    let server = Server::new(None);
    for _ in 0..100 {
        let began = Instant::now();
        match server.call(Some("200m")).await.as_deref() {
            Some("4") => assert_eq!(began.elapsed(), Duration::from_millis(200)),
            None => sleep(Duration::from_millis(200)).await,
            other => panic!("{other:?}"),
        }
    }
    // Some before the first three have failed, and one probe in each open time and limit of a try.
    assert!(server.reached() < 25, "{}", server.reached());
    assert_ne!(server.breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_healthy_server_is_served_again_whatever_limits_its_callers_have() {
    let server = Server::new(Some(Duration::from_millis(400)));
    server.breaker.trip();
    let impatient = async {
        loop {
            let _ = timeout(Duration::from_secs(1), server.call(Some("300m"))).await;
            sleep(Duration::from_millis(5)).await;
        }
    };
    let closes = async {
        while server.breaker.state() != State::Closed {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let began = Instant::now();
    tokio::select! {
        () = impatient => {}
        () = closes => {}
    }
    let most = OPEN + Duration::from_millis(450);
    assert!(began.elapsed() <= most, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_server_is_told_the_limit_of_a_try_in_place_of_a_shorter_one() {
    let server = Server::new(Some(Duration::ZERO));
    for (own, told) in [
        (Some("1m"), "600m"),
        (Some("599999u"), "600m"),
        (Some("600m"), "600m"),
        (Some("600000u"), "600000u"),
        (Some("2S"), "2S"),
        (Some("99999999H"), "99999999H"),
        (Some("123456789n"), "123456789n"),
        (Some("1.5m"), "1.5m"),
        (None, ""),
    ] {
        assert_eq!(server.call(own).await.as_deref(), Some("0"), "{own:?}");
        assert_eq!(server.told.lock().unwrap().pop().as_deref(), Some(told));
    }
}

/// Of a server that hangs, beneath a limit of a try that is longer than all of them.
#[tokio::test(start_paused = true)]
async fn a_limit_is_read_in_each_unit_of_the_protocol() {
    let hangs = service_fn(|_: Request<()>| pending::<Result<Response<Body>, Infallible>>());
    let service = ServiceBuilder::new()
        .layer(GrpcDeadlineLayer::new(Duration::from_secs(1_000_000)))
        .service(hangs);
    for (own, limit) in [
        ("2H", Duration::from_secs(7_200)),
        ("3M", Duration::from_secs(180)),
        ("99999999n", Duration::from_millis(100)),
        ("70000u", Duration::from_millis(70)),
        ("8m", Duration::from_millis(8)),
        ("5S", Duration::from_secs(5)),
    ] {
        let mut request = Request::new(());
        let text = HeaderValue::from_static(own);
        request.headers_mut().insert("grpc-timeout", text);
        let began = Instant::now();
        let answer = timeout(2 * limit, service.oneshot(request)).await;
        assert_eq!(began.elapsed(), limit, "{own}");
        assert_eq!(answer.unwrap().unwrap().headers()[GRPC_STATUS], "4");
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_limit_of_0_no_call_is_made() {
    let server = Server::new(Some(Duration::ZERO));
    assert_eq!(server.call(Some("0S")).await.as_deref(), Some("4"));
    assert_eq!(server.reached(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_limit_covers_the_body_and_ends_it_with_a_status() {
    let service = service_fn(|_: Request<()>| async {
        let forever = futures_util::stream::pending::<Result<Bytes, Infallible>>();
        Ok::<_, Infallible>(Response::new(Body::from_stream(forever)))
    });
    let service = ServiceBuilder::new()
        .layer(GrpcDeadlineLayer::new(LIMIT))
        .service(service);
    let mut request = Request::new(());
    let limit = "200m".parse().unwrap();
    request.headers_mut().insert("grpc-timeout", limit);
    let began = Instant::now();
    let response = service.oneshot(request).await.unwrap();
    let body = response.into_body().collect().await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_millis(200));
    assert_eq!(body.trailers().unwrap()["grpc-status"], "4");
}

/// Servers that pass it on say how long it is, and whether there is one.
#[tokio::test(start_paused = true)]
async fn a_limited_body_has_the_length_and_end_of_the_one_inside() {
    for (text, is_empty) in [("data", false), ("", true)] {
        let answer = move |_: Request<()>| {
            let body = Full::new(Bytes::from_static(text.as_bytes()));
            ready(Ok::<_, Infallible>(Response::new(body)))
        };
        let service = ServiceBuilder::new()
            .layer(GrpcDeadlineLayer::new(LIMIT))
            .service(service_fn(answer));
        let mut request = Request::new(());
        let own = HeaderValue::from_static("100m");
        request.headers_mut().insert("grpc-timeout", own);
        let mut body = pin!(service.oneshot(request).await.unwrap().into_body());
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        assert_eq!(body.is_end_stream(), is_empty);
        while let Some(frame) = body.frame().await {
            assert_eq!(frame.unwrap().into_data().unwrap(), text);
        }
        assert!(body.is_end_stream());
        assert_eq!(body.size_hint().exact(), Some(0));
    }
}

/// The trailers of a call that was in time are its end, also if its reader looks again after the limit.
#[tokio::test(start_paused = true)]
async fn a_body_that_ended_in_time_has_no_second_end_after_the_limit() {
    let answer = |_: Request<()>| async {
        let trailers = HeaderMap::from_iter([(GRPC_STATUS, HeaderValue::from_static("0"))]);
        let body = Full::new(Bytes::from_static(b"data")).with_trailers(ready(Some(Ok(trailers))));
        Ok::<_, Infallible>(Response::new(Body::new(body)))
    };
    let service = ServiceBuilder::new()
        .layer(GrpcDeadlineLayer::new(LIMIT))
        .service(service_fn(answer));
    let mut request = Request::new(());
    let own = HeaderValue::from_static("100m");
    request.headers_mut().insert("grpc-timeout", own);
    let mut body = pin!(service.oneshot(request).await.unwrap().into_body());
    assert!(body.frame().await.unwrap().unwrap().is_data());
    let trailers = body.frame().await.unwrap().unwrap().into_trailers();
    assert_eq!(trailers.unwrap()[GRPC_STATUS], "0");
    sleep(LIMIT).await;
    assert!(body.frame().await.is_none());
}

/// A reader may keep what it has read to its end.
#[tokio::test(start_paused = true)]
async fn a_body_whose_limit_has_passed_keeps_neither_its_stream_nor_the_slot_of_its_probe() {
    let breaker = Arc::new(Breaker::new(Config::new(), TokioClock));
    let stream = Arc::new(());
    let of_stream = Arc::clone(&stream);
    let answer = move |_: Request<()>| {
        let held = Arc::clone(&of_stream);
        let forever = futures_util::stream::poll_fn(move |_| {
            let _ = &held;
            Poll::<Option<Result<Bytes, Infallible>>>::Pending
        });
        ready(Ok::<_, Infallible>(Response::new(Body::from_stream(
            forever,
        ))))
    };
    let service = ServiceBuilder::new()
        .layer(GrpcDeadlineLayer::new(LIMIT))
        .layer(
            TryLayer::new(Arc::clone(&breaker), LIMIT)
                .report(GrpcClassifier::new().at_end_of_body()),
        )
        .service(service_fn(answer));
    breaker.trip();
    breaker.probe_now();
    let mut request = Request::new(());
    request
        .headers_mut()
        .insert("grpc-timeout", HeaderValue::from_static("200m"));
    let mut body = pin!(service.oneshot(request).await.unwrap().into_body());
    assert!(breaker.acquire().is_err(), "its probe is in flight");
    let trailers = body.frame().await.unwrap().unwrap().into_trailers();
    assert_eq!(trailers.unwrap()[GRPC_STATUS], "4");
    assert_eq!(Arc::strong_count(&stream), 1);
    assert!(breaker.acquire().is_ok());
    assert!(body.is_end_stream() && body.frame().await.is_none());
}
