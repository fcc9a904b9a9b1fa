// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests that all databases share, besides the contract: `compared` makes random calls, `storm` kills workers at random,
//! `claims` measures, `damaged` has rows that another program has changed, `progress` is seen by other
//! processes, and `releases` work side by side.

pub mod claims;
pub mod compared;
pub mod damaged;
mod diary;
pub mod progress;
pub mod releases;
pub mod storm;

use std::time::Duration;

use atomic_breaker_steps::{
    Change, Claimed, JobId, NewJob, Put, Right, Save, Saved, StepError, Store, Workflow,
};

pub const LEASE: Duration = Duration::from_secs(60);

/// A job of two steps: `"first"` in lane `"a"`, `"second"` in lane `"b"`.
pub fn job(key: &str) -> NewJob {
    let workflow: Workflow<String> = Workflow::new("kind")
        .step("first", "a", async |state| Ok::<_, StepError>(state))
        .step("second", "b", async |state| Ok(state));
    workflow.job(key, &"0".to_owned()).unwrap()
}

pub async fn put(store: &impl Store, key: &str) -> JobId {
    match store.put(&job(key), None).await.unwrap() {
        Put::New(id, None) => id,
        other => panic!("{other:?}"),
    }
}

pub async fn claim(store: &impl Store, most: u32, lease: Duration) -> Vec<Claimed> {
    store.claim("a", most, lease).await.unwrap().jobs
}

pub async fn claim_one(store: &impl Store) -> Claimed {
    claim(store, 1, LEASE)
        .await
        .pop()
        .expect("a job that is due")
}

pub async fn save(store: &impl Store, right: Right, change: Change) -> Saved {
    store.save(&[Save { right, change }]).await.unwrap()[0]
}

pub fn keys(claimed: &[Claimed]) -> Vec<&str> {
    claimed.iter().map(|claimed| &*claimed.job.key).collect()
}

/// A number from the environment, for longer runs.
pub fn number(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text}: give it a number")),
        Err(_) => otherwise,
    }
}

/// Returns whether the arguments of `cargo test` name this program: the same arguments reach other tests, too.
pub fn is_asked_for(name: &str) -> bool {
    let mut filters = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .peekable();
    let is_listed = std::env::args().any(|word| word == "--list");
    !is_listed && (filters.peek().is_none() || filters.any(|filter| name.contains(&filter)))
}
