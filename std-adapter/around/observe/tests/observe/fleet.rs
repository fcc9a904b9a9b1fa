// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answers of a fleet's engine, or their absence.

use std::sync::Arc;

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
use atomic_breaker_observe::Metrics;
use atomic_breaker_server::{Breaker, State, TokioClock};

use crate::support::{Page, RULES, SECOND};

/// The probe of one instance closes all: where nobody called, no call is counted.
#[tokio::test(start_paused = true)]
async fn a_breaker_that_its_fleet_opens_and_closes_counts_no_calls() {
    let engine = InProcess::new();
    let names = ["fleet calls", "fleet waits"];
    let instances = names.map(|name| {
        let fleet = Joined::new(engine.clone(), FleetConfig::new(1)).unwrap();
        let seat = fleet.seat("payments").unwrap();
        let breaker =
            Breaker::builder(RULES, TokioClock).observer((seat.clone(), Metrics::new(name)));
        let breaker = Arc::new(breaker.build());
        assert!(seat.take(Arc::clone(&breaker)));
        (fleet, breaker)
    });
    tokio::time::sleep(SECOND).await;
    let [(_, calls), (_, waits)] = &instances;
    while calls.state() == State::Closed {
        let _ = calls.call(|| Err::<(), _>("no answer"));
    }
    tokio::time::sleep(SECOND).await;
    assert_eq!(waits.state(), State::Open);
    while waits.state() != State::Closed {
        let _ = calls.call(|| Ok::<_, &str>(()));
        tokio::time::sleep(SECOND / 10).await;
    }
    let of = |name| {
        let outcomes = ["success", "failure", "slow", "ignored", "cancelled"];
        outcomes.map(|outcome| Page::now().calls(name, outcome).unwrap_or(0))
    };
    assert!(of(names[0])[0] >= 1 && of(names[0])[1] >= 1);
    assert_eq!(of(names[1]), [0; 5]);
    // And it did open and close.
    let transitions = Page::now().transitions(names[1], "open", "manual");
    assert!(transitions >= Some(1));
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_lost_and_found_again_and_a_fleet_that_is_left_show() {
    let connected = || Page::now().get("fleet_connected", "shop", &[]);
    let metrics = Metrics::new("shop");
    assert_eq!(connected(), None);
    let engine = InProcess::new();
    let fleet = Joined::new(engine.clone(), FleetConfig::new(3)).unwrap();
    metrics.watch_fleet(&fleet);
    tokio::time::sleep(SECOND).await;
    assert_eq!(connected(), Some(1));
    assert_eq!(Page::now().get("fleet_instances", "shop", &[]), Some(1));

    engine.cut();
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(connected(), Some(0));
    assert!(Page::now().get("fleet_unanswered", "shop", &[]) > Some(0));

    engine.mend();
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(connected(), Some(1));

    drop(fleet);
    tokio::time::sleep(SECOND).await;
    assert_eq!(connected(), Some(0));
}

#[tokio::test(start_paused = true)]
async fn what_went_unanswered_still_counts_after_a_fleet_is_joined_again() {
    let unanswered = || {
        Page::now()
            .get("fleet_unanswered", "rejoined", &[])
            .unwrap()
    };
    let metrics = Metrics::new("rejoined");
    let engine = InProcess::new();
    let mut before = 0;
    for _ in 0..3 {
        engine.cut();
        let fleet = Joined::new(engine.clone(), FleetConfig::new(3)).unwrap();
        metrics.watch_fleet(&fleet);
        metrics.watch_fleet(&fleet);
        assert_eq!(unanswered(), before);
        tokio::time::sleep(60 * SECOND).await;
        before += fleet.status().unanswered;
        assert_eq!(unanswered(), before);
        engine.mend();
    }
    assert!(before > 0);
}
