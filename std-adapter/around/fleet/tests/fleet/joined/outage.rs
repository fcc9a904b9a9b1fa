// SPDX-License-Identifier: MIT OR Apache-2.0
//! An outage, from the first failure to the return.

use std::time::Duration;

use atomic_breaker_fleet::FleetConfig;
use atomic_breaker_server::State;

use super::support::{GRACE_MS, Process, World, rules};

#[tokio::test(start_paused = true)]
async fn a_quorum_that_trips_opens_all() {
    let mut world = World::new(20, FleetConfig::new(3)).await;
    for sick in &world.processes[..3] {
        for _ in 0..3 {
            sick.call(false);
        }
    }
    world.settle().await;
    assert!(world.all_are(State::Open), "{world:?}");
}

#[tokio::test(start_paused = true)]
async fn one_sick_instance_opens_no_other() {
    let mut world = World::new(20, FleetConfig::new(3)).await;
    for _ in 0..600 {
        world.processes[0].call(false);
        for process in &world.processes[1..] {
            assert!(process.call(true));
        }
        world.idle(100).await;
    }
    assert_eq!(world.processes[0].breaker.state(), State::Open);
    assert_eq!(world.count(State::Closed), 19);
}

/// A failed probe delays the next one by a grace, and two failures of different instances make a longer period.
#[tokio::test(start_paused = true)]
async fn each_period_has_one_probe_and_grows_when_two_have_failed_whichever_instances_probe() {
    let mut world = World::new(20, FleetConfig::new(3)).await;
    world.trip().await;
    let pauses = [10_000, 1_000, 20_000, 2_000, 40_000, 4_000, 40_000];
    world.run(pauses.iter().sum::<u64>() + 3_000).await;
    assert_eq!(world.made.len(), 7, "{:?}", world.made);
    // The first one opened within 100 ms.
    let mut before = 0;
    for ((at, _), pause) in world.made.iter().zip(pauses) {
        let late = at - before - pause;
        assert!(late <= GRACE_MS, "{late} ms late: {:?}", world.made);
        before = *at;
    }
    for pair in world.made.chunks_exact(2) {
        assert_ne!(pair[0].1, pair[1].1, "{:?}", world.made);
    }
}

#[tokio::test(start_paused = true)]
async fn one_successful_probe_closes_all() {
    let mut world = World::new(20, FleetConfig::new(3)).await;
    world.trip().await;
    world.idle(9_000).await;
    world.is_up = true;
    world.run(2_000).await;
    assert!(world.all_are(State::Closed), "{world:?}");
    let first = world.made[0].0;
    let until_all = world.made.iter().filter(|(at, _)| *at == first).count();
    assert_eq!(until_all, 1, "another instance probed, too");
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_fails_soon_after_its_probe_is_left_alone_for_longer() {
    let mut world = World::new(20, FleetConfig::new(3)).await;
    world.trip().await;
    world.is_up = true;
    world.run(12_000).await;
    assert!(world.all_are(State::Closed), "{world:?}");
    // Trips are not forgotten yet, so each vote asks for twice the time.
    world.trip().await;
    world.is_up = true;
    world.run(18_000).await;
    assert!(world.all_are(State::Open), "{world:?}");
    world.run(6_000).await;
    assert!(world.all_are(State::Closed), "{world:?}");
}

#[tokio::test(start_paused = true)]
async fn traffic_returns_gradually_everywhere_where_the_rules_say_so() {
    let rules = rules().gradual_return(10, Duration::from_secs(20));
    let mut world = World::with_rules(10, FleetConfig::new(3), rules).await;
    world.trip().await;
    world.idle(9_000).await;
    world.is_up = true;
    world.run(2_000).await;
    assert!(world.all_are(State::Returning), "{world:?}");
}

#[tokio::test(start_paused = true)]
async fn a_prober_that_is_killed_is_followed_within_the_grace() {
    let mut world = World::new(20, FleetConfig::new(3)).await;
    world.trip().await;
    // Until an instance has the right to probe, but has not yet called.
    let mut holder = None;
    for _ in 0..12_000 {
        for process in &world.processes {
            let _ = process.breaker.state() == State::HalfOpen || process.call(false);
        }
        world.idle(1).await;
        let mut all = world.processes.iter();
        holder = all.position(|process| process.breaker.state() == State::HalfOpen);
        if holder.is_some() {
            break;
        }
    }
    let killed = world.processes.remove(holder.expect("no instance probes"));
    drop(killed);
    world.is_up = true;
    let before = world.now_ms;
    world.run(2_000).await;
    let next = world.made.first().expect("no instance followed").0;
    assert!(next - before <= GRACE_MS, "{} ms", next - before);
    assert!(world.all_are(State::Closed), "{world:?}");
}

#[tokio::test(start_paused = true)]
async fn a_newcomer_within_an_outage_wastes_no_call() {
    let mut world = World::new(5, FleetConfig::new(3)).await;
    world.trip().await;
    let newcomer = Process::new(&world.engine, FleetConfig::new(3), rules(), 0);
    world.settle().await;
    assert!(!newcomer.call(false));
    // It is heard no longer than all the others.
    world.processes.push(newcomer);
    world.idle(9_000).await;
    world.is_up = true;
    world.run(2_000).await;
    assert!(world.all_are(State::Closed), "{world:?}");
}

#[tokio::test(start_paused = true)]
async fn the_first_caller_of_each_instance_probes_after_a_long_time_without_calls() {
    let mut world = World::new(5, FleetConfig::new(3)).await;
    world.trip().await;
    world.idle(120_000).await;
    assert!(world.all_are(State::HalfOpen), "{world:?}");
    // And no call is admitted beside it: the first failure opens it for all.
    world.run(1_000).await;
    assert!((1..=5).contains(&world.made.len()), "{:?}", world.made);
    assert!(world.all_are(State::Open), "{world:?}");
    world.is_up = true;
    world.run(22_000).await;
    assert!(world.all_are(State::Closed), "{world:?}");
}

/// The winner of the right is called when it has lapsed.
#[tokio::test(start_paused = true)]
async fn callers_that_come_once_a_second_share_few_probes() {
    let mut world = World::new(20, FleetConfig::new(3)).await;
    world.trip().await;
    for _ in 0..150 {
        for (number, process) in world.processes.iter().enumerate() {
            if process.call(false) {
                world.made.push((world.now_ms, number));
            }
        }
        world.idle(1_000).await;
    }
    // Of three periods, 10 s, 20 s, 40 s, and the pauses after each.
    assert!((6..=24).contains(&world.made.len()), "{:?}", world.made);
    assert!(world.all_are(State::Open), "{world:?}");
}

/// With 32-bit clocks, which mistake the second outage for the earlier one.
#[tokio::test(start_paused = true)]
async fn two_outages_of_a_quiet_service_30_days_apart_are_both_shared() {
    let fleet = FleetConfig::new(3).poll(Duration::from_secs(3_600));
    let mut world = World::new(5, fleet).await;
    for _ in 0..2 {
        for sick in &world.processes[..3] {
            for _ in 0..3 {
                sick.call(false);
            }
        }
        world.settle().await;
        assert!(world.all_are(State::Open), "{world:?}");
        world.is_up = true;
        world.run(12_000).await;
        assert!(world.all_are(State::Closed), "{world:?}");
        world.idle(30 * 24 * 60 * 60 * 1_000).await;
    }
}
