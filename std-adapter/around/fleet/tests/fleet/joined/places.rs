// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places as programs come by them: cloned, asked for again, dropped.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
use atomic_breaker_server::{Breaker, Guard, Registry, State, TokioClock};

use super::support::{or_closed, rules};

async fn idle(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// An outage of a minute, then calls until both are closed.
async fn outage(payments: impl Fn(bool) -> State, host: impl Fn(bool) -> State) {
    for ms in 0..60_000 {
        let states = [payments(false), host(false)];
        assert!(
            ms < 100 || !states.contains(&State::Closed),
            "{ms}: {states:?}"
        );
        idle(1).await;
    }
    for ms in 0.. {
        if [payments(true), host(true)] == [State::Closed; 2] {
            return;
        }
        // The longest open time, and a grace for each of the two.
        assert!(ms < 50_000, "not closed for {ms} ms");
        idle(1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_place_that_is_asked_for_again_is_the_same_one() {
    let joined = Joined::new(InProcess::new(), FleetConfig::new(1)).unwrap();
    let payments = Breaker::builder(rules(), TokioClock)
        .observer(joined.seat("payments").unwrap())
        .build();
    let payments = Arc::new(payments);
    let hosts = Registry::builder(rules())
        .clock(TokioClock)
        .observer(joined.seats("hosts").unwrap())
        .build();
    let hosts = Arc::new(hosts.unwrap());
    // Each although the other has been asked for meanwhile.
    assert!(joined.seat("payments").unwrap().take(Arc::clone(&payments)));
    assert!(joined.seats("hosts").unwrap().take(Arc::clone(&hosts)));
    idle(20).await;
    for _ in 0..3 {
        outage(
            |is_up| {
                let _ = payments.call(|| is_up.then_some(()).ok_or("down"));
                or_closed(payments.state())
            },
            |is_up| {
                let host = "a.example".to_owned();
                let _ = hosts
                    .of(host.clone())
                    .call(|| is_up.then_some(()).ok_or("down"));
                or_closed(hosts.state(&host))
            },
        )
        .await;
    }
}

#[tokio::test]
async fn places_that_were_dropped_are_not_kept() {
    let joined = Joined::new(InProcess::new(), FleetConfig::new(1)).unwrap();
    for number in 0..100 {
        drop(joined.seat(format!("gone {number}")).unwrap());
    }
    let seats = joined.seats::<String>("hosts").unwrap();
    assert_eq!(format!("{seats:?}"), r#"Seats("hosts")"#);
    let shown = format!("{joined:?}");
    assert!(
        shown.contains("hosts") && !shown.contains("gone"),
        "{shown}"
    );
}

/// A registry that is built anew while the first one is still called, and a process that leaves in the middle.
#[tokio::test(start_paused = true)]
async fn places_outlive_registries_and_the_fleet() {
    let mut joined = Joined::new(InProcess::new(), FleetConfig::new(1)).unwrap();
    let seats = joined.seats("hosts").unwrap();
    for _ in 0..3 {
        let build = || {
            let hosts = Registry::builder(rules()).clock(TokioClock);
            Arc::new(hosts.observer(seats.clone()).build().unwrap())
        };
        let (first, second) = (build(), build());
        for hosts in [&first, &second] {
            assert!(seats.take(Arc::clone(hosts)));
        }
        idle(20).await;
        let call = |hosts: &Registry<String, TokioClock, _, _>, is_up: bool| {
            let host = "a.example".to_owned();
            let _ = hosts
                .of(host.clone())
                .call(|| is_up.then_some(()).ok_or("down"));
            or_closed(hosts.state(&host))
        };
        outage(|is_up| call(&first, is_up), |is_up| call(&second, is_up)).await;
    }
    let hosts = Registry::builder(rules()).clock(TokioClock);
    let hosts = hosts.observer(seats.clone()).build().unwrap();
    let hosts = Arc::new(hosts);
    assert!(seats.take(Arc::clone(&hosts)));
    idle(20).await;
    let call = |is_up: bool| {
        let host = "a.example".to_owned();
        let _ = hosts
            .of(host.clone())
            .call(|| is_up.then_some(()).ok_or("down"));
        or_closed(hosts.state(&host))
    };
    for _ in 0..3 {
        call(false);
    }
    idle(1_000).await;
    assert_eq!(call(false), State::Open);
    // In the middle of a period.
    joined = Joined::new(InProcess::new(), FleetConfig::new(1)).unwrap();
    idle(20).await;
    assert!(!seats.take(Arc::clone(&hosts)), "its fleet is gone");
    outage(call, call).await;
    drop(joined);
}
