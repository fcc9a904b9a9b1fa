// SPDX-License-Identifier: MIT OR Apache-2.0
//! The engine is gone, hangs, forgets, or is replaced in the middle of an outage.

use atomic_breaker_fleet::FleetConfig;
use atomic_breaker_server::State;

use super::support::{GRACE_MS, Process, STEP_MS, World, rules};

/// The largest part of the open time that may be left when all instances have heard of it, in steps of the test.
const DEADLINE_MS: u64 = 10_000 + GRACE_MS + 2 * STEP_MS;

/// All instances go on alone: each probes once, no later than the deadline and the grace, and not all at once.
async fn goes_on_alone(world: &mut World) {
    let until = DEADLINE_MS.saturating_sub(world.now_ms - 120);
    world.is_up = true;
    world.run(until).await;
    assert!(world.all_are(State::Closed), "{world:?}");
    let mut firsts: Vec<(usize, u64)> = Vec::new();
    for &(at, who) in &world.made {
        if firsts.iter().all(|(other, _)| *other != who) {
            firsts.push((who, at));
        }
    }
    let busiest = firsts
        .iter()
        .map(|(_, at)| firsts.iter().filter(|(_, other)| other == at).count())
        .max();
    let all = world.processes.len();
    assert!(busiest.unwrap_or(0) * 4 <= all, "a herd: {firsts:?}");
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_cut_off() {
    let mut world = World::new(40, FleetConfig::new(3)).await;
    world.trip().await;
    world.run(3_000).await;
    world.engine.cut();
    goes_on_alone(&mut world).await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_hangs() {
    let mut world = World::new(40, FleetConfig::new(3)).await;
    world.trip().await;
    world.run(3_000).await;
    world.engine.hang(true);
    goes_on_alone(&mut world).await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_hangs_just_before_the_end() {
    let mut world = World::new(40, FleetConfig::new(3)).await;
    world.trip().await;
    world.run(9_800).await;
    world.engine.hang(true);
    goes_on_alone(&mut world).await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_forgets_everything() {
    let mut world = World::new(40, FleetConfig::new(3)).await;
    world.trip().await;
    world.run(3_000).await;
    world.engine.flush();
    goes_on_alone(&mut world).await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_knows_nothing_of_the_outage_takes_over() {
    let mut world = World::new(40, FleetConfig::new(3)).await;
    let replica = world.engine.replica();
    world.trip().await;
    world.run(3_000).await;
    world.engine.fail_over(replica);
    goes_on_alone(&mut world).await;
}

#[tokio::test(start_paused = true)]
async fn the_reason_for_its_silence_is_shown_and_remembered() {
    let mut world = World::new(1, FleetConfig::new(1)).await;
    assert_eq!(world.status().last_error, None);
    for (breaks, why) in [
        (true, "the connection was cut"),
        (false, "no answer within 250ms"),
    ] {
        if breaks {
            world.engine.cut();
        } else {
            world.engine.hang(true);
        }
        world.idle(12_000).await;
        let status = world.status();
        assert!(!status.is_connected && status.unanswered > 0, "{status:?}");
        assert_eq!(status.last_error.as_ref().unwrap().to_string(), why);
        world.engine.mend();
        world.engine.hang(false);
        world.idle(12_000).await;
        let again = world.status();
        assert!(again.is_connected, "{again:?}");
        assert_eq!(again.last_error, status.last_error);
    }
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_was_never_reached_is_not_silent() {
    let mut world = World::new(0, FleetConfig::new(1)).await;
    world.engine.cut();
    let process = Process::new(&world.engine, FleetConfig::new(1), rules(), 0);
    world.processes.push(process);
    world.idle(1_000).await;
    let status = world.status();
    assert!(!status.is_connected && status.unanswered > 0, "{status:?}");
    assert!(status.last_error.is_some());
}

#[tokio::test(start_paused = true)]
async fn alone_they_trip_and_probe_as_without_a_fleet() {
    let mut world = World::new(10, FleetConfig::new(3)).await;
    world.engine.cut();
    world.is_up = false;
    world.run(5_000).await;
    assert!(world.all_are(State::Open), "{world:?}");
    assert_eq!(world.made.len(), 3 * 10, "three failures each");
    world.is_up = true;
    world.run(6_000).await;
    assert!(world.all_are(State::Closed), "{world:?}");
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_back_is_listened_to_again() {
    let mut world = World::new(10, FleetConfig::new(3)).await;
    world.engine.cut();
    world.run(30_000).await;
    assert!(!world.processes.iter().any(Process::is_connected));
    world.engine.mend();
    world.run(12_000).await;
    assert!(world.processes.iter().all(Process::is_connected));
    world.trip().await;
}

#[tokio::test(start_paused = true)]
async fn trips_while_it_was_gone_are_votes_when_it_is_back() {
    let mut world = World::new(10, FleetConfig::new(3)).await;
    world.engine.cut();
    for sick in &world.processes[..3] {
        for _ in 0..3 {
            sick.call(false);
        }
    }
    world.run(1_000).await;
    assert_eq!(world.count(State::Closed), 7);
    world.engine.mend();
    world.run(6_000).await;
    assert_eq!(world.count(State::Closed), 0, "{world:?}");
}

#[tokio::test(start_paused = true)]
async fn an_instance_cut_off_for_the_whole_outage_learns_of_the_next() {
    let mut world = World::new(10, FleetConfig::new(3)).await;
    for _ in 0..3 {
        world.trip().await;
        world.engine.flush();
        world.is_up = true;
        world.run(12_000).await;
        assert!(world.all_are(State::Closed), "{world:?}");
        // Until the trip is forgotten.
        world.run(12_000).await;
    }
}

#[tokio::test(start_paused = true)]
async fn two_fleets_with_one_engine_and_other_rules_do_not_wedge() {
    let mut world = World::new(5, FleetConfig::new(2)).await;
    let hours = rules()
        .open_for(std::time::Duration::from_secs(3_600))
        .exponential(2, std::time::Duration::from_secs(7_200));
    for _ in 0..5 {
        let other = Process::new(&world.engine, FleetConfig::new(4), hours, 0);
        world.processes.push(other);
    }
    world.settle().await;
    // Some rules mean hours; for the others that is 5 minutes, the longest that they accept.
    for other in &world.processes[5..9] {
        for _ in 0..3 {
            other.call(false);
        }
    }
    world.settle().await;
    assert!(world.all_are(State::Open), "{world:?}");
    world.is_up = true;
    world.run(331_000).await;
    assert!(world.all_are(State::Closed), "{world:?}");
}
