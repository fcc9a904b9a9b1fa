// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process that is killed during its probe.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use atomic_breaker_fleet_redis::RedisFleet;
use atomic_breaker_server::State;

use crate::figures::figure;
use crate::process::{GRACE_MS, Process, connected, pause, trip, until};
use crate::server::{Server, send};

const ADDRESS: &str = "ATOMIC_BREAKER_PROBER";
const PROBING: &str = "probing now";

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The task of the process that is started and killed.
async fn probe(address: &str) {
    let process = Process::new(RedisFleet::new(address, "test").unwrap());
    let is_open = || process.breaker.state() == State::Open;
    until(is_open, 20_000, "open").await;
    loop {
        if let Ok(_probe) = process.breaker.acquire() {
            println!("\n{PROBING}");
            pause(60_000).await;
        }
        pause(5).await;
    }
}

#[tokio::test]
async fn the_next_one_probes_within_the_grace() {
    if let Ok(address) = std::env::var(ADDRESS) {
        return probe(&address).await;
    }
    let Some(server) = Server::start() else {
        return;
    };
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "prober::the_next_one_probes_within_the_grace",
            "--nocapture",
        ])
        .env(ADDRESS, server.address())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Killed(child.unwrap());
    let all: Vec<Process> = (0..9).map(|_| Process::new(server.fleet())).collect();
    connected(&all).await;
    let all_live = || all[0].joined.status().living == 10;
    until(all_live, 20_000, "ten instances").await;
    trip(&all).await;

    // No other instance calls, so no other wants to probe.
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let probes = tokio::task::spawn_blocking(move || lines.any(|line| line.unwrap() == PROBING));
    let probes = tokio::time::timeout(Duration::from_secs(20), probes).await;
    assert!(probes.expect("a probe within 20 s").unwrap());
    let mut made = 0;
    for _ in 0..100 {
        made += all.iter().filter(|process| process.call(true)).count();
        pause(5).await;
    }
    assert_eq!(made, 0, "while it probes");

    send("KILL", child.0.id());
    let killed = Instant::now();
    let next = || all.iter().any(|process| process.call(true));
    until(next, 10_000, "the next probe").await;
    let took = killed.elapsed();
    figure(
        "a prober is killed: until the next one probes",
        format_args!("{} ms", took.as_millis()),
        format_args!("at most the grace: {GRACE_MS} ms"),
    );
    assert!(took <= Duration::from_millis(GRACE_MS), "{took:?}");
}
