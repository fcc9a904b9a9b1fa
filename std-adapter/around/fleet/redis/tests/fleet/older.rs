// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server goes back to older records in the middle of an outage, as after a restart from its snapshot, and another
//! program writes or publishes in its name.

use std::time::Instant;

use crate::figures::figure;
use crate::outages::returns;
use crate::process::{GRACE_MS, OPEN_MS, Process, connected, open_fleet, pause, trip};
use crate::server::Server;

const RECORDS: &str = "{test}:records";

/// Ten instances that have had an outage whose end the server remembers.
async fn recovered(server: &Server) -> Vec<Process> {
    let all = open_fleet(server).await;
    returns(&all, Instant::now()).await;
    pause(1_000).await;
    all
}

#[tokio::test]
async fn the_server_goes_back_to_the_end_of_an_earlier_outage() {
    let Some(server) = Server::start() else {
        return;
    };
    let all = recovered(&server).await;
    server.command(&["COPY", RECORDS, "{test}:kept"]);
    trip(&all).await;
    let opened = Instant::now();
    server.command(&["COPY", "{test}:kept", RECORDS, "REPLACE"]);
    let took = returns(&all, opened).await;
    figure(
        "the server goes back to an earlier outage: from the trip until all are closed",
        format_args!("{} ms", took.as_millis()),
        "at most the open time, the grace and 500 ms: 3500 ms",
    );
    trip(&all).await;
}

#[tokio::test]
async fn the_server_goes_back_to_a_period_that_has_ended() {
    let Some(server) = Server::start() else {
        return;
    };
    let all = open_fleet(&server).await;
    server.command(&["COPY", RECORDS, "{test}:kept"]);
    returns(&all, Instant::now()).await;
    pause(1_000).await;
    server.command(&["COPY", "{test}:kept", RECORDS, "REPLACE"]);
    let began = Instant::now();
    while began.elapsed().as_millis() < 2_000 {
        assert!(all.iter().all(|process| process.call(true)));
        pause(5).await;
    }
    trip(&all).await;
}

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// A period as the server would publish it, starting now, whose epoch is ahead of the server's clock.
fn forged(server: &Server, ahead_ms: u64) -> String {
    let time = server.command(&["TIME"]);
    let seconds: u64 = time.lines().next().unwrap().parse().unwrap();
    let now = seconds * 1_000 + 999;
    let (ends, expires) = (now + OPEN_MS, now + 600_000);
    let (epoch, mark) = (now + ahead_ms, "0000000000000abc");
    let record = format!("{epoch}:{mark}:1:{ends}:{OPEN_MS}:1:-:0:0:-:0:{expires}");
    format!("|7:{mark}|{now}|{record}|payments")
}

#[tokio::test]
async fn a_forged_period_keeps_no_caller_out_for_long_and_later_messages_count() {
    for ahead_ms in [1, 364 * DAY_MS] {
        let Some(server) = Server::start() else {
            return;
        };
        let all = recovered(&server).await;
        let message = forged(&server, ahead_ms);
        server.command(&["PUBLISH", "{test}:messages", &message]);
        let opened = Instant::now();
        pause(500).await;
        assert!(!all.iter().any(|process| process.call(true)));
        // Its time may have been a second ahead.
        let later = std::time::Duration::from_millis(GRACE_MS);
        returns(&all, opened + later).await;
        pause(1_000).await;
        connected(&all).await;
        trip(&all).await;
    }
}

#[tokio::test]
async fn a_record_with_an_epoch_that_leaves_no_room_is_passed_over() {
    let Some(server) = Server::start() else {
        return;
    };
    let all = recovered(&server).await;
    for ahead_ms in [367 * DAY_MS, 1 << 50, 1 << 52] {
        let message = forged(&server, ahead_ms);
        server.command(&["PUBLISH", "{test}:messages", &message]);
        pause(500).await;
        assert!(all.iter().all(|process| process.call(true)));
        let record = message.split('|').nth(3).unwrap();
        server.command(&["HSET", RECORDS, "payments", record]);
        trip(&all).await;
        returns(&all, Instant::now()).await;
        pause(1_000).await;
    }
}
