// SPDX-License-Identifier: MIT OR Apache-2.0
//! An outage of one key, from the first failure to the return.

use std::time::Duration;

use atomic_breaker_fleet::InProcess;
use atomic_breaker_server::State;

use super::super::support::GRACE_MS;
use super::{count, idle, processes};

#[tokio::test(start_paused = true)]
async fn a_quorum_opens_one_key_everywhere_and_no_other() {
    let engine = InProcess::new();
    let all = processes(&engine, 10).await;
    for sick in &all[..3] {
        sick.trip("a.example");
    }
    all[0].trip("b.example");
    idle(20).await;
    // Seven of them have never called it.
    assert_eq!(count(&all, "a.example", State::Open), 10);
    assert_eq!(count(&all, "b.example", State::Open), 1);
    assert_eq!(all[9].status().open, 1);
}

#[tokio::test(start_paused = true)]
async fn each_key_has_one_probe_in_a_period() {
    let engine = InProcess::new();
    let all = processes(&engine, 10).await;
    for host in ["a.example", "b.example"] {
        for sick in &all[..3] {
            sick.trip(host);
        }
    }
    idle(20).await;
    let mut probes = [0, 0];
    for _ in 0..(10_000 + GRACE_MS) / 10 {
        for process in &all {
            probes[0] += u32::from(process.call("a.example", false));
            probes[1] += u32::from(process.call("b.example", true));
        }
        idle(10).await;
    }
    assert_eq!(probes[0], 1);
    // One successful probe closes all: then all call.
    assert!(probes[1] > 100, "{}", probes[1]);
    assert_eq!(count(&all, "a.example", State::Open), 10);
    assert_eq!(count(&all, "b.example", State::Closed), 10);
}

#[tokio::test(start_paused = true)]
async fn a_recovered_key_is_forgotten() {
    let engine = InProcess::new();
    let all = processes(&engine, 4).await;
    for sick in &all[..3] {
        sick.trip("a.example");
    }
    idle(10_000).await;
    assert_eq!(all[3].status().breakers, 1);
    for _ in 0..3_000 {
        for process in &all {
            process.call("a.example", true);
        }
        idle(10).await;
    }
    assert_eq!(count(&all, "a.example", State::Closed), 4);
    for process in &all {
        let status = process.status();
        assert_eq!((status.breakers, status.open), (0, 0), "{status:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_operators_command_for_a_key_stands_in_that_instance() {
    let engine = InProcess::new();
    let all = processes(&engine, 4).await;
    let host = "a.example".to_owned();
    all[3].hosts.command(&host, |key| key.force_open()).unwrap();
    for sick in &all[..3] {
        sick.trip("a.example");
    }
    idle(20).await;
    all[0].hosts.command(&host, |key| key.reset()).unwrap();
    // This is longer than several readings: it stays as it is while the period runs without calls.
    idle(30_000).await;
    assert_eq!(all[0].state("a.example"), State::Closed);
    // Meanwhile others have had the right to probe, and wait for a call.
    assert_eq!(count(&all, "a.example", State::Closed), 1);
    for _ in 0..300 {
        for process in &all {
            process.call("a.example", true);
        }
        idle(10).await;
    }
    assert_eq!(count(&all, "a.example", State::Closed), 3);
    assert_eq!(all[3].state("a.example"), State::ForcedOpen);
}

#[tokio::test(start_paused = true)]
async fn a_trip_of_a_key_by_hand_concerns_one_instance_and_ends_when_it_says() {
    let engine = InProcess::new();
    let all = processes(&engine, 4).await;
    let host = "a.example".to_owned();
    let hour = Duration::from_secs(3_600);
    let trip = all[3].hosts.command(&host, |key| key.trip_for(hour));
    trip.unwrap();
    for sick in &all[..3] {
        sick.trip("a.example");
    }
    for _ in 0..2_000 {
        for process in &all {
            process.call("a.example", true);
        }
        idle(10).await;
    }
    assert_eq!(count(&all, "a.example", State::Closed), 3);
    assert_eq!(all[3].state("a.example"), State::Open);
}

#[tokio::test(start_paused = true)]
async fn writes_do_not_depend_on_the_rate_of_rejected_calls() {
    let mut requests = Vec::new();
    for calls in [1, 50] {
        let engine = InProcess::new();
        let all = processes(&engine, 5).await;
        for sick in &all[..3] {
            sick.trip("a.example");
        }
        idle(20).await;
        let before = engine.requests();
        for _ in 0..1_500 {
            for process in &all {
                for _ in 0..calls {
                    process.call("a.example", false);
                }
            }
            idle(10).await;
        }
        requests.push(engine.requests() - before);
    }
    assert!(requests.iter().all(|&count| count < 60), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn without_the_engine_each_key_goes_on_alone() {
    let engine = InProcess::new();
    let all = processes(&engine, 5).await;
    for sick in &all[..3] {
        sick.trip("a.example");
    }
    idle(20).await;
    engine.cut();
    idle(10_000 + GRACE_MS).await;
    for process in &all {
        assert!(process.call("a.example", true));
        assert_eq!(process.state("a.example"), State::Closed);
    }
    engine.mend();
    idle(30_000).await;
    assert_eq!(count(&all, "a.example", State::Closed), 5);
    assert_eq!(all[0].status().breakers, 0, "{:?}", all[0].status());
}

#[tokio::test(start_paused = true)]
async fn without_the_engine_a_day_of_trips_is_forgotten_one_by_one() {
    let engine = InProcess::new();
    let all = processes(&engine, 1).await;
    engine.cut();
    // There are slots for 64.
    for host in 0..2_000 {
        all[0].trip(&host.to_string());
        idle(45_000).await;
        all[0].call(&host.to_string(), true);
    }
    let status = all[0].status();
    assert_eq!(status.left_alone, 0, "{status:?}");
    assert!(status.breakers <= 64, "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_outage_ended_is_not_tripped_when_the_engine_falls_back_to_it() {
    let engine = InProcess::new();
    let all = processes(&engine, 4).await;
    for sick in &all[..3] {
        sick.trip("a.example");
    }
    idle(20).await;
    let older = engine.replica();
    for _ in 0..2_000 {
        for process in &all {
            process.call("a.example", true);
        }
        idle(10).await;
    }
    assert_eq!(all[0].status().breakers, 0, "{:?}", all[0].status());
    engine.fail_over(older);
    for _ in 0..1_000 {
        for process in &all {
            assert!(process.call("a.example", true));
        }
        idle(10).await;
    }
    assert!(all.iter().all(|process| process.status().is_connected));
    // And the next outage is shared.
    for sick in &all[..3] {
        sick.trip("a.example");
    }
    idle(20).await;
    assert_eq!(count(&all, "a.example", State::Open), 4);
}
