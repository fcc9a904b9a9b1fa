// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server is stopped, killed or flushed in the middle of an outage.

use std::time::{Duration, Instant};

use crate::figures::figure;
use crate::process::{GRACE_MS, OPEN_MS, Process, connected, open_fleet, pause, trip, until};
use crate::proxy::Proxy;
use crate::server::Server;

/// All instances are closed again by the deadline and the grace, with some time for a busy machine.
pub(crate) async fn returns(all: &[Process], opened: Instant) -> Duration {
    let limit = Duration::from_millis(OPEN_MS + GRACE_MS + 500);
    let are_closed = || {
        let closed = all.iter().filter(|process| process.call(true));
        closed.count() == all.len()
    };
    until(are_closed, 10_000, "closed").await;
    let took = opened.elapsed();
    assert!(took <= limit, "{took:?}");
    took
}

fn told(what: &str, took: Duration) {
    figure(
        &format!("{what}: from the trip until all are closed"),
        format_args!("{} ms", took.as_millis()),
        "at most the open time, the grace and 500 ms: 3500 ms",
    );
}

#[tokio::test]
async fn one_probe_for_all_by_way_of_the_server() {
    let Some(server) = Server::start() else {
        return;
    };
    let all = open_fleet(&server).await;
    let mut probes = 0;
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(OPEN_MS + GRACE_MS) {
        probes += all.iter().filter(|process| process.call(false)).count();
        pause(5).await;
    }
    figure("probes per period", probes, "1");
    assert_eq!(probes, 1);
}

#[tokio::test]
async fn the_server_is_stopped_and_goes_on() {
    let Some(server) = Server::start() else {
        return;
    };
    let all = open_fleet(&server).await;
    let opened = Instant::now();
    server.signal("STOP");
    told("the server is stopped", returns(&all, opened).await);
    server.signal("CONT");
    connected(&all).await;
    trip(&all).await;
}

#[tokio::test]
async fn the_server_is_killed_and_started_again() {
    let Some(server) = Server::start() else {
        return;
    };
    let all = open_fleet(&server).await;
    let opened = Instant::now();
    let port = server.port;
    drop(server);
    told("the server is killed", returns(&all, opened).await);
    let _server = Server::start_at(port).expect("as before");
    connected(&all).await;
    trip(&all).await;
}

#[tokio::test]
async fn the_server_is_flushed() {
    let Some(server) = Server::start() else {
        return;
    };
    let all = open_fleet(&server).await;
    let opened = Instant::now();
    server.command(&["FLUSHALL"]);
    told("the server is flushed", returns(&all, opened).await);
    trip(&all).await;
}

#[tokio::test]
async fn every_connection_is_cut() {
    let Some(server) = Server::start() else {
        return;
    };
    let all = open_fleet(&server).await;
    let opened = Instant::now();
    server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    told("every connection is cut", returns(&all, opened).await);
}

#[tokio::test]
async fn every_connection_goes_silent() {
    let Some(server) = Server::start() else {
        return;
    };
    let proxy = Proxy::start(server.port);
    let all: Vec<Process> = (0..10).map(|_| Process::new(proxy.fleet())).collect();
    connected(&all).await;
    trip(&all).await;
    let opened = Instant::now();
    proxy.stall(true);
    told("every connection goes silent", returns(&all, opened).await);
    proxy.stall(false);
    connected(&all).await;
    trip(&all).await;
}
