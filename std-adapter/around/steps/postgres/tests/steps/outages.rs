// SPDX-License-Identifier: MIT OR Apache-2.0
//! A server that is restarted, hangs, or is not there.

use std::time::{Duration, Instant};

use atomic_breaker_steps::{Change, Store};
use atomic_breaker_steps_postgres::PostgresStore;
use tokio::time::timeout;

use crate::server::Server;
use test_support::stores::{LEASE, claim, claim_one, job, put, save};

#[tokio::test]
async fn after_a_restart_one_call_fails_and_the_next_ones_do_not() {
    let Some(mut server) = Server::start().await else {
        return;
    };
    let store = server.store().await;
    let id = put(&store, "k").await;
    let right = claim_one(&store).await.right;
    // A kept job is on disk, with everything before it.
    put(&store, "l").await;
    server.stop();
    let error = store.job(id).await.unwrap_err();
    assert!(!error.to_string().is_empty());
    server.restart_stopped().await;
    assert!(store.job(id).await.unwrap().is_some());
    let done = Change::done("1".to_owned());
    assert!(save(&store, right, done).await.is_held);
}

#[tokio::test]
async fn a_claim_lost_in_a_crash_saves_nothing_nor_returns_its_fence() {
    let Some(mut server) = Server::start().await else {
        return;
    };
    let store = server.store().await;
    for key in 0..5 {
        put(&store, &key.to_string()).await;
        let first = claim_one(&store).await.right;
        server.restart().await;
        // Queried through another connection, which was not cut off.
        let other = server.store().await;
        let second = claim(&other, 1, LEASE).await.pop();
        let done = Change::done("1".to_owned());
        let is_held = save(&other, first, done).await.is_held;
        assert_eq!(is_held, second.is_none(), "one of them has the right");
        if let Some(second) = second {
            assert_eq!(second.right.id, first.id);
            assert_ne!(second.right.fence, first.fence);
            let done = Change::done("2".to_owned());
            assert!(save(&other, second.right, done).await.is_held);
        }
    }
}

#[tokio::test]
async fn all_connections_that_were_cut_off_together_are_replaced() {
    let Some(mut server) = Server::start().await else {
        return;
    };
    let store = server.store().await;
    let jobs: Vec<_> = (0..8).map(|key| job(&key.to_string())).collect();
    futures_util::future::join_all(jobs.iter().map(|job| store.put(job, None))).await;
    server.restart().await;
    // Time for the news that they are closed.
    tokio::time::sleep(Duration::from_millis(100)).await;
    for _ in 0..8 {
        claim_one(&store).await;
    }
}

#[tokio::test]
async fn a_server_that_hangs_holds_no_call_longer_than_the_limit() {
    let Some(server) = Server::start().await else {
        return;
    };
    let builder = PostgresStore::builder(server.config());
    let store = builder
        .connections(1)
        // Creating the tables takes a large part of a second on a disk that others write to as well.
        .time_limit(Duration::from_secs(2))
        .connect()
        .await;
    let store = store.unwrap();
    // This includes the process of the connection.
    let processes = "SELECT pid FROM pg_stat_activity WHERE application_name = 'atomic-breaker'";
    let process: i32 = server
        .client()
        .await
        .query_one(processes, &[])
        .await
        .unwrap()
        .get(0);
    let signal = |signal: &str| {
        server.signal(signal);
        let sent = std::process::Command::new("kill")
            .args([signal_of(signal), process.to_string()])
            .status();
        assert!(sent.unwrap().success());
    };
    signal("STOP");
    for _ in 0..3 {
        let began = Instant::now();
        let error = store.claim("a", 1, LEASE).await.unwrap_err();
        assert!(error.to_string().contains("2s"), "{error}");
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{:?}",
            began.elapsed()
        );
    }
    signal("CONT");
    put(&store, "k").await;
    claim_one(&store).await;
}

fn signal_of(name: &str) -> String {
    format!("-{name}")
}

#[tokio::test]
async fn an_abandoned_call_leaves_no_connection_in_an_unknown_state() {
    let Some(server) = Server::start().await else {
        return;
    };
    let builder = PostgresStore::builder(server.config());
    let store = builder.connections(1).connect().await.unwrap();
    let mut client = server.client().await;
    let transaction = client.transaction().await.unwrap();
    store.put_in(&transaction, &job("k")).await.unwrap();
    // Waits for the transaction, because it is to be one job.
    let same = job("k");
    let waits = store.put(&same, None);
    assert!(timeout(Duration::from_millis(100), waits).await.is_err());
    put(&store, "other").await;
    transaction.commit().await.unwrap();
    let seen = [
        claim_one(&store).await.job.key,
        claim_one(&store).await.job.key,
    ];
    assert!(seen.contains(&"k".to_owned()), "{seen:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_soon() {
    let began = Instant::now();
    // No process listens on this port, as it is reserved.
    let error = PostgresStore::connect("host=127.0.0.1 port=1 user=test")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(5));
}
