// SPDX-License-Identifier: MIT OR Apache-2.0
//! One sick instance, clocks that differ, and the number of writes.

use std::time::{Duration, Instant};

use atomic_breaker_server::State;

use crate::figures::figure;
use crate::outages::returns;
use crate::process::{GRACE_MS, OPEN_MS, Process, connected, open_fleet, pause, trip};
use crate::server::Server;

#[tokio::test]
async fn one_sick_instance_opens_no_other() {
    let Some(server) = Server::start() else {
        return;
    };
    let all: Vec<Process> = (0..10).map(|_| Process::new(server.fleet())).collect();
    connected(&all).await;
    let (sick, others) = all.split_first().unwrap();
    let began = Instant::now();
    let (mut trips, mut was) = (0, State::Closed);
    while began.elapsed() < Duration::from_secs(7) {
        sick.call(false);
        let state = sick.breaker.state();
        trips += u32::from(state == State::Open && was != State::Open);
        was = state;
        let open = others.iter().filter(|other| !other.call(true)).count();
        assert_eq!(open, 0);
        pause(10).await;
    }
    assert!(trips >= 1);
    figure("one sick instance for 7 s: others that it opened", 0, "0");
}

#[tokio::test]
async fn clocks_an_hour_apart_change_nothing() {
    let Some(server) = Server::start() else {
        return;
    };
    let hour = 3_600_000;
    let all: Vec<Process> = (0..10)
        .map(|number| Process::ahead(server.fleet(), number * hour))
        .collect();
    connected(&all).await;
    trip(&all).await;
    let opened = Instant::now();
    let mut probes = 0;
    while opened.elapsed() < Duration::from_millis(OPEN_MS + GRACE_MS) {
        probes += all.iter().filter(|process| process.call(false)).count();
        pause(5).await;
    }
    assert_eq!(probes, 1);
    let took = returns(&all, Instant::now()).await;
    figure(
        "clocks an hour apart: probes per period, and the return",
        format_args!("{probes}, {} ms", took.as_millis()),
        "1, at most the open time, the grace and 500 ms: 3500 ms",
    );
}

/// Requests and records written in an outage of 5 s in which all instances call this often.
async fn written(every_ms: u64) -> Option<(u64, u64, u64)> {
    let server = Server::start()?;
    let all = open_fleet(&server).await;
    let began = Instant::now();
    let before = (server.done("evalsha"), server.done("publish"));
    let mut calls = 0;
    while began.elapsed() < Duration::from_secs(5) {
        for process in &all {
            calls += 1;
            process.call(false);
        }
        pause(every_ms).await;
    }
    let after = (server.done("evalsha"), server.done("publish"));
    Some((calls, after.0 - before.0, after.1 - before.1))
}

#[tokio::test]
async fn writes_do_not_depend_on_the_rate_of_calls() {
    let Some(few) = written(50).await else {
        return;
    };
    let many = written(4).await.unwrap();
    assert!(many.0 > few.0 * 5, "{few:?} {many:?}");
    figure(
        "5 s of outage, 10 instances: calls, requests, changes published",
        format_args!("{few:?} and {many:?}"),
        "requests and changes alike",
    );
    // Two periods end within it: once, any instance may bid in vain, and a lease may be renewed once more.
    assert!(many.1 <= few.1 + 20, "{few:?} {many:?}");
    assert!(many.2 <= few.2 + 4, "{few:?} {many:?}");
}
