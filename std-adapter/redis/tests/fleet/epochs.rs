//! Flushes, expiry, and keys that somebody else has written.

use atomic_breaker_std::fleet::{Fleet, Verdict};

use crate::contract::{ask, bid, instance, judge, name, next, open, opened, pause, vote};
use crate::figures::figure;
use crate::server::Server;

#[tokio::test]
async fn after_a_flush_the_next_epoch_is_later_also_for_voters_who_know_nothing() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    let mut last = 0;
    for _ in 0..5 {
        let period = open(&fleet).await;
        assert!(period.id.epoch > last);
        last = period.id.epoch;
        server.command(&["FLUSHALL"]);
        assert!(!bid(&fleet, 1, period.id, 100).await.done);
        assert!(!judge(&fleet, 1, period.id, Verdict::Healthy).await.done);
    }
    figure("5 flushes: epochs that fell or returned", 0, "0");
}

#[tokio::test]
async fn after_expiry_the_next_epoch_is_later_also_for_voters_who_know_nothing() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    let mut last = 0;
    for _ in 0..5 {
        let period = open(&fleet).await;
        assert!(period.id.epoch > last);
        last = period.id.epoch;
        server.command(&["PEXPIRE", "{test}:records", "1"]);
        pause(10).await;
        assert_eq!(fleet.read(instance(1), 5_000).await.unwrap().messages, []);
    }
    figure("5 expiries: epochs that fell or returned", 0, "0");
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
    let other = atomic_breaker_std::fleet::Name::new("other").unwrap();
    fleet.ask(instance(1), &other, vote(1)).await.unwrap();
    fleet.read(instance(1), 5_000).await.unwrap();
    let keys = server.command(&["KEYS", "*"]);
    assert_eq!(keys.lines().count(), 3, "{keys}");
    for key in keys.lines() {
        let left: i64 = server.command(&["PTTL", key]).parse().unwrap();
        assert!((1..=700_000).contains(&left), "{key} {left}");
    }
}

#[tokio::test]
async fn what_others_wrote_or_published_is_passed_over() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    let mut messages = fleet.subscribe().await.unwrap();
    for nonsense in [
        "",
        "|",
        "O 1 2|x",
        "C 99999999999999999999 a|x",
        "C 1 zz|x",
        "C 1 a",
    ] {
        server.command(&["PUBLISH", "{test}:messages", nonsense]);
    }
    for nonsense in ["", "1:2:3", "a:b:c:d:e:f:g:h:i:j"] {
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
