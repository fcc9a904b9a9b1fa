// SPDX-License-Identifier: MIT OR Apache-2.0
//! One instance whose own calls fail, or that crashes repeatedly, in a fleet whose resource is healthy.

use std::time::Duration;

use atomic_breaker_fleet::FleetConfig;
use atomic_breaker_server::State;

use super::support::{GRACE_MS, Process, STEP_MS, World, rules};

fn trip(process: &Process) {
    for _ in 0..3 {
        process.call(false);
    }
}

#[tokio::test(start_paused = true)]
async fn one_sick_instance_keeps_no_other_open() {
    let mut world = World::new(20, FleetConfig::new(3)).await;
    world.trip().await;
    world.is_up = true;
    // The sick one is called far more often than the others.
    let mut closed_at = None;
    for step in 0..3_000 {
        for (number, process) in world.processes.iter().enumerate() {
            if number == 0 {
                process.call(false);
            } else if (step + 10 * number) % 200 == 0 {
                process.call(true);
            }
        }
        world.idle(STEP_MS).await;
        if closed_at.is_none() && world.count(State::Closed) >= 19 {
            closed_at = Some(world.now_ms);
        }
        assert!(
            closed_at.is_none() || world.count(State::Closed) >= 19,
            "{world:?}"
        );
    }
    // The open time, a failed probe, a pause of a grace, and two calls of another: one to ask for the right to probe,
    // one to probe.
    let closed_at = closed_at.expect("closed");
    assert!(
        closed_at <= 10_000 + 2 * GRACE_MS + 2 * 2_000,
        "{closed_at} ms"
    );
}

#[tokio::test(start_paused = true)]
async fn a_process_that_crashes_again_and_again_opens_no_other() {
    for named in [false, true] {
        let named_as = |name| {
            let fleet = FleetConfig::new(3);
            if named { fleet.instance(name) } else { fleet }
        };
        let mut world = World::new(0, FleetConfig::new(3)).await;
        for name in ["a", "b", "c", "d", "e"] {
            let process = Process::new(&world.engine, named_as(name), rules(), 0);
            world.processes.push(process);
        }
        world.settle().await;
        for _ in 0..6 {
            let looping = world.processes.pop().unwrap();
            trip(&looping);
            world.settle().await;
            drop(looping);
            let again = Process::new(&world.engine, named_as("e"), rules(), 0);
            world.processes.push(again);
            world.idle(200).await;
            assert_eq!(world.count(State::Closed), 5, "named: {named}, {world:?}");
        }
        // With two more instances the quorum is reached.
        trip(&world.processes[0]);
        trip(&world.processes[1]);
        world.settle().await;
        assert!(world.all_are(State::Open), "{world:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_vote_ends_with_the_window_after_its_trip() {
    let window = Duration::from_secs(2);
    let poll = Duration::from_millis(250);
    for (third_at, opens) in [(1_900, true), (2_100, false)] {
        let fleet = FleetConfig::new(3).window(window).poll(poll);
        let mut world = World::new(5, fleet).await;
        trip(&world.processes[0]);
        world.idle(1_000).await;
        trip(&world.processes[1]);
        world.idle(third_at - 1_000).await;
        trip(&world.processes[2]);
        world.settle().await;
        assert_eq!(world.all_are(State::Open), opens, "{third_at}: {world:?}");
    }
}
