// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases of tower-resilience-circuitbreaker 0.14: its contract with tower, half-open admission.

use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use atomic_breaker_http::{Breaker, ServiceError, State, TokioClock};
use atomic_breaker_server::StateWatch;
use atomic_breaker_tower::{BreakerLayer, GateLayer};
use futures_util::poll;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tower::limit::ConcurrencyLimitLayer;
use tower::util::BoxCloneService;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::support::{Ask, Diary, Event, MS, RULES, SECOND, Server, breaker};

/// An instance is ready only if it was itself polled, as with most services of tower; a clone of it is not.
#[derive(Debug, Default)]
struct Strict {
    is_ready: bool,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Service<()> for Strict {
    type Response = ();
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<()>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        assert!(
            std::mem::take(&mut self.is_ready),
            "called without being polled"
        );
        std::future::ready(Ok(()))
    }
}

/// Polls once, without a waker.
fn look<S: Service<Ask>>(service: &mut S) -> Poll<Result<(), S::Error>> {
    service.poll_ready(&mut Context::from_waker(Waker::noop()))
}

/// tower-resilience: calls the instance whose readiness was polled.
#[tokio::test(start_paused = true)]
async fn the_service_that_is_called_is_the_one_that_was_ready() {
    let server = breaker(RULES);
    let mut layered = BreakerLayer::new(server).layer(Strict::default());
    let mut gated = GateLayer::new(server).layer(Strict::default());
    for _ in 0..3 {
        layered.ready().await.unwrap().call(()).await.unwrap();
        gated.ready().await.unwrap().call(()).await.unwrap();
    }
    assert_eq!(server.state(), State::Closed);
}

/// tower-resilience: composes with a concurrency limit. Here the second request waits *inside* the guarded call.
#[tokio::test(start_paused = true)]
async fn a_limit_of_concurrency_below_is_waited_for() {
    let server = Server::default();
    let guarded = ServiceBuilder::new()
        .layer(BreakerLayer::new(breaker(RULES)))
        .layer(ConcurrencyLimitLayer::new(1))
        .service(server.clone());
    let begin = Instant::now();
    let mut requests = JoinSet::new();
    for _ in 0..3 {
        requests.spawn(guarded.clone().oneshot(Ask::Take(SECOND)));
    }
    for answer in requests.join_all().await {
        assert_eq!(answer.unwrap(), 200);
    }
    assert_eq!((server.calls(), begin.elapsed()), (3, 3 * SECOND));
}

/// tower-resilience: a rejection does not poll a service that is not ready, however often readiness is polled.
#[tokio::test(start_paused = true)]
async fn while_open_it_rejects_without_polling_the_service() {
    let (breaker, server) = (breaker(RULES), Server::busy());
    let mut guarded = BreakerLayer::new(breaker).layer(server.clone());
    breaker.trip();
    for _ in 0..2 {
        guarded.ready().await.unwrap();
    }
    let answer = guarded.call(Ask::Answer).await;
    assert!(matches!(answer, Err(ServiceError::Rejected(_))));
    assert_eq!((server.asked(), server.calls()), (0, 0));
}

/// tower-resilience: a fallback replaces a rejection. Here it is tower's own combinator.
#[tokio::test(start_paused = true)]
async fn a_fallback_replaces_a_rejection_without_polling_the_service() {
    let (breaker, server) = (breaker(RULES), Server::busy());
    let guarded = BreakerLayer::new(breaker).layer(server.clone()).map_result(
        |answer: Result<u16, ServiceError<io::Error>>| match answer {
            Err(ServiceError::Rejected(_)) => Ok(203),
            other => other,
        },
    );
    breaker.trip();
    assert_eq!(guarded.oneshot(Ask::Answer).await.unwrap(), 203);
    assert_eq!((server.asked(), server.calls()), (0, 0));
}

/// tower-resilience: clones share one breaker, also inside a `BoxCloneService` that was moved to another task.
#[tokio::test(start_paused = true)]
async fn clones_boxed_and_moved_services_share_the_breaker() {
    let (breaker, server) = (breaker(RULES), Server::default());
    let guarded = BoxCloneService::new(BreakerLayer::new(breaker).layer(server.clone()));
    breaker.force_open();
    for clone in [guarded.clone(), guarded.clone()] {
        let answer = tokio::spawn(clone.oneshot(Ask::Answer)).await.unwrap();
        assert!(matches!(answer, Err(ServiceError::Rejected(_))));
    }
    assert_eq!((server.asked(), server.calls()), (0, 0));
    breaker.reset();
    assert_eq!(guarded.oneshot(Ask::Answer).await.unwrap(), 200);
}

/// tower-resilience, back-pressure: waits for the circuit before it polls the service.
#[tokio::test(start_paused = true)]
async fn a_gate_waits_for_the_breaker_first_and_for_the_service_then() {
    let (breaker, server) = (breaker(RULES), Server::busy());
    let mut gate = GateLayer::new(breaker).layer(server.clone());
    breaker.trip();
    assert!(look(&mut gate).is_pending());
    assert_eq!(server.asked(), 0);
    let waiting = tokio::spawn(async move { gate.ready().await.map(|_| ()) });
    sleep(9 * SECOND).await;
    assert_eq!(server.asked(), 0);
    sleep(2 * SECOND).await;
    assert!(server.asked() > 0 && !waiting.is_finished());
    server.set_ready();
    assert!(waiting.await.unwrap().is_ok());
}

/// tower-resilience, back-pressure: while closed, requests pass; while open, they wait; events are published as usual.
#[tokio::test(start_paused = true)]
async fn a_gate_lets_requests_pass_waits_while_open_and_notifies_as_usual() {
    let breaker = Breaker::builder(RULES, TokioClock)
        .observer(Diary::default())
        .build();
    let breaker: &'static _ = Box::leak(Box::new(breaker));
    let mut gate = GateLayer::new(breaker).layer(Server::default());
    let begin = Instant::now();
    for ask in [Ask::Answer, Ask::Fail, Ask::Fail, Ask::Answer] {
        let _ = gate.ready().await.unwrap().call(ask).await;
    }
    assert!(begin.elapsed() >= 10 * SECOND);
    let changes: Vec<_> = breaker
        .observer()
        .read()
        .into_iter()
        .filter(|event| matches!(event, Event::Changed(..)))
        .collect();
    assert_eq!(
        changes,
        [
            Event::Changed(State::Closed, State::Open),
            Event::Changed(State::Open, State::HalfOpen),
            Event::Changed(State::HalfOpen, State::Closed),
        ]
    );
}

/// tower-resilience: the service's readiness error is passed on. Here it also counts as a failure.
#[tokio::test(start_paused = true)]
async fn an_error_of_readiness_is_passed_on_and_counts() {
    let (layered, gated) = (breaker(RULES), breaker(RULES));
    let service = BreakerLayer::new(layered).layer(Server::gone());
    let error = service.oneshot(Ask::Answer).await.unwrap_err();
    assert_eq!(error.failed().unwrap().to_string(), "no answer");
    let mut gate = GateLayer::new(gated).layer(Server::gone());
    let error = gate.ready().await.map(|_| ()).unwrap_err();
    assert_eq!(error.failed().unwrap().to_string(), "no answer");
    for breaker in [layered, gated] {
        assert_eq!(breaker.snapshot().failures(), 1);
    }
}

/// tower-resilience: under contention half-open admits no more than its permitted calls.
#[tokio::test(start_paused = true)]
async fn half_open_admits_no_more_probes_than_allowed() {
    for probes in [1, 3] {
        let (breaker, server) = (breaker(RULES.probes(probes)), Server::default());
        let guarded = BreakerLayer::new(breaker).layer(server.clone());
        breaker.trip();
        sleep(10 * SECOND).await;
        let mut requests = JoinSet::new();
        for _ in 0..8 {
            requests.spawn(guarded.clone().oneshot(Ask::Take(SECOND)));
        }
        sleep(SECOND / 2).await;
        assert_eq!(
            (server.calls(), breaker.state()),
            (probes as usize, State::HalfOpen)
        );
        let answers = requests.join_all().await;
        assert_eq!(answers.iter().flatten().count(), probes as usize);
        assert_eq!(
            (server.calls(), breaker.state()),
            (probes as usize, State::Closed)
        );
    }
}

/// tower-resilience: a probe whose future is dropped gives its slot back and records nothing. Here this applies only to
/// a young probe; one that hung for longer than the cancel limit has failed, or a hanging resource would be probed
/// forever.
#[tokio::test(start_paused = true)]
async fn a_dropped_probe_gives_its_slot_back_without_a_result_while_it_is_young() {
    for (age, then) in [(10 * MS, State::HalfOpen), (SECOND, State::Open)] {
        let (breaker, server) = (breaker(RULES), Server::default());
        let mut guarded = BreakerLayer::new(breaker).layer(server.clone());
        breaker.trip();
        sleep(10 * SECOND).await;
        {
            let mut probe = pin!(guarded.call(Ask::Hang));
            assert!(poll!(probe.as_mut()).is_pending());
            let rejected = guarded.call(Ask::Answer).await;
            assert!(matches!(rejected, Err(ServiceError::Rejected(_))));
            sleep(age).await;
        }
        assert_eq!(breaker.state(), then);
        if then == State::HalfOpen {
            assert_eq!(guarded.call(Ask::Answer).await.unwrap(), 200);
            assert_eq!((server.calls(), server.answered()), (2, 1));
        }
    }
}

/// tower-resilience, back-pressure: a caller that waits for a slot is woken when one is freed, long before the open
/// time ends.
#[tokio::test(start_paused = true)]
async fn a_gate_that_waits_for_a_slot_gets_it_soon_after_it_is_free() {
    let breaker = Breaker::builder(RULES, TokioClock)
        .observer(StateWatch::new())
        .build();
    let breaker: &'static _ = Box::leak(Box::new(breaker));
    breaker.trip();
    sleep(10 * SECOND).await;
    let probe = breaker.acquire().unwrap();
    let mut gate = GateLayer::new(breaker).layer(Server::default());
    assert!(look(&mut gate).is_pending());
    let freed = async {
        sleep(50 * MS).await;
        probe.cancel();
    };
    let begin = Instant::now();
    let ((), ready) = tokio::join!(freed, gate.ready());
    assert!(ready.is_ok());
    assert!(begin.elapsed() <= 150 * MS, "{:?}", begin.elapsed());
}

/// tower-resilience: while closed, a service that is never ready is waited for without busy polling; a caller may give
/// up.
#[tokio::test(start_paused = true)]
async fn a_service_that_is_never_ready_is_polled_once_and_wakes_the_next_caller() {
    let server = Server::busy();
    let gate = GateLayer::new(breaker(RULES)).layer(server.clone());
    let layered = BreakerLayer::new(breaker(RULES)).layer(server.clone());
    let mut first = gate;
    let gate = tokio::spawn(async move { first.ready().await.map(|_| ()) });
    let request = tokio::spawn(layered.clone().oneshot(Ask::Answer));
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!((server.asked(), server.calls()), (2, 0), "once each");
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
    let next = tokio::spawn(layered.oneshot(Ask::Answer));
    tokio::task::yield_now().await;
    server.set_ready();
    assert!(gate.await.unwrap().is_ok());
    assert_eq!(next.await.unwrap().unwrap(), 200);
}
