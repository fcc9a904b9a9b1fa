// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operators' commands stand.

use atomic_breaker_fleet::FleetConfig;
use atomic_breaker_server::State;

use super::support::World;

#[tokio::test(start_paused = true)]
async fn a_breaker_that_was_reset_by_hand_stays_closed_for_the_period() {
    let mut world = World::new(5, FleetConfig::new(3)).await;
    world.trip().await;
    world.processes[0].breaker.reset();
    world.idle(9_000).await;
    assert_eq!(world.count(State::Closed), 1, "{world:?}");
}

#[tokio::test(start_paused = true)]
async fn a_breaker_forced_open_or_disabled_stays_so_when_the_fleet_opens_and_closes() {
    let mut world = World::new(6, FleetConfig::new(3)).await;
    world.processes[4].breaker.force_open();
    world.processes[5].breaker.disable();
    for sick in &world.processes[..3] {
        for _ in 0..3 {
            sick.call(false);
        }
    }
    world.settle().await;
    world.idle(9_000).await;
    world.is_up = true;
    world.run(3_000).await;
    assert_eq!(world.count(State::Closed), 4, "{world:?}");
    assert_eq!(world.processes[4].breaker.state(), State::ForcedOpen);
    assert_eq!(world.processes[5].breaker.state(), State::Disabled);
}

#[tokio::test(start_paused = true)]
async fn a_trip_by_hand_concerns_one_instance() {
    let mut world = World::new(5, FleetConfig::new(1)).await;
    world.processes[0].breaker.trip();
    world.idle(1_000).await;
    assert_eq!(world.count(State::Closed), 4);
}
