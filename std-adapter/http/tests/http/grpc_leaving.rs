// SPDX-License-Identifier: MIT OR Apache-2.0
//! Callers that leave a `TryLayer`, of a server whose verdict comes after the head, in virtual time.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_http::{
    AtEnd, Breaker, Config, GrpcClassifier, GrpcDeadlineLayer, HttpClassifier, State, TokioClock,
};
use atomic_breaker_tower::TryLayer;
use axum::body::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, StreamBody};
use tokio::time::{Instant, sleep, timeout};
use tower::{ServiceBuilder, ServiceExt, service_fn};

const MS: Duration = Duration::from_millis(1);
/// Until the head: longer than the `cancel_limit` of the rules.
const HEAD: Duration = Duration::from_millis(400);
const LIMIT: Duration = Duration::from_secs(3);
/// Before the limit of a try whose caller has left after half of [`HEAD`].
const JUST_BEFORE: Duration = Duration::from_millis(2_799);
const OPEN: Duration = Duration::from_secs(5);
const GRPC: AtEnd<GrpcClassifier> = GrpcClassifier::new().at_end_of_body();

#[derive(Clone, Copy)]
enum End {
    /// The `grpc-status` of the trailers.
    Status(&'static str),
    CutOff,
    Hangs,
}

/// The answer of a server, after [`HEAD`].
#[derive(Clone, Copy)]
struct Answer {
    /// With the head comes a message.
    has_data: bool,
    /// The time between that and its end.
    ends_after: Duration,
    end: End,
}

impl Answer {
    const fn ending(end: End) -> Self {
        Self {
            has_data: false,
            ends_after: HEAD,
            end,
        }
    }

    fn body(self, alive: Arc<()>) -> impl Body<Data = Bytes, Error = io::Error> + Send + 'static {
        let data = Ok(Frame::data(Bytes::from_static(b"message")));
        let end = async move {
            sleep(self.ends_after).await;
            let end = match self.end {
                End::Status(code) => {
                    let status = HeaderName::from_static("grpc-status");
                    let trailers = [(status, HeaderValue::from_static(code))];
                    Ok(Frame::trailers(HeaderMap::from_iter(trailers)))
                }
                End::CutOff => Err(io::Error::other("reset")),
                End::Hangs => pending().await,
            };
            drop(alive);
            end
        };
        let data = self.has_data.then_some(data);
        let frames = stream::StreamExt::chain(stream::iter(data), stream::once(end));
        StreamBody::new(Box::pin(frames))
    }
}

fn one() -> Arc<Breaker<TokioClock>> {
    Arc::new(Breaker::new(Config::new().open_for(OPEN), TokioClock))
}

/// A call whose caller reads the whole answer, unless its patience ends first.
macro_rules! call {
    ($breaker:expr, $report:expr, $answer:expr, $alive:expr, $patience:expr) => {{
        let (answer, alive): (Answer, Arc<()>) = ($answer, Arc::clone($alive));
        let service = ServiceBuilder::new()
            .layer(GrpcDeadlineLayer::new(LIMIT))
            .layer(TryLayer::new(Arc::clone($breaker), LIMIT).report($report))
            .service(service_fn(move |_: Request<()>| {
                let alive = Arc::clone(&alive);
                async move {
                    sleep(HEAD).await;
                    Ok::<_, io::Error>(Response::new(answer.body(alive)))
                }
            }));
        timeout($patience, async move {
            if let Ok(response) = service.oneshot(Request::new(())).await {
                let _ = response.into_body().collect().await;
            }
        })
    }};
}

#[tokio::test(start_paused = true)]
async fn a_healthy_server_is_served_again_although_all_callers_leave_before_its_trailers() {
    let ok = Answer::ending(End::Status("0"));
    let message = Answer {
        has_data: true,
        ..ok
    };
    for (answer, patience) in [
        (ok, HEAD * 3 / 4),
        (message, HEAD * 3 / 4),
        (message, HEAD * 3 / 2),
    ] {
        let (breaker, alive) = (one(), Arc::new(()));
        breaker.trip();
        let begun = Instant::now();
        while breaker.state() != State::Closed {
            tokio::spawn(call!(&breaker, GRPC, answer, &alive, patience));
            sleep(10 * MS).await;
            // The probe lasts until the trailers.
            assert!(begun.elapsed() <= OPEN + 2 * HEAD + 50 * MS, "{patience:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_in_its_trailers_opens_although_all_callers_leave() {
    for code in ["14", "0"] {
        let (breaker, alive) = (one(), Arc::new(()));
        let answer = Answer::ending(End::Status(code));
        for _ in 0..5 {
            assert_eq!(breaker.state(), State::Closed);
            let left = call!(&breaker, GRPC, answer, &alive, HEAD / 2).await;
            assert!(left.is_err());
        }
        sleep(LIMIT).await;
        let opens = if code == "0" {
            State::Closed
        } else {
            State::Open
        };
        assert_eq!(breaker.state(), opens);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cuts_off_its_bodies_opens_although_all_callers_leave() {
    let http = HttpClassifier::new().at_end_of_body();
    let (breaker, alive) = (one(), Arc::new(()));
    for _ in 0..5 {
        assert_eq!(breaker.state(), State::Closed);
        let answer = Answer::ending(End::CutOff);
        let left = call!(&breaker, http, answer, &alive, HEAD / 2).await;
        assert!(left.is_err());
    }
    sleep(LIMIT).await;
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn a_body_whose_caller_has_left_is_read_until_the_limit_of_its_try() {
    let (breaker, alive) = (one(), Arc::new(()));
    let answer = Answer::ending(End::Hangs);
    let left = call!(&breaker, GRPC, answer, &alive, HEAD / 2).await;
    assert!(left.is_err());
    sleep(JUST_BEFORE).await;
    assert_eq!(Arc::strong_count(&alive), 2, "it is read");
    sleep(2 * MS).await;
    assert_eq!(Arc::strong_count(&alive), 1);
    assert_eq!(breaker.state(), State::Closed);
}
