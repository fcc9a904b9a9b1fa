// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ten thousand breakers that are open.

use std::time::{Duration, Instant};

use atomic_breaker_fleet::{Fleet, FleetConfig, Joined, Message, Messages, Name};
use atomic_breaker_fleet_redis::RedisFleet;
use futures_util::future::join_all;

use super::ms;
use crate::figures::{figure, is_alone};
use crate::process::pause;
use crate::process::until;
use crate::server::Server;
use atomic_breaker_fleet::contract::{instance, vote};

const MANY: usize = 10_000;

/// The mean time that the server spent on each of these commands since the last reset.
fn spent(server: &Server, command: &str) -> Duration {
    let stats = server.command(&["INFO", "commandstats"]);
    let key = format!("cmdstat_{command}:");
    let line = stats.lines().find(|line| line.starts_with(&key));
    let value = line.and_then(|line| line.split("usec_per_call=").nth(1)?.split(',').next());
    Duration::from_secs_f64(value.unwrap().parse::<f64>().unwrap() / 1e6)
}

/// Opens this many breakers.
async fn open_many(fleet: &RedisFleet, many: usize) {
    for some in 0..many / 100 {
        let votes = (0..100).map(|one| {
            let name = Name::new(format!("host-{some}-{one}.example")).unwrap();
            // On a busy machine one vote may be late: it is repeated.
            async move { while fleet.ask(instance(1), &name, vote(1)).await.is_err() {} }
        });
        join_all(votes).await;
    }
}

/// Reads everything, in as many parts as it takes.
async fn read_all(fleet: &RedisFleet) -> (Vec<Message>, u32) {
    for parts in 1.. {
        let reading = fleet.read(instance(1), 5_000).await.unwrap();
        if !reading.more {
            return (reading.messages, parts);
        }
    }
    unreachable!("it ends");
}

#[tokio::test]
async fn fifty_instances_that_join_at_once_are_soon_connected() {
    let Some(server) = Server::start() else {
        return;
    };
    open_many(&server.fleet(), MANY).await;
    let began = Instant::now();
    let all: Vec<Joined> = (0..50)
        .map(|_| Joined::new(server.fleet(), FleetConfig::new(3)).unwrap())
        .collect();
    let are_connected = || all.iter().all(|joined| joined.status().is_connected);
    until(are_connected, 60_000, "connected").await;
    figure(
        "10,000 open breakers: 50 instances join at once and are connected",
        ms(began.elapsed()),
        "at most 60 s",
    );
}

#[tokio::test]
async fn a_reading_costs_the_server_little_however_many_are_open() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    let mut messages = fleet.subscribe().await.unwrap();
    tokio::spawn(async move { while messages.next().await.is_ok() {} });
    open_many(&fleet, MANY).await;
    assert_eq!(read_all(&fleet).await.0.len(), MANY);
    pause(100).await;

    server.command(&["CONFIG", "RESETSTAT"]);
    for _ in 0..20 {
        let heard = fleet.read(instance(1), 5_000).await.unwrap();
        assert_eq!(heard.messages.len(), MANY);
    }
    let again = spent(&server, "evalsha");
    for _ in 0..5 {
        let fresh = server.fleet();
        assert_eq!(read_all(&fresh).await.0.len(), MANY);
    }
    let part = spent(&server, "hscan");
    let limit = Duration::from_millis(if is_alone() { 1 } else { 10 });
    figure(
        "10,000 open breakers: server time of a reading by an instance that has heard everything",
        format_args!("{} µs", again.as_micros()),
        format_args!("at most {}", ms(limit)),
    );
    figure(
        "10,000 open breakers: server time of each part of a reading by one that has just joined",
        ms(part),
        "at most 50 ms",
    );
    assert!(again <= limit, "{again:?}");
    assert!(part <= Duration::from_millis(50), "{part:?}");
}

/// Records are read in parts, each within the limit for a response, while they change.
#[tokio::test]
async fn sixty_thousand_records_are_read_within_the_limit_of_each_answer() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    open_many(&fleet, 60_000).await;
    let joined = Joined::new(server.fleet(), FleetConfig::new(3)).unwrap();
    let began = Instant::now();
    until(|| joined.status().is_connected, 60_000, "connected").await;
    figure(
        "60,000 open breakers: an instance joins and is connected",
        ms(began.elapsed()),
        "at most 60 s",
    );
    if is_alone() {
        let status = joined.status();
        assert_eq!(status.unanswered, 0, "{:?}", status.last_error);
    }

    let reader = server.fleet();
    let mut messages = reader.subscribe().await.unwrap();
    let other = fleet.clone();
    tokio::spawn(async move { while messages.next().await.is_ok() {} });
    let changes = tokio::spawn(async move {
        for one in 0..200 {
            let name = Name::new(format!("late-{one}.example")).unwrap();
            other.ask(instance(1), &name, vote(1)).await.unwrap();
        }
    });
    let (first, parts) = read_all(&reader).await;
    changes.await.unwrap();
    pause(100).await;
    let (all, _) = read_all(&reader).await;
    assert!(parts > 10 && first.len() >= 60_000, "{parts}");
    assert_eq!(all.len(), 60_200);
}

/// Below a large quorum each vote costs as much as the previous one.
#[tokio::test]
async fn four_thousand_votes_below_the_quorum_cost_the_server_little() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    let name = Name::new("payments").unwrap();
    fleet.ask(instance(0), &name, vote(5_000)).await.unwrap();
    server.command(&["CONFIG", "RESETSTAT"]);
    for some in 0..40 {
        let votes = (1..=100).map(|one| fleet.ask(instance(100 * some + one), &name, vote(5_000)));
        let answers = join_all(votes).await;
        assert!(answers.iter().all(Result::is_ok));
    }
    let all = spent(&server, "evalsha") * 4_000;
    let limit = Duration::from_millis(if is_alone() { 500 } else { 5_000 });
    figure(
        "4,000 votes below the quorum: of the server's time",
        ms(all),
        format_args!("at most {}", ms(limit)),
    );
    assert!(all <= limit, "{all:?}");
    let last = fleet
        .ask(instance(4_001), &name, vote(4_002))
        .await
        .unwrap();
    assert!(last.done);
}
