// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server that does not respond, for any reason: the error is shown, with advice.

use std::time::Duration;

use atomic_breaker_fleet::{Finding, Fleet, FleetConfig, FleetStatus, Joined};
use atomic_breaker_fleet_redis::RedisFleet;
use futures_util::FutureExt;
use tokio::time::timeout;

use crate::proxy::Proxy;
use crate::server::Server;
use atomic_breaker_fleet::contract::{bid, instance, judge, open};

async fn reaches(fleet: RedisFleet, what: impl Fn(&FleetStatus) -> bool) -> FleetStatus {
    let joined = Joined::new(fleet, FleetConfig::new(3)).unwrap();
    let mut watch = joined.watch();
    let reached = timeout(Duration::from_secs(15), watch.wait_for(what)).await;
    let reached = reached.map(|status| status.unwrap().clone());
    reached.unwrap_or_else(|_| panic!("{:?}", joined.status()))
}

/// The error shown by a fleet that is not connected.
async fn error_of(fleet: RedisFleet) -> String {
    let status = reaches(fleet, |status| status.last_error.is_some()).await;
    assert!(!status.is_connected && status.unanswered > 0, "{status:?}");
    status.last_error.unwrap().to_string()
}

fn at(address: &str) -> RedisFleet {
    RedisFleet::new(address, "test").unwrap()
}

#[tokio::test]
async fn an_address_without_a_server() {
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = error_of(at(&format!("redis://127.0.0.1:{port}/"))).await;
    assert!(error.contains("refused"), "{error}");
}

#[test]
fn an_address_with_tls_needs_a_feature_of_the_client() {
    let error = RedisFleet::new("rediss://127.0.0.1/", "test").unwrap_err();
    assert!(error.to_string().contains("TLS"), "{error}");
}

#[tokio::test]
async fn a_password_that_is_missing_or_wrong_and_one_that_is_right() {
    let user = [
        "--user",
        "app",
        "on",
        ">word",
        "~{test}:*",
        "&{test}:*",
        "+@all",
    ];
    let password = ["--requirepass", "secret"];
    let Some(server) = Server::start_with(&[&user[..], &password].concat()) else {
        return;
    };
    let port = server.port;
    let missing = error_of(at(&format!("redis://127.0.0.1:{port}/"))).await;
    assert!(missing.contains("password into the address"), "{missing}");
    let wrong = error_of(at(&format!("redis://:wrong@127.0.0.1:{port}/"))).await;
    assert!(wrong.contains("the password in the address"), "{wrong}");
    assert!(!wrong.contains("wrong@"), "{wrong}");
    for right in [":secret", "app:word"] {
        let fleet = at(&format!("redis://{right}@127.0.0.1:{port}/"));
        reaches(fleet, |status| status.is_connected).await;
    }
}

#[tokio::test]
async fn a_user_without_enough_rights() {
    for allowed in [
        &["~other:*", "&*", "+@all"][..],
        &["~*", "&other:*", "+@all"],
        &["~*", "&*", "+@pubsub", "+ping"],
        &["~*", "&*", "+@pubsub", "+ping", "+@scripting"],
    ] {
        let Some(server) = with_user(allowed) else {
            return;
        };
        let error = error_of(of_user(&server)).await;
        assert!(error.contains("{prefix}:*"), "{error}");
    }
}

/// A server with a user who has no other rights.
fn with_user(allowed: &[&str]) -> Option<Server> {
    let user = ["--user", "app", "on", ">word"];
    Server::start_with(&[&user[..], allowed].concat())
}

fn of_user(server: &Server) -> RedisFleet {
    at(&format!("redis://app:word@127.0.0.1:{}/", server.port))
}

#[tokio::test]
async fn a_user_with_the_documented_rights() {
    let readme = include_str!("../../README.md");
    let mut lines = readme.lines();
    let rights = lines.find_map(|line| line.strip_prefix("| rights of the user |"));
    let rights = rights.unwrap().replace("{prefix}", "{test}");
    let words = rights.split(|char: char| " `,;|".contains(char));
    let rights: Vec<_> = words
        .filter(|word| word.starts_with(['~', '&', '+']))
        .collect();
    assert!(rights.len() > 5, "{rights:?}");
    let Some(server) = with_user(&rights) else {
        return;
    };
    let fleet = of_user(&server);
    reaches(fleet.clone(), |status| status.is_connected).await;
    for _ in 0..2 {
        let period = open(&fleet).await;
        assert!(bid(&fleet, 1, period.id, 100).await.done);
        assert!(judge(&fleet, 1, period.id, Finding::Healthy).await.done);
        fleet.read(instance(1), 5_000).await.unwrap();
    }
}

#[tokio::test]
async fn a_server_whose_memory_is_full() {
    let Some(server) = Server::start_with(&["--maxmemory", "1"]) else {
        return;
    };
    let error = error_of(server.fleet()).await;
    assert!(error.contains("more memory"), "{error}");
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    reaches(server.fleet(), |status| status.is_connected).await;
}

#[tokio::test]
async fn a_replica_that_only_reads() {
    let Some(primary) = Server::start() else {
        return;
    };
    let of = format!("127.0.0.1 {}", primary.port);
    let replica = Server::start_with(&["--replicaof", &of]).unwrap();
    let error = error_of(replica.fleet()).await;
    assert!(
        error.contains("address of the primary") || error.contains("when it is ready"),
        "{error}"
    );
}

#[tokio::test]
async fn the_wrong_node_of_a_cluster_and_the_right_one() {
    let Some(right) = Server::start_with(&["--cluster-enabled", "yes"]) else {
        return;
    };
    let wrong = Server::start_with(&["--cluster-enabled", "yes"]).unwrap();
    right.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    reaches(right.fleet(), |status| status.is_connected).await;
    open(&right.fleet()).await;
    wrong.command(&["CLUSTER", "MEET", "127.0.0.1", &right.port.to_string()]);
    let shows_where = |status: &FleetStatus| {
        let error = status.last_error.as_ref().map(ToString::to_string);
        error.is_some_and(|error| error.contains("the one that has the keys"))
    };
    let status = reaches(wrong.fleet(), shows_where).await;
    let error = status.last_error.unwrap().to_string();
    assert!(error.contains(&right.port.to_string()), "{error}");
}

#[tokio::test]
async fn an_address_with_the_newer_protocol() {
    let Some(server) = Server::start() else {
        return;
    };
    let address = format!("redis://127.0.0.1:{}/?protocol=resp3", server.port);
    reaches(at(&address), |status| status.is_connected).await;
}

/// The number of connections that the server has accepted so far.
fn connections(server: &Server) -> u64 {
    let stats = server.command(&["INFO", "stats"]);
    let mut lines = stats.lines();
    let found = lines.find_map(|line| line.strip_prefix("total_connections_received:"));
    found.unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn a_request_that_is_given_up_late_leaves_the_next_connection_alone() {
    let Some(server) = Server::start() else {
        return;
    };
    let fleet = server.fleet();
    open(&fleet).await;
    let before = connections(&server);
    // Two requests are under way on the first connection. One of them is dropped at once, and the other only when there
    // is a second connection.
    let mut early = Box::pin(fleet.read(instance(1), 5_000));
    let mut late = Box::pin(fleet.read(instance(1), 5_000));
    assert!(early.as_mut().now_or_never().is_none() && late.as_mut().now_or_never().is_none());
    drop(early);
    fleet.read(instance(1), 5_000).await.unwrap();
    drop(late);
    fleet.read(instance(1), 5_000).await.unwrap();
    // One connection, and the one that counts them.
    assert_eq!(connections(&server), before + 2);
}

#[tokio::test]
async fn responses_later_than_the_limit() {
    let Some(server) = Server::start() else {
        return;
    };
    let proxy = Proxy::start(server.port);
    proxy.delay(Duration::from_millis(150));
    let error = error_of(proxy.fleet()).await;
    assert!(error.contains("no answer within 250ms"), "{error}");
    proxy.delay(Duration::ZERO);
    reaches(proxy.fleet(), |status| status.is_connected).await;
}
