// SPDX-License-Identifier: MIT OR Apache-2.0
//! The standing of the process in its fleet.

use crate::support::{App, assert_has};
use atomic_breaker_admin::{Admin, Timeline};
use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
use atomic_breaker_server::{Breaker, Config, StdClock};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn a_breaker_that_the_fleet_holds_open_says_so_and_whose_calls_failed() {
    let engine = InProcess::new();
    // Three instances, of which the first two trip.
    let instances: Vec<_> = (0..3)
        .map(|_| {
            let joined = Joined::new(engine.clone(), FleetConfig::new(2)).unwrap();
            let seat = joined.seat("payments").unwrap();
            let rules = Config::new().consecutive_failures(1);
            let breaker = Breaker::builder(rules, StdClock).observer(seat.clone());
            let breaker = Arc::new(breaker.build());
            seat.take(Arc::clone(&breaker));
            let admin = Admin::new(&Timeline::new())
                .breaker("payments", Arc::clone(&breaker))
                .breaker("others", Arc::new(Breaker::new(rules, StdClock)))
                .fleet("shop", &joined);
            (App::of(admin), breaker, joined)
        })
        .collect();
    let shown = async |app: &App, name: &str| {
        let entries = app.get("/status?order=key").await.json()["entries"].clone();
        let mut entries = entries.as_array().unwrap().iter();
        entries.find(|it| it["of"] == name).unwrap()["fleet"].clone()
    };
    for (_, _, joined) in &instances {
        let mut watch = joined.watch();
        let connected = watch.wait_for(|status| status.is_connected);
        drop(
            tokio::time::timeout(Duration::from_secs(10), connected)
                .await
                .unwrap()
                .unwrap(),
        );
    }
    assert_eq!(shown(&instances[2].0, "payments").await, Value::Null);
    for (_, breaker, _) in &instances[..2] {
        let _ = breaker.call(|| Err::<(), _>("no answer"));
    }
    for (app, _, joined) in &instances {
        let mut watch = joined.watch();
        let open = watch.wait_for(|status| status.open == 1);
        drop(
            tokio::time::timeout(Duration::from_secs(10), open)
                .await
                .unwrap()
                .unwrap(),
        );
        assert_eq!(shown(app, "others").await, Value::Null);
    }
    for (number, (app, _, _)) in instances.iter().enumerate() {
        let held = shown(app, "payments").await;
        assert_has(
            &held,
            &json!({ "name": "shop", "stage": "waiting", "is_tripped_here": number < 2 }),
        );
        let ms = held["probe_in_ms"].as_u64().unwrap();
        assert!((1..=5_000).contains(&ms), "{ms}");
    }
    let (app, breaker, joined) = instances.into_iter().next().unwrap();
    drop(joined);
    let left = async {
        while shown(&app, "payments").await != Value::Null {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), left)
        .await
        .unwrap();
    drop(breaker);
}

#[tokio::test]
async fn the_fleet_is_shown_until_it_is_left() {
    let joined = Joined::new(InProcess::new(), FleetConfig::new(3)).unwrap();
    let app = App::of(Admin::new(&Timeline::new()).fleet("shop", &joined));
    let mut watch = joined.watch();
    let connected = watch.wait_for(|status| status.is_connected);
    tokio::time::timeout(Duration::from_secs(10), connected)
        .await
        .unwrap()
        .unwrap();
    let fleet = app.get("/status").await.json()["fleets"][0].clone();
    assert_has(
        &fleet,
        &json!({ "name": "shop", "is_joined": true, "is_connected": true }),
    );
    assert_has(
        &fleet,
        &json!({ "open": 0, "unanswered": 0, "withheld": 0 }),
    );
    drop((joined, watch));
    // Its task ends when it is next polled.
    let left = async {
        while app.get("/status").await.json()["fleets"][0]["is_joined"] == true {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), left)
        .await
        .unwrap();
}

#[tokio::test]
async fn the_error_of_a_lost_engine_is_shown() {
    let engine = InProcess::new();
    engine.cut();
    let joined = Joined::new(engine, FleetConfig::new(3)).unwrap();
    let app = App::of(Admin::new(&Timeline::new()).fleet("shop", &joined));
    let mut watch = joined.watch();
    let failed = watch.wait_for(|status| status.last_error.is_some());
    let failed = tokio::time::timeout(Duration::from_secs(10), failed).await;
    drop(failed.unwrap().unwrap());
    let fleet = app.get("/status").await.json()["fleets"][0].clone();
    let error = joined.status().last_error.unwrap().to_string();
    assert_has(
        &fleet,
        &json!({ "last_error": error, "is_connected": false }),
    );
}
