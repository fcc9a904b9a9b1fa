// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server is killed in the middle of an outage, and a replica takes over.

use std::time::Instant;

use atomic_breaker_fleet::{Fleet, Message};

use crate::figures::figure;
use crate::outages::returns;
use crate::process::{Process, connected, trip, until};
use crate::proxy::Proxy;
use crate::server::Server;
use atomic_breaker_fleet::contract::instance;

fn epoch(messages: &[Message]) -> u64 {
    let epochs = messages.iter().map(|message| message.notice.id().epoch);
    epochs.max().unwrap_or(0)
}

async fn fail_over(knows_of_the_outage: bool) {
    let Some(primary) = Server::start() else {
        return;
    };
    let of = format!("127.0.0.1 {}", primary.port);
    let replica = Server::start_with(&["--replicaof", &of]).unwrap();
    let has = |line: &str| replica.command(&["INFO", "replication"]).contains(line);
    until(|| has("master_link_status:up"), 10_000, "a replica").await;
    if !knows_of_the_outage {
        replica.command(&["REPLICAOF", "NO", "ONE"]);
    }
    let proxy = Proxy::start(primary.port);
    let all: Vec<Process> = (0..10).map(|_| Process::new(proxy.fleet())).collect();
    connected(&all).await;
    trip(&all).await;
    let opened = Instant::now();
    let before = primary.fleet().read(instance(1), 1_000).await.unwrap();
    if knows_of_the_outage {
        assert_eq!(primary.command(&["WAIT", "1", "1000"]), "1");
    }

    drop(primary);
    replica.command(&["REPLICAOF", "NO", "ONE"]);
    proxy.turn_to(replica.port);
    let took = returns(&all, opened).await;
    connected(&all).await;
    trip(&all).await;
    let after = replica.fleet().read(instance(1), 1_000).await.unwrap();
    let (before, after) = (epoch(&before.messages), epoch(&after.messages));
    assert!(0 < before && before < after, "{before} {after}");
    let which = if knows_of_the_outage {
        ""
    } else {
        ", which knows nothing"
    };
    figure(
        &format!("a replica takes over{which}: from the trip until all are closed"),
        format_args!("{} ms", took.as_millis()),
        "at most the open time, the grace and 500 ms: 3500 ms",
    );
}

#[tokio::test]
async fn a_replica_that_knows_of_the_outage_takes_over() {
    fail_over(true).await;
}

#[tokio::test]
async fn a_replica_that_knows_nothing_of_the_outage_takes_over() {
    fail_over(false).await;
}
