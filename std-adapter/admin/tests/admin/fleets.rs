//! How the process stands in its fleet.

use crate::support::{App, assert_has};
use atomic_breaker_admin::{Admin, Timeline};
use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
use serde_json::json;
use std::time::Duration;

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
