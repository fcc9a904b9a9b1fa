// SPDX-License-Identifier: MIT OR Apache-2.0
//! An engine that falls back to older data, and periods that no engine knows.

use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, Message, Name, Notice, Period, PeriodId};
use atomic_breaker_server::State;

use super::support::{GRACE_MS, STEP_MS, World};

/// The time from the trip until all are served again, however far the engine has fallen back: the open time, the grace,
/// and the probes that follow.
const BACK_MS: u64 = 10_000 + 2 * GRACE_MS + 2 * STEP_MS;

/// An outage that ends: its end is remembered.
async fn outage(world: &mut World) {
    world.trip().await;
    world.is_up = true;
    world.run(BACK_MS).await;
    assert!(world.all_are(State::Closed), "{world:?}");
    // Until the trip is forgotten.
    world.run(12_000).await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_falls_back_to_the_end_of_an_earlier_outage_keeps_no_caller_out() {
    let mut world = World::new(20, FleetConfig::new(3)).await;
    outage(&mut world).await;
    let snapshot = world.engine.replica();
    world.trip().await;
    world.run(3_000).await;
    world.engine.fail_over(snapshot);
    world.is_up = true;
    world.run(BACK_MS - 3_000).await;
    assert!(world.all_are(State::Closed), "{world:?}");
    // And the next outage is shared again.
    world.run(6_000).await;
    world.trip().await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_falls_back_twice_keeps_no_caller_out() {
    let mut world = World::new(20, FleetConfig::new(3)).await;
    outage(&mut world).await;
    let ended = world.engine.replica();
    world.trip().await;
    let open = world.engine.replica();
    for older in [ended.clone(), open, ended] {
        world.run(2_000).await;
        world.engine.fail_over(older);
    }
    world.is_up = true;
    world.run(BACK_MS + 6_000).await;
    assert!(world.all_are(State::Closed), "{world:?}");
}

#[tokio::test(start_paused = true)]
async fn a_period_that_ended_trips_no_instance_when_the_engine_falls_back_to_it() {
    let mut world = World::new(20, FleetConfig::new(3)).await;
    world.trip().await;
    let open = world.engine.replica();
    world.is_up = true;
    world.run(BACK_MS).await;
    assert!(world.all_are(State::Closed), "{world:?}");
    world.engine.fail_over(open);
    for _ in 0..1_200 {
        world.run(STEP_MS).await;
        assert!(world.all_are(State::Closed), "{world:?}");
    }
    // A newcomer no longer hears of it.
    let status = world.status();
    assert!(status.is_connected && status.open == 0, "{status:?}");
    world.trip().await;
}

fn forged(epoch: u64) -> Message {
    Message {
        name: Name::new("payments").unwrap(),
        notice: Notice::Open(Period {
            id: PeriodId { epoch, mark: 7 },
            remaining_ms: 2_000,
            leased_ms: 0,
            open_ms: 2_000,
            trips: 1,
        }),
    }
}

#[tokio::test(start_paused = true)]
async fn a_published_period_that_no_record_knows_ends_by_itself() {
    for epoch in [1 << 45, (1 << 53) - 1, u64::MAX] {
        let mut world = World::new(10, FleetConfig::new(3)).await;
        outage(&mut world).await;
        world.engine.publish(forged(epoch));
        world.run(1_000).await;
        assert!(world.all_are(State::Open), "{world:?}");
        world.run(2_000 + 2 * GRACE_MS).await;
        assert!(world.all_are(State::Closed), "{epoch}: {world:?}");
        // Whatever its epoch, messages count again after the next reading.
        world.run(6_000).await;
        world.trip().await;
        world.idle(Duration::from_secs(1).as_millis() as u64).await;
        assert_eq!(world.status().open, 1);
    }
}
