// SPDX-License-Identifier: MIT OR Apache-2.0
//! Callers that are never rejected, and yet there to probe: they wait until the breaker is ready, or look before they call;
//! and probers.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined, Seat};
use atomic_breaker_server::word::NativeWord;
use atomic_breaker_server::{AnyPermit, State};
use atomic_breaker_server::{Breaker, Config, Guard, Outcome, Prober, Registry, TokioClock};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

/// The bound of docs/fleet.md: the open time and two graces of at least a second, and a poll if a message was lost.
const BOUND: Duration = Duration::from_secs(5 + 2 + 5);

fn rules() -> Config {
    Config::new().consecutive_failures(1).open_for(5 * SECOND)
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_for_a_breaker_probes_as_one_that_is_rejected_does() {
    let fleet = Joined::new(InProcess::new(), FleetConfig::new(1)).unwrap();
    let seat = fleet.seat("payments").unwrap();
    let breaker = Breaker::builder(rules(), TokioClock)
        .observer(seat.clone())
        .build();
    let breaker = Arc::new(breaker);
    assert!(seat.take(Arc::clone(&breaker)));
    sleep(SECOND).await;
    breaker.acquire().unwrap().failure();
    let begin = Instant::now();
    breaker.ready().await;
    assert!(begin.elapsed() < BOUND, "after {:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_for_a_key_probes_as_one_that_is_rejected_does() {
    let fleet = Joined::new(InProcess::new(), FleetConfig::new(1)).unwrap();
    let seats = fleet.seats("hosts").unwrap();
    let hosts = Registry::builder(rules())
        .clock(TokioClock)
        .observer(seats.clone())
        .build();
    let hosts: Arc<Registry<u32, _, _, _>> = Arc::new(hosts.unwrap());
    assert!(seats.take(Arc::clone(&hosts)));
    sleep(SECOND).await;
    let _ = hosts.of(7).call(|| Err::<(), _>("no answer"));
    assert_eq!(hosts.state(&7), State::Open);
    let begin = Instant::now();
    let permit = hosts.of(7).acquire_when_ready().await;
    permit.report(Outcome::Success);
    assert!(begin.elapsed() < BOUND, "after {:?}", begin.elapsed());
}

/// Three processes whose calls have failed.
async fn three_that_trip() -> Vec<(Joined, Arc<Breaker<TokioClock, NativeWord, (), Seat>>)> {
    let engine = InProcess::new();
    let mut all = Vec::new();
    for _ in 0..3 {
        let fleet = Joined::new(engine.clone(), FleetConfig::new(2)).unwrap();
        let seat = fleet.seat("payments").unwrap();
        let breaker = Breaker::builder(rules(), TokioClock)
            .observer(seat.clone())
            .build();
        let breaker = Arc::new(breaker);
        assert!(seat.take(Arc::clone(&breaker)));
        all.push((fleet, breaker));
    }
    sleep(SECOND).await;
    for (_, breaker) in &all {
        breaker.acquire().unwrap().failure();
    }
    all
}

/// Five graces more.
const LOOKING: Duration = Duration::from_secs(5 + 2 + 5);

#[tokio::test(start_paused = true)]
async fn callers_that_look_before_they_call_are_served_again() {
    let all = three_that_trip().await;
    let begin = Instant::now();
    let mut served = 0;
    while served < 30 {
        sleep(SECOND / 10).await;
        assert!(served > 0 || begin.elapsed() < LOOKING, "none is served");
        // In one of them only, as two are idle.
        let (_, breaker) = &all[2];
        if breaker.state() == State::Open {
            continue;
        }
        served += u32::from(breaker.call(|| Ok::<_, ()>(())).is_ok());
    }
    for (_, breaker) in &all {
        assert_eq!(breaker.state(), State::Closed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_prober_of_one_instance_ends_the_outage_of_all() {
    let all = three_that_trip().await;
    let pinged = Arc::clone(&all[1].1);
    let _prober = tokio::spawn(async move {
        let ping = async || Ok::<_, std::io::Error>(());
        pinged.run_prober(Prober::every(SECOND), ping).await
    });
    sleep(LOOKING + SECOND).await;
    for (_, breaker) in &all {
        assert_eq!(breaker.state(), State::Closed);
    }
}
