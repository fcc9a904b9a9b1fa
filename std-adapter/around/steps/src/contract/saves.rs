// SPDX-License-Identifier: MIT OR Apache-2.0
//! The saved results of jobs.

use std::time::Duration;

use crate::change::{Change, Save};
use crate::job::{Right, Status};
use crate::store::Store;
use crate::text::LONGEST_ERROR;
use tokio::time::Instant;

use super::{
    LEASE, NOW, SHORT, again, claim, claim_after, claim_one, dead, done, end_one, found, keys,
    parked, pause, put, save,
};

fn next(keep: Option<Duration>) -> Change {
    Change::next("second", "b", "\"1\"".to_owned(), keep)
}

fn third(keep: Option<Duration>) -> Change {
    Change::next("third", "c", "\"2\"".to_owned(), keep)
}

pub(super) async fn a_right_that_is_gone_is_not_renewed(store: &impl Store) {
    let ids = [put(store, "a").await, put(store, "b").await];
    let first = claim(store, 2, SHORT).await;
    let rights: Vec<Right> = first.iter().map(|claimed| claimed.right).collect();
    pause(SHORT * 2).await;
    let second = claim_one(store).await;
    assert_eq!(second.right.id, ids[0]);
    // Late, but no other worker has taken the other one.
    assert!(!store.renew(rights[0], LEASE).await.unwrap());
    assert!(store.renew(rights[1], LEASE).await.unwrap());
    assert!(save(store, rights[1], done()).await.is_held);
    for right in rights {
        assert!(!store.renew(right, LEASE).await.unwrap());
    }
}

pub(super) async fn a_right_that_is_gone_saves_nothing(store: &impl Store) {
    let id = put(store, "k").await;
    let first = claim(store, 1, SHORT).await[0].right;
    pause(SHORT * 2).await;
    let second = claim_one(store).await.right;
    for change in [done(), next(None), again(NOW), Change::back(NOW)] {
        let saved = save(store, first, change).await;
        assert!(!saved.is_held && !saved.tell);
    }
    let job = found(store, id).await;
    assert_eq!(
        (job.status, &*job.step, job.failures),
        (Status::Running, "first", 0)
    );
    assert!(store.history(id).await.unwrap().is_empty());
    assert!(save(store, second, done()).await.is_held);
    assert!(!save(store, second, done()).await.is_held);
}

pub(super) async fn a_step_that_is_done_is_followed_by_the_next(store: &impl Store) {
    let id = put(store, "k").await;
    let right = claim_one(store).await.right;
    assert!(save(store, right, next(None)).await.is_held);
    assert!(
        !save(store, right, done()).await.is_held,
        "its right is over"
    );
    let job = found(store, id).await;
    assert_eq!(
        (&*job.step, &*job.lane, &*job.state),
        ("second", "b", "\"1\"")
    );
    assert_eq!(job.status, Status::Waiting);
    let claimed = store.claim("b", 1, LEASE).await.unwrap().jobs;
    assert_eq!(claimed[0].job.state, "\"1\"");
    assert!(save(store, claimed[0].right, done()).await.is_held);
    let job = found(store, id).await;
    assert_eq!((job.status, &*job.state), (Status::Done, "\"done\""));
}

pub(super) async fn a_right_that_is_kept_goes_on(store: &impl Store) {
    let id = put(store, "k").await;
    let right = claim(store, 1, SHORT).await[0].right;
    assert!(save(store, right, next(Some(LEASE))).await.is_held);
    pause(SHORT * 2).await;
    assert!(store.claim("b", 1, LEASE).await.unwrap().jobs.is_empty());
    assert!(save(store, right.after_step(), done()).await.is_held);
    let job = found(store, id).await;
    assert_eq!((job.status, &*job.step), (Status::Done, "second"));
}

pub(super) async fn a_save_that_comes_twice_or_late_changes_nothing_more(store: &impl Store) {
    let id = put(store, "k").await;
    let right = claim_one(store).await.right;
    let (first, second) = (next(Some(LEASE)), third(Some(LEASE)));
    assert!(save(store, right, first.clone()).await.is_held);
    let repeated = save(store, right, first.clone()).await;
    assert!(repeated.is_held, "whoever had no answer asks again");
    assert!(!store.renew(right, LEASE).await.unwrap());
    for late in [done(), dead(), next(None), second.clone()] {
        assert!(!save(store, right, late).await.is_held);
    }
    let right_after = right.after_step();
    assert!(save(store, right_after, second.clone()).await.is_held);
    assert!(!save(store, right, first.clone()).await.is_held);
    assert!(save(store, right_after, second.clone()).await.is_held);
    let job = found(store, id).await;
    assert_eq!((&*job.step, &*job.state), ("third", "\"2\""));
    assert!(
        save(store, right_after.after_step(), again(NOW))
            .await
            .is_held
    );
    assert!(!save(store, right_after, second.clone()).await.is_held);
    let claimed = store.claim("c", 1, LEASE).await.unwrap().jobs.remove(0);
    assert!(claimed.right.fence > right_after.after_step().fence);
    assert_eq!((&*claimed.job.step, claimed.job.failures), ("third", 1));
    for (late, change) in [(right, first), (right_after, second)] {
        assert!(!save(store, late, change).await.is_held);
    }
    assert!(save(store, claimed.right, done()).await.is_held);
    assert_eq!(found(store, id).await.status, Status::Done);
}

pub(super) async fn a_failure_counts_and_is_due_again(store: &impl Store) {
    let id = put(store, "k").await;
    let mut claimed = claim_one(store).await;
    for failures in 1..=3 {
        assert_eq!(claimed.job.failures, failures - 1);
        let began = Instant::now();
        assert!(save(store, claimed.right, again(SHORT)).await.is_held);
        let job = found(store, id).await;
        assert_eq!((job.status, job.failures), (Status::Waiting, failures));
        claimed = claim_after(store, began, SHORT).await.remove(0);
    }
    let history = store.history(id).await.unwrap();
    let failures: Vec<u32> = history.iter().map(|failed| failed.failures).collect();
    assert_eq!(failures, [1, 2, 3]);
    assert_eq!(
        (&*history[0].step, &*history[0].error),
        ("first", "refused")
    );
    assert!(history[0].ago >= history[2].ago);
}

pub(super) async fn a_job_that_is_given_back_has_lost_nothing(store: &impl Store) {
    let id = put(store, "k").await;
    let right = claim(store, 1, SHORT).await[0].right;
    assert!(save(store, right, Change::back(NOW)).await.is_held);
    pause(SHORT * 2).await;
    let claimed = claim_one(store).await;
    assert!(!claimed.is_lost);
    assert_eq!(claimed.job.failures, 0);
    assert!(store.history(id).await.unwrap().is_empty());
}

pub(super) async fn a_job_ends_with_its_history(store: &impl Store) {
    for (end, failures) in [(dead(), 1), (parked(), 0)] {
        let status = end.status;
        let id = put(store, status.name()).await;
        assert!(end_one(store, end).await.is_held);
        let job = found(store, id).await;
        assert_eq!((job.status, job.failures), (status, failures));
        let history = store.history(id).await.unwrap();
        assert_eq!((history.len(), history[0].failures), (1, failures));
        assert!(claim(store, 1, LEASE).await.is_empty());
    }
}

pub(super) async fn an_error_that_cannot_be_stored_loses_nothing(store: &impl Store) {
    let errors = [
        "nul \0 byte".to_owned(),
        "ä".repeat(LONGEST_ERROR),
        String::new(),
    ];
    for (at, error) in errors.into_iter().enumerate() {
        let id = put(store, &at.to_string()).await;
        let change = Change::again(LEASE, error);
        assert!(end_one(store, change).await.is_held);
        let history = store.history(id).await.unwrap();
        assert_eq!(history.len(), 1);
        let kept = &history[0].error;
        assert!(
            kept.len() <= LONGEST_ERROR && !kept.contains('\0'),
            "{kept:?}"
        );
    }
}

pub(super) async fn a_step_that_is_done_clears_failures_and_suspicion(store: &impl Store) {
    put(store, "k").await;
    end_one(store, again(NOW)).await;
    claim(store, 1, SHORT).await;
    pause(SHORT * 2).await;
    let back_in_a = Change::next("second", "a", "1".to_owned(), None);
    assert!(end_one(store, back_in_a).await.is_held);
    put(store, "other").await;
    let together = claim(store, 9, LEASE).await;
    assert_eq!(keys(&together), ["k", "other"]);
    assert_eq!(together[0].job.failures, 0);
}

pub(super) async fn several_are_saved_at_once_each_for_itself(store: &impl Store) {
    let mut ids = Vec::new();
    for key in ["a", "b", "c", "d"] {
        ids.push(put(store, key).await);
    }
    let claimed = claim(store, 4, LEASE).await;
    let mut rights: Vec<Right> = claimed.iter().map(|claimed| claimed.right).collect();
    rights[1].fence += 1;
    let changes = [done(), done(), again(LEASE), next(None)];
    let together: Vec<Save> = rights
        .into_iter()
        .zip(changes)
        .map(|(right, change)| Save { right, change })
        .collect();
    let saved = store.save(&together).await.unwrap();
    let held: Vec<bool> = saved.iter().map(|saved| saved.is_held).collect();
    assert_eq!(held, [true, false, true, true]);
    let mut statuses = Vec::new();
    for id in ids {
        statuses.push(found(store, id).await.status);
    }
    let waiting = Status::Waiting;
    assert_eq!(statuses, [Status::Done, Status::Running, waiting, waiting]);
    assert!(store.save(&[]).await.unwrap().is_empty());
}
