// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several stores on one database; the application's own transactions.

use std::time::Duration;

use atomic_breaker_steps::{Change, Put, Save, Status, Store};
use atomic_breaker_steps_postgres::PostgresStore;
use futures_util::future::join_all;

use crate::server::Server;
use test_support::stores::{LEASE, claim, claim_one, job, progress, put, releases};

#[tokio::test]
async fn how_far_a_job_has_come_is_seen_from_another_process() {
    let Some(server) = Server::start().await else {
        return;
    };
    let (caller, worker) = (server.store().await, server.store().await);
    progress::is_seen_from_another_process(caller, worker).await;
}

#[tokio::test]
async fn workers_of_the_older_release_lose_nothing_that_newer_ones_saved() {
    let Some(server) = Server::start().await else {
        return;
    };
    releases::the_older_loses_nothing(&server.store().await, Duration::from_millis(20)).await;
}

#[tokio::test]
async fn a_job_is_kept_if_the_application_commits() {
    let Some(server) = Server::start().await else {
        return;
    };
    let store = server.store().await;
    let mut client = server.client().await;
    for is_committed in [false, true] {
        let transaction = client.transaction().await.unwrap();
        let Put::New(id, None) = store.put_in(&transaction, &job("k")).await.unwrap() else {
            panic!("it was rolled back");
        };
        assert!(store.job(id).await.unwrap().is_none());
        if is_committed {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
        }
        assert_eq!(store.job(id).await.unwrap().is_some(), is_committed);
    }
    let transaction = client.transaction().await.unwrap();
    let again = store.put_in(&transaction, &job("k")).await.unwrap();
    assert!(matches!(again, Put::Exists(_)));
    transaction.rollback().await.unwrap();
    assert_eq!(claim_one(&store).await.job.key, "k");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn hundreds_of_claimers_of_several_stores_get_each_job_once() {
    let Some(server) = Server::start().await else {
        return;
    };
    let stores = join_all((0..4).map(|_| server.store())).await;
    atomic_breaker_steps::contract::claimed_once(&stores).await;
}

#[tokio::test]
async fn jobs_held_by_another_transaction_do_not_delay_the_rest() {
    let Some(server) = Server::start().await else {
        return;
    };
    let store = server.store().await;
    let first = put(&store, "first").await;
    put(&store, "second").await;
    let mut client = server.client().await;
    let transaction = client.transaction().await.unwrap();
    let lock = "SELECT FROM atomic_breaker.job WHERE id = $1 FOR UPDATE";
    transaction.execute(lock, &[&first.get()]).await.unwrap();
    let claimed = store.claim("a", 9, LEASE).await.unwrap();
    assert_eq!(test_support::stores::keys(&claimed.jobs), ["second"]);
    // It is claimed again in a while, and not immediately for as long as it is held.
    assert!(claimed.next_due.unwrap() > LEASE / 2);
    transaction.rollback().await.unwrap();
    assert_eq!(claim_one(&store).await.right.id, first);
}

#[tokio::test]
async fn a_job_that_is_saved_twice_in_a_batch_is_saved_in_order() {
    let Some(server) = Server::start().await else {
        return;
    };
    let store = server.store().await;
    let id = put(&store, "k").await;
    put(&store, "l").await;
    let claimed = claim(&store, 2, LEASE).await;
    let rights = [
        claimed[0].right,
        claimed[1].right,
        claimed[0].right.after_step(),
        claimed[0].right,
    ];
    let next = Change::next("second", "b", "1".to_owned(), Some(LEASE));
    let done = |state: &str| Change::done(state.to_owned());
    let changes = [next, done("2"), done("3"), done("4")];
    let saves = rights.into_iter().zip(changes);
    let saves: Vec<_> = saves
        .map(|(right, change)| Save { right, change })
        .collect();
    let came = store.save(&saves).await.unwrap();
    let held: Vec<_> = came.iter().map(|saved| saved.is_held).collect();
    assert_eq!(held, [true, true, true, false]);
    let job = store.job(id).await.unwrap().unwrap();
    assert_eq!(
        (job.status, &*job.step, &*job.state),
        (Status::Done, "second", "3")
    );
}

#[tokio::test]
async fn a_time_that_cannot_be_kept_is_named_and_nothing_is_kept() {
    let Some(server) = Server::start().await else {
        return;
    };
    let store = server.store().await;
    let never = job("k").delay(Duration::MAX);
    let error = store.put(&never, None).await.unwrap_err();
    assert!(error.to_string().contains("100,000 years"), "{error}");
    put(&store, "k").await;
    assert_eq!(store.forget(Duration::MAX, 9).await.unwrap(), 0);
}

#[tokio::test]
async fn no_plan_reads_more_than_it_needs() {
    let Some(server) = Server::start().await else {
        return;
    };
    let store = server.store().await;
    // Never analysed: the planner has no statistics about them.
    let client = server.client().await;
    let many = "INSERT INTO atomic_breaker.job (kind, key, step, lane, state, status, due, first_due)
                SELECT 'kind', i::text, 'first', CASE WHEN i % 10 = 0 THEN 'a' ELSE 'open' END, '0', 'waiting', 0, 0
                FROM generate_series(1, 20000) AS i";
    client
        .execute(
            "ALTER TABLE atomic_breaker.job SET (autovacuum_enabled = false)",
            &[],
        )
        .await
        .unwrap();
    client.execute(many, &[]).await.unwrap();
    for _ in 0..20 {
        let due = store.next_due("a").await.unwrap();
        assert_eq!(due, Some(Duration::ZERO));
        assert_eq!(store.claim("a", 10, LEASE).await.unwrap().jobs.len(), 10);
    }
    let done = store.counts().await.unwrap();
    assert_eq!(done.of(Status::Running), 200);
    drop(store);
    // Reported when a connection ends.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let read = "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'job'";
    let read: i64 = client.query_one(read, &[]).await.unwrap().get(0);
    assert!(read <= 20_000, "{read} rows: the table once, by the count");
}

#[tokio::test]
async fn stores_in_schemas_of_their_own_share_nothing() {
    let Some(server) = Server::start().await else {
        return;
    };
    let one = server.store().await;
    let other = PostgresStore::builder(server.config())
        .schema("other")
        .connect()
        .await
        .unwrap();
    put(&one, "k").await;
    assert!(claim(&other, 9, LEASE).await.is_empty());
    put(&other, "k").await;
    assert_eq!(claim(&one, 9, LEASE).await.len(), 1);
}

#[tokio::test]
async fn a_save_that_fails_saves_nothing_of_its_batch() {
    let Some(server) = Server::start().await else {
        return;
    };
    let (store, client) = (server.store().await, server.client().await);
    for key in ["a", "b"] {
        put(&store, key).await;
    }
    let refuse = "ALTER TABLE atomic_breaker.job ADD CHECK (state <> '2')";
    client.batch_execute(refuse).await.unwrap();
    let claimed = claim(&store, 9, LEASE).await;
    let states = ["1", "2"].iter().zip(&claimed);
    let saves: Vec<_> = states
        .map(|(state, claimed)| Save {
            right: claimed.right,
            change: Change::done((*state).to_owned()),
        })
        .collect();
    store.save(&saves).await.unwrap_err();
    for claimed in claimed {
        let job = store.job(claimed.right.id).await.unwrap().unwrap();
        assert_eq!(job.status, Status::Running, "entirely or not at all");
    }
}
