// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layer around services that are cloned per request.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use atomic_breaker_tower::{
    Breaker, BreakerLayer, ServiceError, State, TimeLimitLayer, TokioClock,
};
use futures_util::poll;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::fake::{Fake, Mood, OnTokio, RULES, SECOND, breaker};

/// Half-open at the next call.
async fn open_time_over(server: &OnTokio) {
    server.trip();
    tokio::time::sleep(10 * SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn failures_trip_and_rejected_requests_do_not_reach_the_service() {
    let (server, fake) = (breaker(), Fake::new(Mood::Fails));
    let guarded = BreakerLayer::new(Arc::clone(&server)).layer(fake.twin());
    for _ in 0..2 {
        let answer = guarded.clone().oneshot(1).await;
        assert!(matches!(answer, Err(ServiceError::Failed(_))));
    }
    assert_eq!((fake.calls(), fake.asked()), (2, 2));
    let rejected = guarded.clone().oneshot(1).await.unwrap_err();
    let rejection = rejected.rejected().unwrap();
    assert_eq!(rejection.retry_in(), Some(10 * SECOND));
    assert_eq!((fake.calls(), fake.asked()), (2, 2), "not even asked");
}

#[tokio::test(start_paused = true)]
async fn a_probe_closes_and_its_rivals_are_rejected() {
    let (server, fake) = (breaker(), Fake::new(Mood::AnswersAfter(SECOND)));
    let mut guarded = BreakerLayer::new(Arc::clone(&server)).layer(fake.twin());
    open_time_over(&server).await;
    let probe = guarded.call(1);
    assert!(guarded.call(2).await.unwrap_err().rejected().is_some());
    assert_eq!(probe.await.unwrap(), 1);
    assert_eq!((server.state(), fake.calls()), (State::Closed, 1));
}

#[tokio::test(start_paused = true)]
async fn a_future_that_is_dropped_gives_the_slot_back_wherever_it_stands() {
    for mood in [Mood::Hangs, Mood::NeverReady] {
        for polls in 0..3 {
            let (server, fake) = (breaker(), Fake::new(mood));
            let mut guarded = BreakerLayer::new(Arc::clone(&server)).layer(fake.twin());
            open_time_over(&server).await;
            let mut probe = Box::pin(guarded.call(1));
            for _ in 0..polls {
                assert!(poll!(probe.as_mut()).is_pending());
            }
            assert_eq!(server.snapshot().probes_in_flight(), 1);
            drop(probe);
            assert_eq!(
                server.state(),
                State::HalfOpen,
                "{mood:?} after {polls} polls"
            );
            assert_eq!(server.snapshot().probes_in_flight(), 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_hangs_until_its_caller_loses_patience_has_failed() {
    let (server, fake) = (breaker(), Fake::new(Mood::Hangs));
    let mut guarded = BreakerLayer::new(Arc::clone(&server)).layer(fake);
    open_time_over(&server).await;
    let gave_up = tokio::time::timeout(SECOND, guarded.call(1)).await;
    assert!(gave_up.is_err());
    assert_eq!(server.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_service_is_a_failure_and_gives_the_slot_back() {
    for mood in [
        Mood::Panics,
        Mood::PanicsInCall,
        Mood::PanicsWhenAskedWhetherReady,
    ] {
        let server = breaker();
        let guarded = BreakerLayer::new(Arc::clone(&server)).layer(Fake::new(mood));
        for _ in 0..2 {
            let call = tokio::spawn(guarded.clone().oneshot(1));
            assert!(call.await.unwrap_err().is_panic());
        }
        assert_eq!(server.state(), State::Open, "{mood:?}");
        tokio::time::sleep(10 * SECOND).await;
        let probe = tokio::spawn(guarded.clone().oneshot(1));
        assert!(probe.await.unwrap_err().is_panic());
        assert_eq!(server.state(), State::Open, "{mood:?}, as a probe");
    }
}

/// The request was not made, so it says nothing.
#[tokio::test(start_paused = true)]
async fn a_panic_while_the_service_is_cloned_gives_the_slot_back() {
    let (server, fake) = (breaker(), Fake::new(Mood::Answers));
    let mut guarded = BreakerLayer::new(Arc::clone(&server)).layer(fake.twin());
    open_time_over(&server).await;
    fake.set(Mood::PanicsWhenCloned);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| guarded.call(1)));
    assert!(panicked.is_err());
    assert_eq!(server.snapshot().probes_in_flight(), 0);
    fake.set(Mood::Answers);
    assert_eq!(guarded.call(1).await.unwrap(), 1);
    assert_eq!(server.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_classifier_gives_the_slot_back() {
    let server = breaker();
    let layer = BreakerLayer::new(Arc::clone(&server))
        .classify(|_: &std::io::Result<u32>| panic!("no idea"));
    let mut guarded = layer.layer(Fake::new(Mood::Answers));
    open_time_over(&server).await;
    let probe = guarded.call(1);
    assert!(tokio::spawn(probe).await.unwrap_err().is_panic());
    assert_eq!(server.snapshot().probes_in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_never_ready_is_never_called_and_trips_by_a_time_limit() {
    let (server, fake) = (breaker(), Fake::new(Mood::NeverReady));
    let guarded = ServiceBuilder::new()
        .layer(BreakerLayer::new(Arc::clone(&server)))
        .layer(TimeLimitLayer::new(SECOND))
        .service(fake.twin());
    for _ in 0..2 {
        assert!(guarded.clone().oneshot(1).await.is_err());
    }
    assert_eq!((server.state(), fake.calls()), (State::Open, 0));
}

#[tokio::test(start_paused = true)]
async fn an_error_of_readiness_is_a_failure() {
    let (server, fake) = (breaker(), Fake::new(Mood::FailsWhenAskedWhetherReady));
    let guarded = BreakerLayer::new(Arc::clone(&server)).layer(fake.twin());
    for _ in 0..2 {
        assert!(guarded.clone().oneshot(1).await.is_err());
    }
    assert_eq!((server.state(), fake.calls()), (State::Open, 0));
}

/// As axum applies a layer: once per route.
#[tokio::test(start_paused = true)]
async fn a_layer_applied_many_times_shares_one_breaker() {
    static SERVER: OnTokio = Breaker::new(RULES, TokioClock);
    let layer = BreakerLayer::new(&SERVER);
    let routes: Vec<_> = (0..10)
        .map(|_| layer.layer(Fake::new(Mood::Fails)))
        .collect();
    for route in &routes[..2] {
        assert!(route.clone().oneshot(1).await.is_err());
    }
    for route in routes {
        assert!(route.oneshot(1).await.unwrap_err().rejected().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_classifier_says_what_counts() {
    let server = breaker();
    let layer =
        BreakerLayer::new(Arc::clone(&server)).classify(
            |result: &std::io::Result<u32>| match result {
                Ok(code) if *code < 500 => atomic_breaker_tower::Outcome::Success,
                _ => atomic_breaker_tower::Failure::tripping().into(),
            },
        );
    let guarded = layer.layer(Fake::new(Mood::Answers));
    assert_eq!(guarded.clone().oneshot(200).await.unwrap(), 200);
    assert_eq!(guarded.clone().oneshot(503).await.unwrap(), 503);
    assert_eq!(server.state(), State::Open);
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "polled after it was ready")]
async fn polling_a_completed_call_again_panics() {
    let mut guarded = BreakerLayer::new(breaker()).layer(Fake::new(Mood::Fails));
    let mut call = pin!(guarded.call(1));
    assert!(matches!(poll!(call.as_mut()), Poll::Ready(Err(_))));
    let _ = poll!(call);
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "polled after it was ready")]
async fn polling_a_rejected_call_again_panics() {
    let server = breaker();
    server.trip();
    let mut guarded = BreakerLayer::new(server).layer(Fake::new(Mood::Fails));
    let mut call = pin!(guarded.call(1));
    assert!(matches!(poll!(call.as_mut()), Poll::Ready(Err(_))));
    let _ = poll!(call);
}

#[tokio::test(start_paused = true)]
async fn what_the_call_held_is_free_when_it_has_failed() {
    let held = Arc::new(());
    let fails = tower::service_fn(|_: u32| {
        let connection = Arc::clone(&held);
        // Unlike an async block, this keeps what it holds when it is ready.
        std::future::poll_fn(move |_| {
            let error = std::io::Error::other(format!("no answer from {connection:?}"));
            Poll::Ready(Err::<(), _>(error))
        })
    });
    let mut guarded = BreakerLayer::new(breaker()).layer(fails);
    let mut call = pin!(guarded.call(1));
    assert!(matches!(poll!(call.as_mut()), Poll::Ready(Err(_))));
    assert_eq!(Arc::strong_count(&held), 1);
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_a_completed_call_is_dropped_is_a_failure() {
    struct Connection;
    impl Drop for Connection {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let server = breaker();
    let fails = tower::service_fn(|_: u32| {
        let connection = Connection;
        // Unlike an async block, this keeps what it holds when it is ready.
        std::future::poll_fn(move |_| {
            let _ = &connection;
            Poll::Ready(Err::<(), _>(std::io::Error::other("no answer")))
        })
    });
    let mut guarded = BreakerLayer::new(Arc::clone(&server)).layer(fails);
    for _ in 0..2 {
        let call = tokio::spawn(guarded.call(1));
        assert!(call.await.unwrap_err().is_panic());
    }
    assert_eq!(server.state(), State::Open);
}

/// A future may be kept for a while before its first poll, and dropped then: nothing was called.
#[tokio::test(start_paused = true)]
async fn a_call_that_was_never_begun_says_nothing_however_late_it_is_dropped() {
    let rules = RULES.slow_call(SECOND);
    let server = Arc::new(Breaker::new(rules, TokioClock));
    let fake = Fake::new(Mood::Answers);
    let mut service = BreakerLayer::new(Arc::clone(&server)).layer(fake.twin());
    for _ in 0..10 {
        let kept = service.call(1);
        tokio::time::sleep(5 * SECOND).await;
        drop(kept);
    }
    assert_eq!(
        (server.state(), server.snapshot().failures()),
        (State::Closed, 0)
    );
    server.trip();
    tokio::time::sleep(10 * SECOND).await;
    let kept = service.call(1);
    tokio::time::sleep(5 * SECOND).await;
    drop(kept);
    assert_eq!(server.state(), State::HalfOpen);
    assert_eq!((server.snapshot().probes_in_flight(), fake.calls()), (0, 0));
}
