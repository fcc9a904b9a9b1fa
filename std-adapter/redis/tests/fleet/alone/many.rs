//! Ten thousand breakers that are open.

use std::time::{Duration, Instant};

use atomic_breaker_redis::RedisFleet;
use atomic_breaker_std::fleet::{Fleet, FleetConfig, Joined, Messages, Name};
use futures_util::future::join_all;

use super::ms;
use crate::contract::{instance, pause, vote};
use crate::figures::{figure, is_alone};
use crate::process::until;
use crate::server::Server;

const MANY: usize = 10_000;

/// How long the server was at work for each of these commands, in the mean, since the last reset.
fn spent(server: &Server, command: &str) -> Duration {
    let stats = server.command(&["INFO", "commandstats"]);
    let key = format!("cmdstat_{command}:");
    let line = stats.lines().find(|line| line.starts_with(&key));
    let value = line.and_then(|line| line.split("usec_per_call=").nth(1)?.split(',').next());
    Duration::from_secs_f64(value.unwrap().parse::<f64>().unwrap() / 1e6)
}

async fn open_many(fleet: &RedisFleet) {
    for some in 0..MANY / 100 {
        let votes = (0..100).map(|one| {
            let name = Name::new(format!("host-{some}-{one}.example")).unwrap();
            async move { fleet.ask(instance(1), &name, vote(1)).await.unwrap() }
        });
        assert!(join_all(votes).await.iter().all(|answer| answer.done));
    }
}

#[tokio::test]
async fn fifty_that_join_at_once_are_soon_connected() {
    let Some(server) = Server::start() else {
        return;
    };
    open_many(&server.fleet()).await;
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
    open_many(&fleet).await;
    let all = fleet.read(instance(1), 5_000).await.unwrap();
    assert_eq!(all.messages.len(), MANY);
    pause(100).await;

    server.command(&["CONFIG", "RESETSTAT"]);
    for _ in 0..20 {
        let heard = fleet.read(instance(1), 5_000).await.unwrap();
        assert_eq!(heard.messages.len(), MANY);
    }
    let again = spent(&server, "evalsha");
    for _ in 0..5 {
        let fresh = server.fleet();
        let read = fresh.read(instance(1), 5_000).await.unwrap();
        assert_eq!(read.messages.len(), MANY);
    }
    let whole = spent(&server, "hgetall");
    let limit = Duration::from_millis(if is_alone() { 1 } else { 10 });
    figure(
        "10,000 open breakers: a reading by who has heard all, of the server's time",
        format_args!("{} µs", again.as_micros()),
        format_args!("at most {}", ms(limit)),
    );
    figure(
        "10,000 open breakers: a reading by who has just joined, of the server's time",
        ms(whole),
        "at most 100 ms",
    );
    assert!(again <= limit, "{again:?}");
    assert!(whole <= Duration::from_millis(100), "{whole:?}");
}
