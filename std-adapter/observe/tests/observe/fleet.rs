// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the engine of a fleet answers.

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
use atomic_breaker_observe::Metrics;

use crate::support::{Page, SECOND};

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
