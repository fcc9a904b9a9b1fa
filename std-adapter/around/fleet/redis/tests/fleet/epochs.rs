// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flushes, expiry, and keys that another program has written.

use atomic_breaker_fleet::{Finding, Fleet, Period};
use atomic_breaker_fleet_redis::RedisFleet;

use crate::figures::figure;
use crate::process::pause;
use crate::server::Server;
use atomic_breaker_fleet::contract::{
    ask, bid, failed, instance, judge, name, next, open, opened, vote,
};

/// There are five periods, and the server forgets after each of them.
async fn epochs_rise(what: &str, forget: impl AsyncFn(&Server, &RedisFleet, Period)) {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    let mut last = 0;
    for _ in 0..5 {
        let period = open(&fleet).await;
        assert!(period.id.epoch > last);
        last = period.id.epoch;
        forget(&server, &fleet, period).await;
    }
    figure(&format!("5 {what}: epochs that fell or returned"), 0, "0");
}

#[tokio::test]
async fn after_a_flush_the_next_epoch_is_later_also_for_voters_that_know_nothing() {
    epochs_rise("flushes", async |server, fleet, period| {
        server.command(&["FLUSHALL"]);
        assert!(!bid(fleet, 1, period.id, 100).await.done);
        assert!(!judge(fleet, 1, period.id, Finding::Healthy).await.done);
    })
    .await;
}

#[tokio::test]
async fn after_expiry_the_next_epoch_is_later_also_for_voters_that_know_nothing() {
    epochs_rise("expiries", async |server, fleet, _| {
        server.command(&["PEXPIRE", "{test}:records", "1"]);
        pause(10).await;
        assert_eq!(fleet.read(instance(1), 5_000).await.unwrap().messages, []);
    })
    .await;
}

#[tokio::test]
async fn scripts_that_were_forgotten_are_loaded_again() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    open(&fleet).await;
    server.command(&["SCRIPT", "FLUSH"]);
    assert!(ask(&fleet, 2, vote(3)).await.done);
}

#[tokio::test]
async fn every_key_expires() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    ask(&fleet, 1, vote(3)).await;
    let other = atomic_breaker_fleet::Name::new("other").unwrap();
    fleet.ask(instance(1), &other, vote(1)).await.unwrap();
    fleet.read(instance(1), 5_000).await.unwrap();
    let keys = server.command(&["KEYS", "*"]);
    assert_eq!(keys.lines().count(), 4, "{keys}");
    for key in keys.lines() {
        let left: i64 = server.command(&["PTTL", key]).parse().unwrap();
        assert!((1..=700_000).contains(&left), "{key} {left}");
    }
}

#[tokio::test]
async fn foreign_records_and_messages_are_ignored() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    let mut messages = fleet.subscribe().await.unwrap();
    for nonsense in [
        "",
        "|",
        "||||",
        "|1:a|1|1:a:1:2:2:1:-:0:0:-:0:3|",
        "|1|1|1:a:1:2:2:1:-:0:0:-:0:3|payments",
        "x|1:a|1|1:a:1:2:2:1:-:0:0:-:0:3|payments",
        "|1:a|x|1:a:1:2:2:1:-:0:0:-:0:3|payments",
        "|1:a|1|9007199254740992:a:1:2:2:1:-:0:0:-:0:3|payments",
        "|1:a|1|1:a:1:2:2:1:-:0:0:-:0|payments",
        "|1:a|1|1:a:1:2:2:1:-:0:0:-:0:3:4|payments",
    ] {
        server.command(&["PUBLISH", "{test}:messages", nonsense]);
    }
    for nonsense in ["", "1:2:3", "a:b:c:d:e:f:g:h:i:j:k:l"] {
        server.command(&["HSET", "{test}:records", "payments", nonsense]);
        assert_eq!(fleet.read(instance(1), 5_000).await.unwrap().messages, []);
    }
    server.command(&["HSET", "{test}:votes:payments", "nobody", "nonsense"]);
    assert_eq!(ask(&fleet, 1, vote(2)).await.votes, 1);
    let period = opened(ask(&fleet, 2, vote(2)).await);
    let message = next(&mut messages).await;
    assert_eq!((message.name, message.notice.id()), (name(), period.id));
}

#[tokio::test]
async fn a_key_of_another_kind_is_an_error() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    server.command(&["SET", "{test}:records", "text"]);
    let error = fleet.ask(instance(1), &name(), vote(1)).await.unwrap_err();
    assert!(error.to_string().contains("WRONGTYPE"), "{error}");
}

#[tokio::test]
async fn no_command_is_needed_that_redis_6_0_lacks() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    let mut messages = fleet.subscribe().await.unwrap();
    let first = open(&fleet).await;
    assert!(bid(&fleet, 1, first.id, 100).await.done);
    let second = opened(judge(&fleet, 1, first.id, failed(1_000)).await);
    assert!(judge(&fleet, 1, second.id, Finding::Healthy).await.done);
    next(&mut messages).await;
    assert_ne!(
        server
            .fleet()
            .read(instance(1), 5_000)
            .await
            .unwrap()
            .messages,
        []
    );
    let done = server.command(&["INFO", "commandstats"]);
    let commands: Vec<_> = done
        .lines()
        .filter_map(|line| line.strip_prefix("cmdstat_")?.split(':').next())
        .collect();
    assert!(commands.len() > 15, "{commands:?}");
    for command in commands {
        // Tried without: there is another way.
        if command == "hrandfield" {
            continue;
        }
        let docs = server.command(&["COMMAND", "DOCS", command]);
        let mut lines = docs.lines().skip_while(|line| *line != "since");
        let since = lines.nth(1).unwrap_or_else(|| panic!("{command}: {docs}"));
        let major = since
            .split('.')
            .next()
            .and_then(|it| it.parse::<u32>().ok());
        let is_old = major.is_some_and(|major| major < 6) || since.starts_with("6.0.");
        assert!(is_old, "{command} is there since {since}");
    }
}
