// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures how many jobs are claimed per second, in a lane beside one that is nine times as long and has no worker.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use atomic_breaker_steps::{Change, Claimed, NewJob, Save, Status, StepError, Store, Workflow};
use tokio::task::JoinSet;

use super::number;

const LEASE: Duration = Duration::from_secs(600);
const CLAIMERS: usize = 8;
const ROUNDS: usize = 5;

/// A job of one step in this lane.
fn job(lane: &'static str, key: u64) -> NewJob {
    let workflow =
        Workflow::new("claims").step("only", lane, async |state| Ok::<_, StepError>(state));
    workflow
        .job(format!("{lane}-{key}"), &"x".repeat(100))
        .unwrap()
}

/// The duration including the counting of jobs. It is the median of five rounds; in each, all jobs that may be claimed
/// are claimed exactly once, and given back.
pub async fn measure<S: Store + Clone>(name: &str, store: S) {
    let jobs = number("ATOMIC_BREAKER_CLAIMS", 2_000);
    let began = Instant::now();
    let mut keepers = JoinSet::new();
    for keeper in 0..256 {
        let store = store.clone();
        keepers.spawn(async move {
            for key in (keeper..jobs).step_by(256) {
                let lane = if key % 10 == 0 { "closed" } else { "open" };
                store.put(&job(lane, key), None).await.unwrap();
            }
        });
    }
    while let Some(kept) = keepers.join_next().await {
        kept.unwrap();
    }
    let kept = each_second(jobs as usize, began);
    println!("{name}: {jobs} jobs, kept by 256 at once: {kept:.0}/s");
    let mut counted = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let counts = store.counts().await.unwrap();
        counted.push(began.elapsed().as_secs_f64() * 1_000.0);
        assert_eq!(counts.of(Status::Waiting), jobs);
    }
    println!("{name}: {jobs} jobs counted in {:.0} ms", median(counted));
    for together in [1, 20, 64] {
        let (mut claims, mut saves) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (claimed, each_second) = claim_all(&store, together).await;
            let ids: HashSet<_> = claimed.iter().map(|claimed| claimed.right.id).collect();
            assert_eq!(
                (claimed.len() as u64, ids.len()),
                (jobs.div_ceil(10), claimed.len())
            );
            claims.push(each_second);
            saves.push(give_back(&store, claimed).await);
        }
        let [claims, saves] = [claims, saves].map(median);
        println!(
            "{name}: {claims:.0} jobs claimed in a second by {CLAIMERS} at once, {together} at a time; given back by 256 at \
             a time: {saves:.0}/s"
        );
    }
}

async fn claim_all<S: Store + Clone>(store: &S, together: u32) -> (Vec<Claimed>, f64) {
    let began = Instant::now();
    let mut claimers = JoinSet::new();
    for _ in 0..CLAIMERS {
        let store = store.clone();
        claimers.spawn(async move {
            let mut all = Vec::new();
            loop {
                let claim = store.claim("closed", together, LEASE).await.unwrap();
                // Jobs that others are about to claim are no longer due then.
                if claim.jobs.is_empty() {
                    return all;
                }
                all.extend(claim.jobs);
            }
        });
    }
    let mut all = Vec::new();
    while let Some(claimed) = claimers.join_next().await {
        all.extend(claimed.unwrap());
    }
    let each_second = each_second(all.len(), began);
    (all, each_second)
}

async fn give_back<S: Store>(store: &S, claimed: Vec<Claimed>) -> f64 {
    let began = Instant::now();
    for together in claimed.chunks(256) {
        let save = |claimed: &Claimed| Save {
            right: claimed.right,
            change: Change::back(Duration::ZERO),
        };
        let saves: Vec<_> = together.iter().map(save).collect();
        let came = store.save(&saves).await.unwrap();
        assert!(came.iter().all(|saved| saved.is_held));
    }
    each_second(claimed.len(), began)
}

fn each_second(jobs: usize, began: Instant) -> f64 {
    let jobs = u32::try_from(jobs).expect("fewer jobs");
    f64::from(jobs) / began.elapsed().as_secs_f64()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}
