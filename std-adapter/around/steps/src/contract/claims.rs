// SPDX-License-Identifier: MIT OR Apache-2.0
//! The jobs that are kept, and the workers that get them.

use std::collections::HashSet;
use std::time::Duration;

use crate::change::Change;
use crate::job::Status;
use crate::store::{Put, Store};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{
    LEASE, NEAR, NOW, SHORT, claim, claim_after, claim_one, done, end_one, found, job, job_with,
    keys, pause, put, put_job, save,
};

pub(super) async fn a_job_is_kept_as_it_was_given(store: &impl Store) {
    let id = put(store, "k").await;
    let kept = found(store, id).await;
    assert_eq!((kept.id, &*kept.kind, &*kept.key), (id, "kind", "k"));
    assert_eq!(
        (&*kept.step, &*kept.lane, &*kept.state),
        ("first", "a", "\"0\"")
    );
    assert_eq!(
        (kept.status, kept.failures, kept.is_told),
        (Status::Waiting, 0, false)
    );
    assert!(
        kept.due_in_ms <= 0 && kept.age < Duration::from_secs(30),
        "{kept:?}"
    );
    let other = crate::JobId::new(id.get() + 1_000);
    assert_eq!(store.job(other).await.unwrap(), None);
}

pub(super) async fn of_a_kind_and_key_there_is_one_job(store: &impl Store) {
    let id = put(store, "k").await;
    let again = store.put(&job_with("k", "other"), Some(LEASE)).await;
    let Put::Exists(kept) = again.unwrap() else {
        panic!("twice");
    };
    assert_eq!(
        (kept.id, &*kept.state, kept.status),
        (id, "\"0\"", Status::Waiting)
    );
    assert_ne!(put(store, "K").await, id);
    assert_eq!(claim(store, 9, LEASE).await.len(), 2);
}

pub(super) async fn a_job_that_is_put_and_claimed_is_claimed_by_no_other(store: &impl Store) {
    let (id, right) = put_job(store, &job("k"), Some(LEASE)).await;
    let right = right.unwrap();
    assert_eq!(right.id, id);
    assert!(claim(store, 9, LEASE).await.is_empty());
    assert!(save(store, right, done()).await.is_held);
}

pub(super) async fn keys_and_states_of_any_text_come_back(store: &impl Store) {
    for text in [
        "'; DROP TABLE job; --",
        "\u{0}a\\\"",
        "😀\u{202E}",
        "%_",
        "\r\n\t",
    ] {
        // A key has no NUL: the workflow says so. A state has any.
        let key = text.replace('\0', "0");
        let (id, _) = put_job(store, &job_with(&key, text), None).await;
        let kept = found(store, id).await;
        assert_eq!(kept.key, key);
        let state: String = serde_json::from_str(&kept.state).unwrap();
        assert_eq!(state, text);
        let state = serde_json::to_string(&[text]).unwrap();
        assert!(end_one(store, Change::done(state.clone())).await.is_held);
        assert_eq!(found(store, id).await.state, state);
    }
}

pub(super) async fn jobs_are_claimed_in_the_order_in_which_they_are_due(store: &impl Store) {
    for round in 0.. {
        let began = Instant::now();
        // On a machine that is busy, further apart.
        let apart = SHORT * (1 << round) / 5;
        for (key, delay) in [("c", 3), ("a", 1), ("b", 2), ("d", 3)] {
            let job = job(&format!("{key}{round}")).delay(apart * delay);
            store.put(&job, None).await.unwrap();
        }
        let took = began.elapsed();
        pause(apart * 5).await;
        let three = claim(store, 3, LEASE).await;
        let one = claim(store, 3, LEASE).await;
        // If keeping them took longer than their delays are apart, they are due in another order.
        if took < apart {
            let of_this = ["a", "b", "c"].map(|key| format!("{key}{round}"));
            assert_eq!(keys(&three), of_this);
            assert_eq!(keys(&one), [format!("d{round}")]);
            return;
        }
    }
}

pub(super) async fn a_job_is_not_claimed_before_it_is_due(store: &impl Store) {
    store.put(&job("later").delay(LEASE), None).await.unwrap();
    let began = Instant::now();
    store.put(&job("k").delay(SHORT), None).await.unwrap();
    assert_eq!(keys(&claim_after(store, began, SHORT).await), ["k"]);
}

pub(super) async fn the_age_of_a_job_counts_from_when_it_is_first_due(store: &impl Store) {
    let began = Instant::now();
    let (long, _) = put_job(store, &job("long").delay(LEASE), None).await;
    put_job(store, &job("short").delay(SHORT), None).await;
    pause(SHORT * 2).await;
    let short = claim_one(store).await.job;
    let most = began.elapsed().saturating_sub(SHORT) + NEAR;
    assert!(SHORT / 2 < short.age && short.age <= most, "{short:?}");
    let long = found(store, long).await;
    assert_eq!(long.age, Duration::ZERO);
    // Due at once, whatever it says.
    let (now, _) = put_job(store, &job("now").delay(LEASE), Some(SHORT)).await;
    pause(SHORT).await;
    let now = found(store, now).await;
    assert!(now.age >= SHORT / 2, "{now:?}");
}

pub(super) async fn a_delay_that_no_clock_counts_is_an_error(store: &impl Store) {
    let never = job("k").delay(Duration::MAX);
    let error = store.put(&never, None).await.unwrap_err();
    assert!(error.to_string().contains("shorter"), "{error}");
    put(store, "k").await;
}

pub(super) async fn only_jobs_of_the_lane_are_claimed(store: &impl Store) {
    put(store, "k").await;
    assert!(store.claim("b", 9, LEASE).await.unwrap().jobs.is_empty());
    assert!(store.claim("A", 9, LEASE).await.unwrap().jobs.is_empty());
    assert_eq!(claim(store, 9, LEASE).await.len(), 1);
}

pub(super) async fn no_job_is_claimed_twice(store: &impl Store) {
    for key in 0..50 {
        put(store, &key.to_string()).await;
    }
    let mut seen = HashSet::new();
    let (mut one, mut two) = (Vec::new(), Vec::new());
    while seen.len() < 50 {
        (one, two) = tokio::join!(claim(store, 7, LEASE), claim(store, 3, LEASE));
        for claimed in one.iter().chain(&two) {
            assert!(seen.insert(claimed.right.id), "{claimed:?}");
            assert_eq!(claimed.job.status, Status::Running);
            assert!(!claimed.is_lost);
        }
        assert!(!one.is_empty() || !two.is_empty());
    }
    assert!(claim(store, 9, LEASE).await.is_empty());
    drop((one, two));
}

/// Checks that hundreds of claimers get each job once: through several stores over the same jobs, which has none yet.
///
/// # Panics
/// A job was claimed twice, or never.
pub async fn claimed_once<S: Store + Clone>(stores: &[S]) {
    const JOBS: usize = 2_000;
    let mut keepers = JoinSet::new();
    for keeper in 0..50 {
        let store = stores[0].clone();
        keepers.spawn(async move {
            for key in (keeper..JOBS).step_by(50) {
                put(&store, &key.to_string()).await;
            }
        });
    }
    while let Some(kept) = keepers.join_next().await {
        kept.unwrap();
    }
    let mut claimers = JoinSet::new();
    for at in 0..200 {
        let store = stores[at % stores.len()].clone();
        claimers.spawn(async move {
            let mut ids = Vec::new();
            loop {
                // However long it takes until all have theirs.
                let jobs = claim(&store, 3, LEASE * 60).await;
                // Others may have locked what is due: then they claim it.
                if jobs.is_empty() {
                    return ids;
                }
                ids.extend(jobs.into_iter().map(|claimed| claimed.right.id));
            }
        });
    }
    let mut seen = HashSet::new();
    while let Some(ids) = claimers.join_next().await {
        for id in ids.unwrap() {
            assert!(seen.insert(id), "{id} twice");
        }
    }
    assert_eq!(seen.len(), JOBS);
}

pub(super) async fn the_next_due_time_of_the_lane_is_told(store: &impl Store) {
    assert_eq!(store.claim("a", 9, LEASE).await.unwrap().next_due, None);
    let hour = Duration::from_secs(3_600);
    store.put(&job("later").delay(hour), None).await.unwrap();
    let next = store.claim("a", 9, LEASE).await.unwrap().next_due.unwrap();
    assert!(hour / 2 < next && next <= hour, "{next:?}");
    put(store, "now").await;
    let claim = store.claim("a", 9, LEASE).await.unwrap();
    assert_eq!(claim.jobs.len(), 1);
    // Whose lease is over is due then.
    let next = claim.next_due.unwrap();
    assert!(LEASE / 2 < next && next <= LEASE, "{next:?}");
}

pub(super) async fn when_a_job_is_due_is_found_out_without_a_claim(store: &impl Store) {
    let next_due = async |lane| store.next_due(lane).await.unwrap();
    assert_eq!(next_due("a").await, None);
    store.put(&job("later").delay(LEASE), None).await.unwrap();
    let next = next_due("a").await.unwrap();
    assert!(LEASE / 2 < next && next <= LEASE, "{next:?}");
    let id = put(store, "now").await;
    for _ in 0..3 {
        assert_eq!(next_due("a").await, Some(Duration::ZERO));
    }
    assert_eq!(next_due("b").await, None);
    let job = found(store, id).await;
    assert_eq!((job.status, job.failures), (Status::Waiting, 0));
    // A job that runs is due when its lease is over, and one that has ended never is.
    let right = claim(store, 1, SHORT).await[0].right;
    let next = next_due("a").await.unwrap();
    assert!(next <= SHORT, "{next:?}");
    pause(SHORT * 2).await;
    assert_eq!(next_due("a").await, Some(Duration::ZERO));
    assert!(save(store, right, done()).await.is_held);
    assert!(next_due("a").await.unwrap() > LEASE / 2);
}

pub(super) async fn a_job_whose_lease_is_over_is_claimed_again_and_was_lost(store: &impl Store) {
    put(store, "k").await;
    let began = Instant::now();
    let first = claim(store, 1, SHORT).await.remove(0);
    let second = claim_after(store, began, SHORT).await.remove(0);
    assert!(second.is_lost);
    assert_eq!(second.right.id, first.right.id);
    assert!(second.right.fence > first.right.fence);
    assert_eq!(
        second.job.failures, 0,
        "the worker that claims it says what that counts"
    );
}

pub(super) async fn jobs_lost_together_are_not_blamed_and_come_alone(store: &impl Store) {
    for key in ["a", "b", "c"] {
        put(store, key).await;
    }
    assert_eq!(claim(store, 3, SHORT).await.len(), 3);
    pause(SHORT * 2).await;
    put(store, "d").await;
    for key in ["a", "b", "c"] {
        let alone = claim(store, 9, SHORT).await;
        assert_eq!(keys(&alone), [key]);
        assert!(!alone[0].is_lost);
    }
    assert_eq!(keys(&claim(store, 9, LEASE).await), ["d"]);
    pause(SHORT * 2).await;
    // Now it is known who.
    for key in ["a", "b", "c"] {
        let alone = claim(store, 9, LEASE).await;
        assert_eq!(keys(&alone), [key]);
        assert!(alone[0].is_lost);
    }
}

pub(super) async fn a_job_that_runs_is_due_when_its_lease_is_over(store: &impl Store) {
    let id = put(store, "k").await;
    let claimed = claim_one(store).await;
    let lease_ms = LEASE.as_millis() as i64;
    for job in [claimed.job, found(store, id).await] {
        let due = job.due_in_ms;
        assert!(lease_ms / 2 < due && due <= lease_ms, "{due}");
    }
}

pub(super) async fn a_renewed_lease_holds(store: &impl Store) {
    put(store, "k").await;
    let right = claim(store, 1, SHORT).await[0].right;
    assert!(store.renew(right, LEASE).await.unwrap());
    pause(SHORT * 2).await;
    assert!(claim(store, 1, LEASE).await.is_empty());
}

pub(super) async fn a_lease_that_no_clock_counts_holds(store: &impl Store) {
    let (id, right) = put_job(store, &job("k"), Some(Duration::MAX)).await;
    let right = right.unwrap();
    assert!(store.renew(right, Duration::MAX).await.unwrap());
    assert!(claim(store, 9, LEASE).await.is_empty());
    assert_eq!(found(store, id).await.status, Status::Running);
    assert!(save(store, right, Change::back(NOW)).await.is_held);
    let right = claim(store, 1, Duration::MAX).await[0].right;
    assert!(claim(store, 9, LEASE).await.is_empty());
    assert!(
        save(store, right, Change::back(Duration::MAX))
            .await
            .is_held
    );
    assert!(claim(store, 9, LEASE).await.is_empty());
    assert_eq!(found(store, id).await.status, Status::Waiting);
}
