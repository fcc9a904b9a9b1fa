// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rejected calls of keys, their long probes, and how many of them are followed.

use atomic_breaker_fleet::{FleetConfig, InProcess};
use atomic_breaker_server::{AnyPermit, Guard, Outcome, State};

use super::{Process, count, idle, open_elsewhere, processes};

#[tokio::test(start_paused = true)]
async fn thousands_of_rejected_calls_at_once_are_one_event() {
    let engine = InProcess::new();
    let all = processes(&engine, 3).await;
    for sick in &all {
        sick.trip("a.example");
    }
    idle(10_010).await;
    // The task does not run meanwhile.
    for _ in 0..5_000 {
        assert!(!all[0].call("a.example", true));
    }
    idle(20).await;
    assert_eq!(all[0].status().overflows, 0);
}

#[tokio::test(start_paused = true)]
async fn the_first_rejected_call_of_each_key_leads_to_a_probe() {
    let engine = InProcess::new();
    let process = Process::new(&engine, 64);
    idle(20).await;
    let hosts: Vec<_> = (0..20).map(|host| host.to_string()).collect();
    for host in &hosts {
        open_elsewhere(&engine, format!("hosts/{host}").as_bytes()).await;
    }
    idle(10_005).await;
    for host in &hosts {
        assert!(!process.call(host, true));
    }
    // The longest pause before a bid is an eighth of a grace.
    idle(130).await;
    for host in &hosts {
        assert!(process.call(host, true), "{host}");
    }
    idle(20).await;
    assert_eq!(process.status().open, 0);
}

#[tokio::test(start_paused = true)]
async fn a_probe_of_a_key_under_way_keeps_the_others_out() {
    let engine = InProcess::new();
    let all = processes(&engine, 3).await;
    for sick in &all {
        sick.trip("a.example");
    }
    idle(10_010).await;
    assert!(!all[0].call("a.example", true));
    idle(130).await;
    let probe = all[0].hosts.of("a.example".to_owned()).acquire();
    let probe = probe.expect("it has the right to probe");
    // Six times as long as the right lasts without one.
    for _ in 0..300 {
        for other in &all[1..] {
            assert!(!other.call("a.example", true));
        }
        idle(10).await;
    }
    probe.report(Outcome::Success);
    idle(20).await;
    assert_eq!(count(&all, "a.example", State::Closed), 3);
}

/// Idle keys make room when there is no more, and not before.
#[tokio::test(start_paused = true)]
async fn a_full_process_forgets_its_idle_keys_when_another_needs_the_room() {
    let engine = InProcess::new();
    let process = Process::new(&engine, 64);
    idle(20).await;
    // Without readings, after which idle keys are forgotten.
    engine.cut();
    let recovers = async |hosts: std::ops::Range<u32>| {
        for host in hosts.clone() {
            process.trip(&host.to_string());
        }
        idle(45_000).await;
        for host in hosts {
            assert!(process.call(&host.to_string(), true), "{host}");
        }
        idle(20).await;
    };
    recovers(0..60).await;
    assert_eq!(process.status().breakers, 60);
    recovers(60..64).await;
    assert_eq!(process.status().breakers, 64);
    recovers(64..65).await;
    let status = process.status();
    assert_eq!((status.breakers, status.left_alone), (1, 0), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn more_requests_than_may_wait_are_lost_at_once_with_an_error_that_says_so() {
    let engine = InProcess::new();
    let process = Process::with(&engine, 32_768, FleetConfig::new(3));
    idle(20).await;
    engine.hang(true);
    for host in 0..16_500 {
        process.trip(&host.to_string());
        if host % 3_000 == 0 {
            // The queue has room for 4,096 reports.
            idle(1).await;
        }
    }
    idle(20).await;
    let status = process.status();
    assert_eq!(status.overflows, 0, "{status:?}");
    let error = status.last_error.expect("too many").to_string();
    assert!(error.contains("too many requests"), "{error}");
}
