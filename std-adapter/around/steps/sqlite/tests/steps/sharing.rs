// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several stores on one file; the application's own transactions.

use std::time::Duration;

use atomic_breaker_steps::{Change, Claimed, Put, Save, Status, Store};
use atomic_breaker_steps_sqlite::{
    SqliteStore,
    rusqlite::{Connection, Transaction, TransactionBehavior},
};
use futures_util::future::join_all;

use crate::connection;
use crate::folder::Folder;
use test_support::stores::{LEASE, claim, claim_one, job, progress, put, releases};

fn begin(connection: &mut Connection) -> Transaction<'_> {
    let behavior = TransactionBehavior::Immediate;
    connection.transaction_with_behavior(behavior).unwrap()
}

#[tokio::test]
async fn how_far_a_job_has_come_is_seen_from_another_process() {
    let folder = Folder::new();
    progress::is_seen_from_another_process(folder.store(), folder.store()).await;
}

#[tokio::test]
async fn workers_of_the_older_release_lose_nothing_that_newer_ones_saved() {
    let folder = Folder::new();
    releases::the_older_loses_nothing(&folder.store(), Duration::from_millis(20)).await;
}

#[tokio::test]
async fn a_job_is_kept_if_the_application_commits() {
    let folder = Folder::new();
    let store = folder.store();
    let mut own = connection(&folder);
    for is_committed in [false, true] {
        let transaction = begin(&mut own);
        let Put::New(id, None) = SqliteStore::put_in(&transaction, &job("k")).unwrap() else {
            panic!("it was rolled back");
        };
        assert!(store.job(id).await.unwrap().is_none());
        if is_committed {
            transaction.commit().unwrap();
        } else {
            transaction.rollback().unwrap();
        }
        assert_eq!(store.job(id).await.unwrap().is_some(), is_committed);
    }
    let transaction = begin(&mut own);
    let again = SqliteStore::put_in(&transaction, &job("k")).unwrap();
    assert!(matches!(again, Put::Exists(_)));
    drop(transaction);
    assert_eq!(claim_one(&store).await.job.key, "k");
}

#[test]
fn a_transaction_on_a_file_without_a_store_says_so() {
    let folder = Folder::new();
    let mut own = connection(&folder);
    let transaction = begin(&mut own);
    let error = SqliteStore::put_in(&transaction, &job("k")).unwrap_err();
    assert!(error.to_string().contains("open a store"), "{error}");
}

#[tokio::test]
async fn a_caller_that_waits_too_long_gets_an_error_and_can_go_on() {
    let folder = Folder::new();
    let store = folder.store();
    let mut own = connection(&folder);
    let transaction = begin(&mut own);
    transaction.execute_batch("CREATE TABLE t (a)").unwrap();
    let error = store.put(&job("k"), None).await.unwrap_err();
    assert!(error.to_string().contains("another connection"), "{error}");
    drop(transaction);
    put(&store, "k").await;
}

#[tokio::test]
async fn requests_of_callers_that_have_gone_are_not_executed() {
    let folder = Folder::new();
    let store = folder.store();
    let mut own = connection(&folder);
    let transaction = begin(&mut own);
    // The first is under way, and the second waits behind it.
    let (first, second) = (job("first"), job("second"));
    let mut under_way = Box::pin(store.put(&first, None));
    assert!(
        tokio::time::timeout(Duration::from_millis(100), &mut under_way)
            .await
            .is_err()
    );
    let waits = store.put(&second, None);
    assert!(
        tokio::time::timeout(Duration::from_millis(10), waits)
            .await
            .is_err()
    );
    transaction.commit().unwrap();
    assert!(matches!(under_way.await, Ok(Put::New(..))));
    put(&store, "third").await;
    let keys: Vec<_> = claim(&store, 9, LEASE).await;
    assert_eq!(test_support::stores::keys(&keys), ["first", "third"]);
}

#[tokio::test]
async fn a_failing_call_does_not_affect_others_in_its_batch() {
    let folder = Folder::new();
    let store = folder.store();
    let impossible = job("never").delay(Duration::MAX);
    let (before, after) = (job("before"), job("after"));
    let puts = join_all([&before, &impossible, &after].map(|job| store.put(job, None))).await;
    let kept: Vec<_> = puts.iter().map(Result::is_ok).collect();
    assert_eq!(kept, [true, false, true]);
    let error = puts[1].as_ref().unwrap_err().to_string();
    assert!(error.contains("100,000 years"), "{error}");
    // Each save of a batch is part of one call.
    let refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON atomic_breaker_job WHEN new.key = 'after'
                  BEGIN SELECT RAISE(ABORT, 'not this one'); END";
    let claimed = claim(&store, 9, LEASE).await;
    connection(&folder).execute_batch(refuse).unwrap();
    let save = |claimed: &Claimed| Save {
        right: claimed.right,
        change: Change::back(Duration::ZERO),
    };
    let saves: Vec<_> = claimed.iter().map(save).collect();
    let error = store.save(&saves).await.unwrap_err();
    assert!(error.to_string().contains("not this one"), "{error}");
    let job = store.job(claimed[0].right.id).await.unwrap().unwrap();
    assert_eq!(job.status, Status::Running, "entirely or not at all");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn hundreds_of_claimers_of_several_stores_get_each_job_once() {
    let folder = Folder::new();
    let stores: Vec<_> = (0..4).map(|_| folder.store()).collect();
    atomic_breaker_steps::contract::claimed_once(&stores).await;
}

#[test]
fn many_can_open_a_new_file_at_once() {
    for _ in 0..10 {
        let folder = Folder::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| folder.store());
            }
        });
    }
}
