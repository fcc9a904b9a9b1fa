// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kept requests in the lane of a breaker that other callers share: what a replay says about the server is what a direct
//! call would have said.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_http::{
    Breaker, Config, ErrorRule, Failure, HttpClassifier, Outcome, Scope, State, TokioClock,
};
use atomic_breaker_server::{ConnectionId, Resource};
use atomic_breaker_steps::{
    Lane, MemoryStore, Status, Steps, Store,
    requests::{Answer, KeepBody, KeepConfig},
};
use atomic_breaker_tower::BreakerLayer;
use http::{Request, Response, StatusCode};
use tokio::time::{Instant, sleep, sleep_until};
use tower::{ServiceBuilder, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);

fn breaker() -> Arc<Resource<Breaker<TokioClock>>> {
    Arc::new(Resource::new(Breaker::new(Config::new(), TokioClock)))
}

fn post(key: u32) -> Request<String> {
    Request::post("https://pay.example/orders")
        .header("idempotency-key", key.to_string())
        .body(String::new())
        .unwrap()
}

/// A hundred requests of one tenant are answered with 429, whenever they are sent; another tenant's would be served.
#[tokio::test(start_paused = true)]
async fn a_used_up_quota_of_kept_requests_shuts_out_nobody() {
    let payments = breaker();
    let client = service_fn(async |_: Request<KeepBody<String>>| {
        let answer = Response::builder().status(StatusCode::TOO_MANY_REQUESTS);
        answer.header("retry-after", "30").body(String::new())
    });
    let keep = KeepConfig::new();
    let later = keep.replay("payment", "payments", client);
    let steps = Steps::builder(MemoryStore::new())
        .lane(Lane::new("payments").guarded(Arc::clone(&payments)))
        .workflow(&later)
        .build()
        .unwrap();
    let _worker = steps.work();
    let tenant = ServiceBuilder::new()
        .layer(keep.layer(&steps, &later).unwrap())
        .layer(BreakerLayer::new(Arc::clone(&payments)).report(HttpClassifier::new()))
        .service(client);
    for key in 0..100 {
        let answer = tenant.clone().oneshot(post(key)).await.unwrap();
        assert!(matches!(answer, Answer::Kept(_)));
    }
    assert_eq!(payments.breaker().state(), State::Closed, "direct calls");
    for second in 0..600 {
        sleep(SECOND).await;
        let state = payments.breaker().state();
        assert_eq!(state, State::Closed, "replays, after {second} s");
    }
}

/// Of a client that turns statuses into errors, as `ClientErrors` says of reqwest.
#[derive(Clone, Copy)]
struct OfQuotas;

impl<E: ?Sized> ErrorRule<E> for OfQuotas {
    fn judge(&self, _: &E) -> (Outcome, Scope) {
        (Outcome::Ignored, Scope::Quota)
    }
}

#[tokio::test(start_paused = true)]
async fn a_replay_that_meets_a_used_up_quota_as_the_probe_closes_the_breaker() {
    for is_error in [false, true] {
        let payments = breaker();
        let client = service_fn(move |_: Request<KeepBody<String>>| async move {
            if is_error {
                return Err(io::Error::other("429 Too Many Requests"));
            }
            let answer = Response::builder().status(StatusCode::TOO_MANY_REQUESTS);
            Ok(answer.body(String::new()).unwrap())
        });
        let http = HttpClassifier::new().errors(OfQuotas);
        let keep = KeepConfig::new().classify(http);
        let later = keep.replay("payment", "payments", client);
        let store = MemoryStore::new();
        let steps = Steps::builder(store.clone())
            .lane(Lane::new("payments").guarded(Arc::clone(&payments)))
            .workflow(&later)
            .build()
            .unwrap();
        let _worker = steps.work();
        let service = ServiceBuilder::new()
            .layer(keep.layer(&steps, &later).unwrap())
            .layer(BreakerLayer::new(Arc::clone(&payments)).report(http))
            .service(client);
        payments.breaker().trip();
        let answer = service.oneshot(post(0)).await.unwrap();
        let Answer::Kept(id) = answer else {
            panic!("it is open: {answer:?}");
        };
        sleep(9 * SECOND).await;
        let job = store.job(id).await.unwrap().unwrap();
        assert_eq!((job.status, job.failures), (Status::Waiting, 1));
        assert_eq!(payments.breaker().state(), State::Closed);
    }
}

#[derive(Debug)]
struct Lost;

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("connection lost")
    }
}

impl Error for Lost {}

/// Of each request on a connection that is lost: as `UsualErrors` says of HTTP/2.
#[derive(Clone, Copy)]
struct OfConnections(Scope, u16);

impl<E: ?Sized> ErrorRule<E> for OfConnections {
    fn judge(&self, _: &E) -> (Outcome, Scope) {
        (Failure::with_weight(self.1).into(), self.0)
    }
}

/// A connection is lost with ten direct calls on it, and another one later with their replays; or the client's own time
/// limit has passed for all of them.
#[tokio::test(start_paused = true)]
async fn several_replays_that_one_event_ends_count_as_direct_calls_do() {
    for (scope, weight, each) in [
        (Scope::Connection(ConnectionId::UNKNOWN), 1, 1),
        (Scope::Connection(ConnectionId::UNKNOWN), 2, 2),
        // By itself it says nothing.
        (Scope::Unprocessed(ConnectionId::UNKNOWN), 0, 1),
        (Scope::Caller, 1, 0),
    ] {
        let (payments, begin) = (breaker(), Instant::now());
        let client = service_fn(move |_: Request<KeepBody<String>>| async move {
            let is_first = begin.elapsed() < SECOND;
            sleep_until(begin + if is_first { SECOND } else { 30 * SECOND }).await;
            Err::<Response<String>, _>(Lost)
        });
        let http = HttpClassifier::new().errors(OfConnections(scope, weight));
        let keep = KeepConfig::new().classify(http);
        let later = keep.replay("payment", "payments", client);
        let steps = Steps::builder(MemoryStore::new())
            .lane(Lane::new("payments").guarded(Arc::clone(&payments)))
            .workflow(&later)
            .build()
            .unwrap();
        let _worker = steps.work();
        let service = ServiceBuilder::new()
            .layer(keep.layer(&steps, &later).unwrap())
            .layer(BreakerLayer::new(Arc::clone(&payments)).report(http))
            .service(client);
        for key in 0..10 {
            tokio::spawn(service.clone().oneshot(post(key)));
        }
        let failures = || payments.breaker().snapshot().failures();
        sleep_until(begin + 2 * SECOND).await;
        assert_eq!(failures(), each, "{scope:?}, direct calls");
        sleep_until(begin + 31 * SECOND).await;
        assert_eq!(
            payments.breaker().state(),
            State::Closed,
            "{scope:?}, replays"
        );
        assert_eq!(failures(), 2 * each, "{scope:?}, replays");
    }
}
