// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows that another program has changed, bypassing the checks of the tables.

use std::error::Error;
use std::time::{Duration, Instant};

use atomic_breaker_steps::{
    Filter, Job, Lane, Notifier, Status, StepError, Steps, Store, Stuck, Workflow,
};

use tokio::time::sleep;

use super::put;

/// Invalid contents of columns, and the text that the job's history contains about them.
pub const IMPOSSIBLE: [(&str, &str); 8] = [
    ("failures = -1", "failures -1"),
    ("failures = 4294967296", "failures 4294967296"),
    (
        "failures = 9223372036854775807",
        "failures 9223372036854775807",
    ),
    ("held_up = -7", "held_up -7"),
    ("fence = -1", "fence -1"),
    ("fence = 9223372036854775807", "fence 9223372036854775807"),
    ("status = 'nonsense'", "nonsense"),
    ("status = 'done'", "has not ended"),
];

struct Told;

impl Notifier for Told {
    async fn notify(&self, _: &Stuck) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}

async fn all(store: &impl Store) -> Vec<Job> {
    store.list(&Filter::default(), 999).await.unwrap()
}

/// `damage` sets columns of the job with a key. Jobs with `other` columns continue normally.
pub async fn what_no_job_can_have_is_parked_and_its_lane_goes_on<S: Store + Clone>(
    store: &S,
    impossible: &[(&str, &str)],
    other: &[&str],
    mut damage: impl AsyncFnMut(&str, &str),
) {
    for (columns, _) in impossible {
        put(store, columns).await;
    }
    for columns in other.iter().chain(&["is_told = is_told"]) {
        put(store, columns).await;
    }
    for columns in impossible.iter().map(|(columns, _)| columns).chain(other) {
        damage(columns, columns).await;
    }
    // The damaged jobs are visible.
    assert_eq!(all(store).await.len(), impossible.len() + other.len() + 1);
    store.counts().await.unwrap();
    let workflow: Workflow<String> = Workflow::new("kind")
        .step("first", "a", async |state| Ok::<_, StepError>(state))
        .step("second", "b", async |state| Ok(state));
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("a").at_once(2))
        .lane(Lane::new("b"))
        .poll(Duration::from_millis(20))
        .workflow(&workflow)
        .notifier(Told)
        .build()
        .unwrap();
    let worker = steps.work();
    let began = Instant::now();
    // A person is told of a job after it has been parked. As the worker starts, it may take up again what it has just parked.
    let is_over = |job: &Job| match job.status {
        Status::Parked => job.is_told,
        status => status.is_final(),
    };
    let jobs = loop {
        let jobs = all(store).await;
        if jobs.iter().all(is_over) {
            break jobs;
        }
        assert!(began.elapsed().as_secs() < 60, "{jobs:?}");
        sleep(Duration::from_millis(50)).await;
    };
    for (columns, says) in impossible {
        let of = |job: &&Job| job.status == Status::Parked && job.is_told;
        let mut histories = Vec::new();
        for job in jobs.iter().filter(of) {
            histories.extend(store.history(job.id).await.unwrap());
        }
        let is_there = histories.iter().any(|line| line.error.contains(says));
        assert!(is_there, "{columns}: {histories:?}");
    }
    let of = |status| jobs.iter().filter(|job| job.status == status).count();
    assert_eq!(
        (of(Status::Parked), of(Status::Done)),
        (impossible.len(), other.len() + 1)
    );
    // An operator has repaired it.
    for job in jobs
        .iter()
        .filter(|job| IMPOSSIBLE.iter().any(|(key, _)| *key == job.key))
    {
        assert!(store.retry_now(job.id).await.unwrap(), "{job:?}");
        let began = Instant::now();
        while store.job(job.id).await.unwrap().unwrap().status != Status::Done {
            // Longer than a lease: if a claim is lost, since the store answered too late, another one follows.
            assert!(began.elapsed().as_secs() < 120, "{job:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }
    worker.stop().await;
}
