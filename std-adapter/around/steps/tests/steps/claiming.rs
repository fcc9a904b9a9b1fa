// SPDX-License-Identifier: MIT OR Apache-2.0
//! The times at which a worker looks for jobs, and the number that it claims.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use atomic_breaker_http::{Config, State};
use atomic_breaker_server::{Admit, Permit, Rejected, Rejection};
use atomic_breaker_steps::{
    Filter, JobId, Lane, MemoryStore, Ran, Status, StepError, Store, Workflow,
};
use tokio::time::{Instant, sleep};

use super::looking::{SECOND, Shared, breaker, keep, of, workflow};
use test_support::faulty_store::{Asked, Fault, FaultyStore};

const MINUTE: Duration = Duration::from_secs(60);

/// One step of this duration.
fn lasting(time: Duration) -> Workflow<u32> {
    Workflow::new("kind").step("only", "a", move |n: u32| async move {
        sleep(time).await;
        Ok::<_, StepError>(n)
    })
}

fn asked(store: &FaultyStore, of: Asked) -> usize {
    store.asked().iter().filter(|each| **each == of).count()
}

async fn done(jobs: &MemoryStore) -> u64 {
    jobs.counts().await.unwrap().of(Status::Done)
}

fn guarded() -> Lane {
    Lane::new("a").guarded(breaker(Config::new()))
}

#[tokio::test(start_paused = true)]
async fn looks_for_jobs_are_a_poll_apart_on_average() {
    let store = FaultyStore::default();
    let steps = of(store.clone(), guarded(), &workflow()).build().unwrap();
    let _worker = steps.work();
    sleep(1_000 * SECOND).await;
    let looks = asked(&store, Asked::NextDue);
    assert!((980..=1_020).contains(&looks), "{looks}");
}

#[tokio::test(start_paused = true)]
async fn after_the_last_job_a_lane_is_asked_for_jobs_before_it_claims() {
    let (jobs, workflow) = (MemoryStore::new(), workflow());
    keep(&jobs, &workflow, 1).await;
    let store = FaultyStore::to(&jobs);
    let _worker = of(store.clone(), guarded(), &workflow)
        .build()
        .unwrap()
        .work();
    sleep(MINUTE).await;
    assert_eq!((done(&jobs).await, asked(&store, Asked::Claim)), (1, 1));
    assert!(asked(&store, Asked::NextDue) > 50);
}

#[tokio::test(start_paused = true)]
async fn while_there_are_jobs_they_are_claimed_without_asking_first() {
    let (jobs, workflow) = (MemoryStore::new(), lasting(SECOND));
    keep(&jobs, &workflow, 20).await;
    let store = FaultyStore::to(&jobs);
    let lane = guarded().at_once(2);
    let _worker = of(store.clone(), lane, &workflow).build().unwrap().work();
    sleep(9 * SECOND + SECOND / 2).await;
    assert_eq!(asked(&store, Asked::NextDue), 1);
    assert_eq!((done(&jobs).await, asked(&store, Asked::Claim)), (18, 10));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_its_lane_would_reject_costs_one_write() {
    let (store, a) = (FaultyStore::default(), breaker(Config::new()));
    let (lane, workflow) = (Lane::new("a").guarded(Arc::clone(&a)), workflow());
    let steps = of(store.clone(), lane, &workflow).build().unwrap();
    a.trip();
    let ran = steps.run(&workflow, "k", &7).await.unwrap();
    assert!(matches!(ran, Ran::Later { .. }), "{ran:?}");
    assert_eq!(store.asked(), [Asked::Put]);
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_fewer_jobs_than_wanted_says_when_the_next_is_due() {
    let (jobs, workflow) = (MemoryStore::new(), workflow());
    keep(&jobs, &workflow, 3).await;
    for (most, next_due) in [(2, None), (2, Some(MINUTE)), (2, Some(MINUTE))] {
        let claim = jobs.claim("a", most, MINUTE).await.unwrap();
        assert_eq!(claim.next_due, next_due, "{claim:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_was_partly_full_goes_on_as_soon_as_there_is_room() {
    let (jobs, workflow) = (MemoryStore::new(), lasting(SECOND));
    let lane = Lane::new("a").at_once(2);
    let steps = of(FaultyStore::to(&jobs), lane, &workflow).poll(10 * MINUTE);
    let steps = steps.build().unwrap();
    let call = {
        let (steps, workflow) = (steps.clone(), workflow.clone());
        tokio::spawn(async move { steps.call_or_keep(&workflow, "call", &9).await })
    };
    sleep(SECOND / 10).await;
    // By another process, so that no one tells this one.
    keep(&jobs, &workflow, 3).await;
    let _worker = steps.work();
    sleep(3 * SECOND).await;
    assert_eq!(call.await.unwrap().unwrap(), Ran::Done(9));
    assert_eq!(done(&jobs).await, 3);
}

/// Whenever a claim is under way, calls take all places of the lane.
#[tokio::test(start_paused = true)]
async fn jobs_that_calls_deprive_of_places_have_them_held_next_time() {
    let (jobs, workflow) = (MemoryStore::new(), lasting(SECOND * 3 / 2));
    keep(&jobs, &workflow, 2).await;
    let store = FaultyStore::to(&jobs);
    store.next(Asked::Claim, u32::MAX, Fault::Late(SECOND));
    let lane = Lane::new("a").at_once(2);
    let steps = of(store.clone(), lane, &workflow).build().unwrap();
    let _worker = steps.work();
    for claims in 1..=2 {
        while asked(&store, Asked::Claim) < claims {
            sleep(SECOND / 100).await;
        }
        for call in 0..2 {
            let (steps, workflow) = (steps.clone(), workflow.clone());
            let key = format!("call {call} during claim {claims}");
            tokio::spawn(async move { steps.call_or_keep(&workflow, key, &9).await });
        }
    }
    sleep(3 * SECOND).await;
    for id in [1, 2].map(JobId::new) {
        let job = jobs.job(id).await.unwrap().unwrap();
        assert_eq!((job.status, job.failures), (Status::Done, 0), "{job:?}");
    }
}

/// A breaker while traffic returns, whose share goes to other calls until a test says so.
#[derive(Clone)]
struct Returning {
    breaker: Shared,
    has_share: Arc<AtomicBool>,
}

impl Admit<()> for Returning {
    type Permit = Permit<Shared>;

    fn admit(&self, (): &()) -> Result<Self::Permit, Rejection> {
        if self.has_share.load(SeqCst) {
            return self.breaker.admit(&());
        }
        let rejected = Rejected::new(State::Returning, MINUTE);
        Err(Rejection::new(rejected, None))
    }
}

fn returning() -> Returning {
    Returning {
        breaker: breaker(Config::new()),
        has_share: Arc::default(),
    }
}

#[tokio::test(start_paused = true)]
async fn while_traffic_returns_a_claimed_job_waits_for_its_share() {
    let (jobs, workflow, a) = (MemoryStore::new(), workflow(), returning());
    keep(&jobs, &workflow, 1).await;
    let lane = Lane::new("a").guarded(a.clone());
    let steps = of(FaultyStore::to(&jobs), lane, &workflow).build().unwrap();
    let _worker = steps.work();
    sleep(5 * SECOND).await;
    assert_eq!(jobs.counts().await.unwrap().of(Status::Running), 1);
    a.has_share.store(true, SeqCst);
    sleep(SECOND / 5).await;
    assert_eq!(done(&jobs).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_job_waits_for_its_share_for_a_quarter_of_its_lease() {
    let (jobs, workflow) = (MemoryStore::new(), workflow());
    let lane = Lane::new("a").guarded(returning());
    let steps = of(FaultyStore::to(&jobs), lane, &workflow).lease(40 * SECOND);
    let steps = steps.build().unwrap();
    let began = Instant::now();
    let ran = steps.run(&workflow, "k", &7).await.unwrap();
    assert!(matches!(ran, Ran::Later { .. }), "{ran:?}");
    assert_eq!(began.elapsed(), 10 * SECOND);
    let job = jobs.list(&Filter::default(), 9).await.unwrap().remove(0);
    assert_eq!((job.status, job.failures), (Status::Waiting, 0));
    assert_eq!(jobs.history(job.id).await.unwrap(), []);
}
