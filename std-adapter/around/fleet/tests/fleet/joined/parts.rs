// SPDX-License-Identifier: MIT OR Apache-2.0
//! Status, shadow mode, queues and ends.

use atomic_breaker_fleet::{FleetConfig, InProcess, Joined};
use atomic_breaker_server::{Observer, State};

use super::support::World;

#[test]
fn joining_outside_of_a_runtime_is_an_error_that_says_so() {
    let error = Joined::new(InProcess::new(), FleetConfig::new(3)).unwrap_err();
    assert!(error.to_string().contains("runtime"));
}

#[tokio::test(start_paused = true)]
async fn an_invalid_number_is_an_error() {
    let error = Joined::new(InProcess::new(), FleetConfig::new(0)).unwrap_err();
    assert!(error.to_string().contains("quorum"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_seat_observes_no_word_of_which_it_hears_only_a_part() {
    let fleet = Joined::new(InProcess::new(), FleetConfig::new(1)).unwrap();
    let seat = fleet.seat("payments").unwrap();
    assert!(seat.must_hear_all() && Some((seat, ())).must_hear_all() && !().must_hear_all());
}

#[tokio::test(start_paused = true)]
async fn a_quorum_above_the_living_is_shown() {
    let mut few = World::new(2, FleetConfig::new(3)).await;
    few.idle(6_000).await;
    let status = few.processes[0].joined.as_ref().unwrap().status();
    assert!(status.is_below_quorum && status.living == 2, "{status:?}");
    let mut enough = World::new(3, FleetConfig::new(3)).await;
    enough.idle(6_000).await;
    let status = enough.processes[0].joined.as_ref().unwrap().status();
    assert!(!status.is_below_quorum && status.living == 3, "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn in_shadow_mode_actions_are_counted_and_not_taken() {
    let mut world = World::new(5, FleetConfig::new(3).shadow(true)).await;
    for sick in &world.processes[..3] {
        for _ in 0..3 {
            sick.call(false);
        }
    }
    world.settle().await;
    assert_eq!(world.count(State::Closed), 2);
    let status = world.processes[4].joined.as_ref().unwrap().status();
    assert_eq!((status.withheld, status.open), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_is_counted_and_blocks_no_call() {
    let world = World::new(1, FleetConfig::new(3)).await;
    let process = &world.processes[0];
    // The task does not run meanwhile.
    for _ in 0..5_000 {
        process.breaker.trip();
        process.breaker.reset();
    }
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let status = process.joined.as_ref().unwrap().status();
    assert!(status.overflows >= 10_000 - 4_096, "{status:?}");
    assert_eq!(process.breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn thousands_of_rejected_calls_at_once_are_one_event() {
    let mut world = World::new(3, FleetConfig::new(3)).await;
    world.trip().await;
    world.idle(10_000).await;
    // The task does not run meanwhile.
    for _ in 0..5_000 {
        assert!(!world.processes[0].call(true));
    }
    world.settle().await;
    assert_eq!(world.status().overflows, 0);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_leaves_the_fleet_goes_on_alone() {
    let mut world = World::new(5, FleetConfig::new(3)).await;
    world.processes[0].joined = None;
    world.is_up = false;
    world.run(100).await;
    assert!(world.all_are(State::Open), "{world:?}");
    world.is_up = true;
    world.run(12_000).await;
    assert!(world.all_are(State::Closed), "{world:?}");
}

#[tokio::test(start_paused = true)]
async fn writes_in_an_outage_do_not_depend_on_the_rate_of_calls() {
    let mut writes = Vec::new();
    for calls in [1, 100] {
        let mut world = World::new(5, FleetConfig::new(3)).await;
        world.trip().await;
        let before = world.engine.requests();
        for _ in 0..3_500 {
            for process in &world.processes {
                for _ in 0..calls {
                    process.call(false);
                }
            }
            world.idle(10).await;
        }
        writes.push(world.engine.requests() - before);
    }
    // Two periods; each has its bids and its finding, and readings go on.
    assert!(writes[0] < 100 && writes[1] < 100, "{writes:?}");
}
