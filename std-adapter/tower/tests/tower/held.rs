// SPDX-License-Identifier: MIT OR Apache-2.0
//! The permit that an endpoint holds until its call.

use std::sync::Arc;

use atomic_breaker_tower::{Breaker, State, TokioClock};
use tokio::time::{Instant, sleep};
use tower::Service;

use crate::fake::{Fake, Mood, RULES, SECOND, breaker};
use crate::gate::{SOON, gate, look, ready};

#[tokio::test(start_paused = true)]
async fn a_clone_has_no_permit() {
    let (server, fake) = (breaker(), Fake::new(Mood::Answers));
    let mut endpoint = gate(&server, &fake);
    server.trip();
    ready(&mut endpoint).await.unwrap();
    let mut clone = endpoint.clone();
    assert!(format!("{endpoint:?}").contains("holds_permit: true"));
    assert!(format!("{clone:?}").contains("holds_permit: false"));
    assert!(look(&mut clone).is_pending());
    let rejected = clone.call(1).await.unwrap_err();
    assert!(rejected.rejected().is_some());
    assert!(endpoint.call(1).await.is_ok());
    ready(&mut clone).await.unwrap();
}

/// However long it was held: nothing was called.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_dropped_gives_its_permit_back_and_says_nothing() {
    let (server, fake) = (breaker(), Fake::new(Mood::Answers));
    let mut endpoint = gate(&server, &fake);
    server.trip();
    ready(&mut endpoint).await.unwrap();
    sleep(5 * SECOND).await;
    drop(endpoint);
    assert_eq!(server.state(), State::HalfOpen);
    assert_eq!(server.snapshot().probes_in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_waited_before_the_call_does_not_count() {
    let slow = RULES.slow_call(SECOND).cancel_limit(SECOND);
    let server = Arc::new(Breaker::new(slow, TokioClock));
    let fake = Fake::new(Mood::Hangs);
    let mut endpoint = gate(&server, &fake);
    server.trip();
    ready(&mut endpoint).await.unwrap();
    sleep(5 * SECOND).await;
    let call = tokio::time::timeout(SECOND / 2, endpoint.call(1)).await;
    assert!(call.is_err());
    assert_eq!(server.state(), State::HalfOpen, "cancelled young");
    fake.set(Mood::Answers);
    ready(&mut endpoint).await.unwrap();
    sleep(5 * SECOND).await;
    assert!(endpoint.call(1).await.is_ok());
    assert_eq!(server.state(), State::Closed, "not slow");
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_not_called_loses_its_permit_to_one_that_waits() {
    let server = Arc::new(Breaker::new(RULES.probe_lease(3 * SECOND), TokioClock));
    let fake = Fake::new(Mood::AnswersAfter(SECOND));
    let (mut idle, mut busy) = (gate(&server, &fake), gate(&server, &fake));
    server.trip();
    ready(&mut idle).await.unwrap();
    let begin = Instant::now();
    ready(&mut busy).await.unwrap();
    let waited = begin.elapsed();
    assert!(
        waited >= 3 * SECOND && waited <= 3 * SECOND + SOON,
        "{waited:?}"
    );
    let call = tokio::spawn(busy.call(1));
    tokio::task::yield_now().await;
    assert!(look(&mut idle).is_pending());
    assert_eq!(server.snapshot().probes_in_flight(), 1);
    assert!(call.await.unwrap().is_ok());
    assert_eq!(server.state(), State::Closed);
    ready(&mut idle).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_permit_has_lapsed_is_rejected() {
    let server = Arc::new(Breaker::new(RULES.probe_lease(3 * SECOND), TokioClock));
    let fake = Fake::new(Mood::Answers);
    let mut idle = gate(&server, &fake);
    server.trip();
    ready(&mut idle).await.unwrap();
    sleep(3 * SECOND).await;
    let other = server.acquire().unwrap();
    assert!(idle.call(1).await.unwrap_err().rejected().is_some());
    assert_eq!(fake.calls(), 0);
    other.success();
    assert_eq!(server.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn each_poll_renews_the_permit() {
    let server = Arc::new(Breaker::new(RULES.probe_lease(3 * SECOND), TokioClock));
    let mut endpoint = gate(&server, &Fake::new(Mood::Answers));
    server.trip();
    for _ in 0..10 {
        ready(&mut endpoint).await.unwrap();
        sleep(2 * SECOND).await;
        assert!(server.acquire().is_err());
    }
    assert!(endpoint.call(1).await.is_ok());
    assert_eq!(server.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_permit_of_an_earlier_state_is_given_up() {
    let (server, fake) = (breaker(), Fake::new(Mood::Answers));
    let mut endpoint = gate(&server, &fake);
    server.trip();
    ready(&mut endpoint).await.unwrap();
    server.reset();
    assert!(endpoint.call(1).await.is_ok(), "closed meanwhile");
    server.trip();
    ready(&mut endpoint).await.unwrap();
    server.trip();
    assert!(look(&mut endpoint).is_pending());
}

/// As a balancer does that polls all of its endpoints at each request.
#[tokio::test(start_paused = true)]
async fn a_service_that_stays_unready_holds_the_probe_no_longer_than_its_lease_however_often_it_is_polled()
 {
    let server = Arc::new(Breaker::new(RULES.probe_lease(3 * SECOND), TokioClock));
    let (never, well) = (Fake::new(Mood::NeverReady), Fake::new(Mood::Answers));
    let (mut stuck, mut endpoint) = (gate(&server, &never), gate(&server, &well));
    server.trip();
    sleep(10 * SECOND).await;
    assert!(look(&mut stuck).is_pending());
    assert_eq!(server.snapshot().probes_in_flight(), 1);
    let begin = Instant::now();
    while look(&mut endpoint).is_pending() {
        assert!(begin.elapsed() < 3 * SECOND + SOON, "it waits forever");
        sleep(SOON / 2).await;
        assert!(look(&mut stuck).is_pending());
    }
    assert!(begin.elapsed() >= 3 * SECOND);
    assert!(endpoint.call(1).await.is_ok());
    assert_eq!(server.state(), State::Closed);
}

/// It gave its permit back, and asks for another one.
#[tokio::test(start_paused = true)]
async fn a_service_that_becomes_ready_after_the_lease_is_called_with_a_permit_of_its_own() {
    let server = Arc::new(Breaker::new(RULES.probe_lease(3 * SECOND), TokioClock));
    let fake = Fake::new(Mood::NeverReady);
    let mut endpoint = gate(&server, &fake);
    server.trip();
    for _ in 0..200 {
        sleep(SOON).await;
        assert!(look(&mut endpoint).is_pending());
    }
    assert_eq!(server.state(), State::HalfOpen);
    assert_eq!(server.snapshot().probes_in_flight(), 0, "given back");
    let other = server.acquire().unwrap();
    fake.set(Mood::Answers);
    assert!(look(&mut endpoint).is_pending(), "the slot is taken");
    other.cancel();
    ready(&mut endpoint).await.unwrap();
    assert_eq!(server.snapshot().probes_in_flight(), 1);
    assert!(endpoint.call(1).await.is_ok());
    assert_eq!(server.state(), State::Closed);
}
