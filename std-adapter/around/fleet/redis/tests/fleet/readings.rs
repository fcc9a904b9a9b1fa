// SPDX-License-Identifier: MIT OR Apache-2.0
//! An instance that has heard every change reads none of the records again; one that has missed a change reads what a newcomer would.

use std::ops::Range;

use atomic_breaker_fleet::{
    Ask, Finding, Fleet, FleetError, Message, Messages, Name, Notice, PeriodId,
};
use atomic_breaker_fleet_redis::RedisFleet;
use tokio::task::JoinHandle;

use crate::process::pause;
use crate::server::Server;
use atomic_breaker_fleet::contract::{instance, vote};

/// Listens in a task, as a fleet does.
async fn listening(fleet: &RedisFleet) -> JoinHandle<FleetError> {
    let mut messages = fleet.subscribe().await.unwrap();
    tokio::spawn(async move {
        loop {
            if let Err(error) = messages.next().await {
                return error;
            }
        }
    })
}

/// An instance that listens, and another one.
async fn start() -> Option<(Server, RedisFleet, JoinHandle<FleetError>, RedisFleet)> {
    let server = Server::start()?;
    let (fleet, other) = (server.fleet(), server.fleet());
    let listens = listening(&fleet).await;
    Some((server, fleet, listens, other))
}

/// Names, periods, and how long they are; remaining times move.
fn parts(mut messages: Vec<Message>) -> Vec<(Name, PeriodId, u32, bool)> {
    messages.sort_by(|one, other| one.name.cmp(&other.name));
    let parts = messages.into_iter().map(|message| match message.notice {
        Notice::Open(period) => (
            message.name,
            period.id,
            period.open_ms,
            period.leased_ms > 0,
        ),
        Notice::Closed(id) => (message.name, id, 0, false),
    });
    parts.collect()
}

async fn read(fleet: &RedisFleet) -> Vec<(Name, PeriodId, u32, bool)> {
    parts(fleet.read(instance(9), 60_000).await.unwrap().messages)
}

/// Something happens to one of twenty breakers, reported through another engine.
async fn change(fleet: &RedisFleet, step: u32) {
    let name = Name::new((step % 20).to_string()).unwrap();
    let answer = fleet.ask(instance(1), &name, vote(1)).await.unwrap();
    let Some(Notice::Open(period)) = answer.notice else {
        panic!("{answer:?}");
    };
    let id = period.id;
    let ask = match step % 3 {
        0 => return,
        1 => Ask::Bid {
            id,
            lease_ms: 60_000,
        },
        _ => Ask::Finding {
            id,
            finding: Finding::Healthy,
        },
    };
    assert!(fleet.ask(instance(1), &name, ask).await.unwrap().done);
}

async fn changes(fleet: &RedisFleet, steps: Range<u32>) {
    for step in steps {
        change(fleet, step).await;
    }
}

#[tokio::test]
async fn an_instance_that_heard_every_change_reads_no_records() {
    let Some((server, fleet, _listens, other)) = start().await else {
        return;
    };
    change(&other, 0).await;
    read(&fleet).await;
    for step in 1..100 {
        change(&other, step).await;
        let before = server.done("hscan");
        let heard = read(&fleet).await;
        assert_eq!(server.done("hscan"), before, "step {step}");
        assert_eq!(heard, read(&server.fleet()).await, "step {step}");
    }
}

#[tokio::test]
async fn an_instance_that_missed_a_change_reads_what_a_newcomer_reads() {
    let Some((server, fleet, mut listens, other)) = start().await else {
        return;
    };
    for step in 0..120 {
        change(&other, step).await;
        match step % 12 {
            3 => {
                server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
                (&mut listens).await.unwrap();
            }
            5 => listens = listening(&fleet).await,
            7 => drop(server.command(&["FLUSHALL"])),
            _ => {}
        }
        if step % 5 != 0 {
            let read_now = read(&fleet).await;
            assert_eq!(read_now, read(&server.fleet()).await, "step {step}");
        }
    }
}

#[tokio::test]
async fn a_server_that_took_over_with_older_records_counts() {
    let Some((server, fleet, _listens, other)) = start().await else {
        return;
    };
    changes(&other, 0..10).await;
    server.command(&["COPY", "{test}:records", "{test}:kept"]);
    changes(&other, 10..15).await;
    read(&fleet).await;
    // As many changes as were lost, and others: the last one has the same number.
    server.command(&["COPY", "{test}:kept", "{test}:records", "REPLACE"]);
    while number(&server, "{test}:records") < number(&server, "{test}:kept") + 8 {
        change(&other, 15).await;
        change(&other, 17).await;
        pause(20).await;
        assert_eq!(read(&fleet).await, read(&server.fleet()).await);
    }
}

#[tokio::test]
async fn records_lost_in_a_takeover_are_forgotten() {
    let Some((server, fleet, _listens, other)) = start().await else {
        return;
    };
    changes(&other, 0..10).await;
    read(&fleet).await;
    server.command(&["COPY", "{test}:records", "{test}:kept"]);
    change(&other, 12).await;
    assert_eq!(read(&fleet).await, read(&server.fleet()).await);
    // There was no change since: everything was heard once.
    server.command(&["COPY", "{test}:kept", "{test}:records", "REPLACE"]);
    assert_eq!(read(&fleet).await, read(&server.fleet()).await);
    // They are not read again each time.
    let before = server.done("hscan");
    read(&fleet).await;
    assert_eq!(server.done("hscan"), before);
}

fn number(server: &Server, key: &str) -> u32 {
    let change = server.command(&["HGET", key, ""]);
    change.split(':').next().unwrap().parse().unwrap()
}

/// The number of fifty old records that are left after many changes of twenty others.
async fn old_records(arguments: &[&str]) -> Option<u32> {
    let server = Server::start_with(arguments)?;
    let fleet = server.fleet();
    change(&fleet, 0).await;
    for old in 0..50 {
        let old = format!("old{old}");
        let record = "1:000000000000000a:1:1:1:1:-:0:0:-:0:1";
        server.command(&["HSET", "{test}:records", &old, record]);
    }
    changes(&fleet, 0..200).await;
    let fields: u32 = server.command(&["HLEN", "{test}:records"]).parse().unwrap();
    Some(fields.saturating_sub(21))
}

#[tokio::test]
async fn records_that_have_expired_do_not_gather() {
    if let Some(left) = old_records(&[]).await {
        assert_eq!(left, 0);
    }
    // As in Redis 6.0.
    if let Some(left) = old_records(&["--rename-command", "HRANDFIELD", ""]).await {
        assert!(left <= 20, "{left} of 50 are left");
    }
}
