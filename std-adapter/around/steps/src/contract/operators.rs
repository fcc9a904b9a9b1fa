// SPDX-License-Identifier: MIT OR Apache-2.0
//! The effects of operators and of time.

use std::time::{Duration, Instant};

use crate::change::Change;
use crate::job::{JobId, Status};
use crate::store::{Filter, Store};

use super::{
    LEASE, NOW, SHORT, again, claim, claim_one, dead, done, end_one, found, job, keys, parked,
    pause, put, save,
};

async fn end(store: &impl Store, key: &str, change: Change) -> JobId {
    let id = put(store, key).await;
    end_one(store, change).await;
    id
}

pub(super) async fn parked_jobs_wait_again_for_workers_that_know_them(store: &impl Store) {
    end(store, "a", parked()).await;
    end(store, "dead", dead()).await;
    let unpark = async |kind: &str, steps: &[&str]| {
        let waiting = store.unpark(kind, steps, NOW, 9).await;
        waiting.unwrap()
    };
    assert_eq!(unpark("other", &["first"]).await, 0);
    assert_eq!(unpark("kind", &["second"]).await, 0);
    assert_eq!(unpark("kind", &[]).await, 0);
    assert!(claim(store, 9, LEASE).await.is_empty());
    assert_eq!(unpark("kind", &["zeroth", "first"]).await, 1);
    assert_eq!(keys(&claim(store, 9, LEASE).await), ["a"]);
}

pub(super) async fn only_so_many_parked_jobs_wait_again_and_not_too_soon(store: &impl Store) {
    for key in ["a", "b", "c"] {
        end(store, key, parked()).await;
    }
    let steps = ["first", "second"];
    for before in [LEASE, Duration::MAX] {
        assert_eq!(store.unpark("kind", &steps, before, 9).await.unwrap(), 0);
    }
    pause(SHORT).await;
    let soon = SHORT / 2;
    assert_eq!(store.unpark("kind", &steps, soon, 2).await.unwrap(), 2);
    assert_eq!(keys(&claim(store, 9, LEASE).await), ["a", "b"]);
    assert_eq!(store.unpark("kind", &steps, soon, 2).await.unwrap(), 1);
}

pub(super) async fn parked_again_for_the_same_reason_a_job_has_one_line(store: &impl Store) {
    let id = put(store, "k").await;
    for error in [
        "no step",
        "no step",
        "no \0 workflow",
        "no step",
        "no \0 workflow",
    ] {
        store.unpark("kind", &["first"], NOW, 9).await.unwrap();
        assert!(
            end_one(store, Change::parked(error.to_owned()))
                .await
                .is_held
        );
        let job = found(store, id).await;
        assert_eq!(job.status, Status::Parked);
    }
    let history = store.history(id).await.unwrap();
    let errors: Vec<_> = history.iter().map(|failed| &*failed.error).collect();
    assert_eq!(errors, ["no step", "no \u{FFFD} workflow"]);
    // Tries are counted, each with a line of its own.
    for _ in 0..2 {
        store.retry_now(id).await.unwrap();
        end_one(store, again(NOW)).await;
    }
    assert_eq!(store.history(id).await.unwrap().len(), 4);
}

pub(super) async fn a_job_is_tried_again_on_command(store: &impl Store) {
    let waits = end(store, "waits", again(LEASE)).await;
    let dead = end(store, "dead", dead()).await;
    let parked = end(store, "parked", parked()).await;
    let done = end(store, "done", done()).await;
    for (id, may) in [(waits, true), (dead, true), (parked, true), (done, false)] {
        assert_eq!(store.retry_now(id).await.unwrap(), may);
    }
    assert!(!store.retry_now(JobId::new(1 << 40)).await.unwrap());
    let claimed = claim(store, 9, LEASE).await;
    assert_eq!(claimed.len(), 3);
    for claimed in claimed {
        assert_eq!(claimed.job.failures, 0);
        assert_eq!(store.history(claimed.right.id).await.unwrap().len(), 1);
        assert!(!store.retry_now(claimed.right.id).await.unwrap(), "it runs");
    }
}

pub(super) async fn a_cancelled_job_is_not_saved_any_more(store: &impl Store) {
    let waits = put(store, "waits").await;
    assert!(store.cancel(waits).await.unwrap());
    assert!(!store.cancel(waits).await.unwrap());
    assert!(claim(store, 9, LEASE).await.is_empty());
    let runs = put(store, "runs").await;
    let right = claim_one(store).await.right;
    assert!(store.cancel(runs).await.unwrap());
    assert!(!store.renew(right, LEASE).await.unwrap());
    assert!(!save(store, right, again(Duration::ZERO)).await.is_held);
    let job = found(store, runs).await;
    assert_eq!((job.status, job.failures), (Status::Cancelled, 0));
    let done = end(store, "done", done()).await;
    assert!(!store.cancel(done).await.unwrap());
    assert!(!store.retry_now(runs).await.unwrap());
}

pub(super) async fn jobs_are_listed_page_by_page(store: &impl Store) {
    let dead = end(store, "dead", dead()).await;
    for key in 0..5 {
        put(store, &key.to_string()).await;
    }
    let mut filter = Filter::default();
    let first = store.list(&filter, 4).await.unwrap();
    assert_eq!((first.len(), first[0].id), (4, dead));
    filter.after = Some(first[3].id);
    assert_eq!(store.list(&filter, 4).await.unwrap().len(), 2);
    filter.after = None;
    filter.status = Some(Status::Dead);
    assert_eq!(store.list(&filter, 9).await.unwrap().len(), 1);
    filter.kind = Some("other".to_owned());
    assert!(store.list(&filter, 9).await.unwrap().is_empty());
    filter.after = Some(JobId::new(i64::MAX));
    assert!(store.list(&filter, 9).await.unwrap().is_empty());
}

pub(super) async fn a_job_is_found_by_its_id_and_by_no_other(store: &impl Store) {
    let id = end(store, "a", dead()).await;
    let last = put(store, "b").await;
    for (id, key) in [(id, "a"), (last, "b")] {
        assert_eq!(&*found(store, id).await.key, key);
    }
    let (last, first) = (last.get(), id.get());
    for id in [
        i64::MIN,
        i64::MIN + 1,
        -1,
        first - 1,
        last + 1,
        1 << 32,
        i64::MAX,
    ] {
        let id = JobId::new(id);
        assert_eq!(store.job(id).await.unwrap(), None, "{id}");
        assert!(store.history(id).await.unwrap().is_empty(), "{id}");
    }
}

pub(super) async fn a_job_is_found_by_its_key(store: &impl Store) {
    for key in ["a", "b", "B", "b "] {
        put(store, key).await;
    }
    let mut filter = Filter::new().key("b");
    for kind in [None, Some("kind".to_owned())] {
        filter.kind = kind;
        let found = store.list(&filter, 9).await.unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].key, "b");
        filter.after = Some(found[0].id);
        assert!(store.list(&filter, 9).await.unwrap().is_empty());
        filter.after = None;
    }
    filter.kind = Some("other".to_owned());
    assert!(store.list(&filter, 9).await.unwrap().is_empty());
    filter.kind = Some("kind".to_owned());
    filter.status = Some(Status::Dead);
    assert!(store.list(&filter, 9).await.unwrap().is_empty());
}

pub(super) async fn jobs_are_counted_by_lane_and_status(store: &impl Store) {
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.jobs.len(), counts.oldest_due), (0, None));
    end(store, "done", done()).await;
    end(store, "dead", dead()).await;
    for key in ["a", "b", "c"] {
        put(store, key).await;
    }
    claim_one(store).await;
    store.put(&job("later").delay(LEASE), None).await.unwrap();
    pause(SHORT).await;
    let counts = store.counts().await.unwrap();
    assert_eq!(counts.due, [("a".to_owned(), 2)]);
    assert!(counts.oldest_due.unwrap() >= SHORT, "{counts:?}");
    assert_eq!(counts.of(Status::Waiting), 3);
    assert!(counts.jobs.contains(&("a".to_owned(), Status::Running, 1)));
    assert_eq!((counts.of(Status::Done), counts.of(Status::Dead)), (1, 1));
    assert_eq!(counts.of(Status::Cancelled), 0);
}

pub(super) async fn a_job_whose_lease_is_over_counts_as_due(store: &impl Store) {
    put(store, "k").await;
    let began = Instant::now();
    claim(store, 1, SHORT).await;
    store.put(&job("runs"), Some(LEASE)).await.unwrap();
    let running = |many| ("a".to_owned(), Status::Running, many);
    let counts = store.counts().await.unwrap();
    // Unless the store, on a machine with much else to do, took longer than the lease.
    if began.elapsed() < SHORT {
        assert_eq!((counts.due, counts.oldest_due), (Vec::new(), None));
        assert_eq!(counts.jobs, [running(2)]);
    }
    pause(SHORT * 3).await;
    let counts = store.counts().await.unwrap();
    assert_eq!(counts.due, [("a".to_owned(), 1)]);
    let oldest = counts.oldest_due.unwrap();
    assert!(SHORT < oldest && oldest < LEASE / 2, "{oldest:?}");
    let waits = ("a".to_owned(), Status::Waiting, 1);
    assert_eq!(counts.jobs, [waits, running(1)]);
    for (status, key) in [(Status::Waiting, "k"), (Status::Running, "runs")] {
        let filter = Filter::new().status(status);
        let listed = store.list(&filter, 9).await.unwrap();
        let [job] = &listed[..] else {
            panic!("{status:?}: {listed:?}");
        };
        assert_eq!((&*job.key, job.status), (key, status));
    }
    // For one that was held up before, since then.
    let id = claim_one(store).await.right;
    let rejected = Change::held_up(NOW, true, "rejected".to_owned());
    assert!(save(store, id, rejected).await.is_held);
    pause(SHORT).await;
    claim(store, 1, SHORT).await;
    assert_eq!(store.counts().await.unwrap().oldest_due, None);
    pause(SHORT * 2).await;
    let oldest = store.counts().await.unwrap().oldest_due;
    assert!(oldest >= Some(SHORT * 3), "{oldest:?}");
}

pub(super) async fn what_is_done_is_forgotten_in_time_and_its_key_is_free(store: &impl Store) {
    let done = end(store, "done", done()).await;
    let dead = end(store, "dead", dead()).await;
    let waits = put(store, "waits").await;
    store.cancel(waits).await.unwrap();
    assert_eq!(store.forget(LEASE, 9).await.unwrap(), 0);
    pause(SHORT).await;
    assert_eq!(store.forget(SHORT / 2, 1).await.unwrap(), 1);
    assert_eq!(store.forget(SHORT / 2, 9).await.unwrap(), 1);
    assert_eq!(store.job(done).await.unwrap(), None);
    assert!(store.history(done).await.unwrap().is_empty());
    assert!(
        store.job(dead).await.unwrap().is_some(),
        "a person must look at it"
    );
    let again = put(store, "done").await;
    assert!(again > waits, "no id is given twice");
}
