// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thousand votes and subscribers at once.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use atomic_breaker_fleet::{Ask, Fleet, Messages, Name, PeriodId};
use atomic_breaker_fleet_redis::RedisFleet;
use futures_util::future::join_all;

use super::{best, ms};
use crate::figures::{figure, is_alone};
use crate::process::pause;
use crate::server::Server;
use atomic_breaker_fleet::contract::{instance, open, opened, vote};

#[tokio::test]
async fn a_thousand_votes_by_as_many_connections_open_exactly_once() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleets: Vec<RedisFleet> = (0..1_000).map(|_| server.fleet()).collect();
    let nothing = Ask::Bid {
        id: PeriodId { epoch: 1, mark: 1 },
        lease_ms: 1,
    };
    let name = Name::new("payments").unwrap();
    // Each instance that has sent a command has a connection.
    let asked = fleets
        .iter()
        .map(|fleet| fleet.ask(instance(0), &name, nothing));
    assert!(join_all(asked).await.iter().all(Result::is_ok));
    let connections = server.command(&["CLIENT", "LIST", "TYPE", "normal"]);
    assert!(connections.lines().count() >= 1_000);

    let mut messages = server.fleet().subscribe().await.unwrap();
    let began = Instant::now();
    let votes = (1..).zip(&fleets).map(|(voter, fleet)| {
        let name = &name;
        async move { fleet.ask(instance(voter), name, vote(3)).await.unwrap() }
    });
    let answers = join_all(votes).await;
    let took = began.elapsed();
    let periods: HashSet<PeriodId> = answers
        .iter()
        .filter(|answer| answer.done)
        .map(|answer| opened(*answer).id)
        .collect();
    let before = answers.iter().filter(|answer| !answer.done).count();
    assert_eq!((periods.len(), before), (1, 2));
    let first = messages.next().await.unwrap();
    assert!(periods.contains(&first.notice.id()));
    let more = tokio::time::timeout(Duration::from_millis(200), messages.next()).await;
    assert!(more.is_err(), "{more:?}");
    figure(
        "1,000 votes at once by 1,000 connections: openers",
        format_args!("{} in {}", periods.len(), ms(took)),
        "1",
    );
}

#[tokio::test]
async fn a_trip_reaches_a_thousand_subscribers() {
    let Some(server) = Server::start() else {
        return;
    };
    let limit = Duration::from_millis(if is_alone() { 100 } else { 1_000 });
    let last = best(async || {
        server.command(&["FLUSHALL"]);
        let fleet = server.fleet();
        let subscribers = join_all((0..1_000).map(|_| fleet.subscribe())).await;
        let listening: Vec<_> = subscribers
            .into_iter()
            .map(|subscriber| {
                let mut messages = subscriber.unwrap();
                tokio::spawn(async move {
                    messages.next().await.unwrap();
                    Instant::now()
                })
            })
            .collect();
        pause(200).await;
        let began = Instant::now();
        open(&fleet).await;
        let mut last = Duration::ZERO;
        for listens in listening {
            last = last.max(listens.await.unwrap() - began);
        }
        last
    })
    .await;
    figure(
        "from the trip to the last of 1,000 subscribers",
        ms(last),
        format_args!("at most {}", ms(limit)),
    );
    assert!(last <= limit, "{last:?}");
}
