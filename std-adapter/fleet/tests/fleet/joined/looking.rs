// SPDX-License-Identifier: MIT OR Apache-2.0
//! Callers that look before they call, in many instances, while the resource is dead; and no callers at all.

use atomic_breaker_fleet::FleetConfig;
use atomic_breaker_server::State;

use super::support::{STEP_MS, World};

/// Calls in those instances that are not open, for so long.
async fn look(world: &mut World, ms: u64) {
    let end = world.now_ms + ms;
    while world.now_ms < end {
        for number in 0..world.processes.len() {
            let process = &world.processes[number];
            if process.breaker.state() != State::Open && process.call(world.is_up) {
                world.made.push((world.now_ms, number));
            }
        }
        world.idle(STEP_MS).await;
    }
}

#[tokio::test(start_paused = true)]
async fn callers_that_look_ask_a_dead_resource_no_more_often_than_those_that_are_rejected() {
    let mut counts = Vec::new();
    for looks in [false, true] {
        let mut world = World::new(20, FleetConfig::new(3)).await;
        world.trip().await;
        world.made.clear();
        if looks {
            look(&mut world, 600_000).await;
        } else {
            world.run(600_000).await;
        }
        counts.push(world.made.len());
        world.is_up = true;
        look(&mut world, 60_000).await;
        assert!(world.all_are(State::Closed), "{world:?}");
    }
    assert!(counts[1] <= counts[0], "{counts:?}");
}

/// Each asks for the right in each lease of four graces at most, after one grace.
#[tokio::test(start_paused = true)]
async fn two_hundred_instances_without_calls_ask_the_engine_a_few_times_each() {
    let mut world = World::new(200, FleetConfig::new(3)).await;
    world.trip().await;
    world.idle(5_000).await;
    let before = world.engine.requests();
    world.idle(20_000).await;
    let in_outage = world.engine.requests() - before;
    world.idle(20_000).await;
    let before = world.engine.requests();
    world.idle(20_000).await;
    let readings = world.engine.requests() - before;
    println!("{in_outage} requests, {readings} of them readings");
    assert!(
        in_outage <= readings * 11 / 10 + 200 * 8,
        "{in_outage} requests"
    );
}
