// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps whose calls go through the breaker of their lane.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, State, TokioClock};
use atomic_breaker_steps::{Lane, MemoryStore, Ran, Status, StepError, Steps, Store, Workflow};
use tokio::time::sleep;

use super::support::{Do, Script, schedule};

const SECOND: Duration = Duration::from_secs(1);

type Shared = Arc<Breaker<TokioClock>>;

fn breaker(config: Config) -> Shared {
    Arc::new(Breaker::new(config, TokioClock))
}

/// The number of times that the step began, and the outcomes of its calls.
struct Calls {
    begun: Arc<AtomicU32>,
    script: Script,
}

fn steps(
    store: &MemoryStore,
    breaker: &Shared,
    lane: Lane,
    plan: impl IntoIterator<Item = Do>,
) -> (Steps<MemoryStore>, Workflow<u32>, Calls) {
    let calls = Calls {
        begun: Arc::default(),
        script: Script::new(plan),
    };
    let (begun, script, breaker) = (
        Arc::clone(&calls.begun),
        calls.script.clone(),
        Arc::clone(breaker),
    );
    let workflow =
        Workflow::new("kind")
            .schedule(schedule(20))
            .step("only", "a", move |state: u32| {
                begun.fetch_add(1, Relaxed);
                let (breaker, script) = (Arc::clone(&breaker), script.clone());
                async move {
                    let call = breaker.call_async(async || {
                        sleep(SECOND / 10).await;
                        script.act("only").await.map_err(|error| error.to_string())
                    });
                    call.await.map_err(|error| match error {
                        atomic_breaker_server::CallError::Rejected(rejected) => {
                            StepError::from(rejected)
                        }
                        atomic_breaker_server::CallError::Failed(error) => StepError::from(error),
                    })?;
                    Ok(state)
                }
            });
    let steps = Steps::builder(store.clone())
        .lane(lane)
        .workflow(&workflow)
        .build();
    (steps.unwrap(), workflow, calls)
}

async fn enqueue(steps: &Steps<MemoryStore>, workflow: &Workflow<u32>, jobs: u32) {
    for key in 0..jobs {
        steps
            .enqueue(workflow, key.to_string(), &key)
            .await
            .unwrap();
    }
}

async fn done(store: &MemoryStore) -> u64 {
    store.counts().await.unwrap().of(Status::Done)
}

#[tokio::test(start_paused = true)]
async fn a_step_that_blocks_the_probe_of_its_own_call_is_done() {
    for probes in [1, 2, 16] {
        let store = MemoryStore::new();
        let a = breaker(Config::new().probes(probes).close_after(probes));
        a.trip();
        let lane = Lane::new("a").guarded(Arc::clone(&a));
        let (steps, workflow, calls) = steps(&store, &a, lane, []);
        let _worker = steps.work();
        enqueue(&steps, &workflow, 50).await;
        sleep(60 * SECOND).await;
        assert_eq!((a.state(), done(&store).await), (State::Closed, 50));
        assert_eq!(calls.script.calls().len(), 50);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_run_at_once_is_not_in_its_own_way_either() {
    let store = MemoryStore::new();
    let a = breaker(Config::new().open_for(SECOND));
    a.trip();
    let lane = Lane::new("a").guarded(Arc::clone(&a));
    let (steps, workflow, _) = steps(&store, &a, lane, []);
    sleep(SECOND).await;
    let ran = steps.run(&workflow, "k", &7).await.unwrap();
    assert_eq!((ran, a.state()), (Ran::Done(7), State::Closed));
}

#[tokio::test(start_paused = true)]
async fn calls_within_are_counted_once() {
    let store = MemoryStore::new();
    let a = breaker(Config::new().consecutive_failures(5));
    let lane = Lane::new("a").guarded_within(Arc::clone(&a));
    let (steps, workflow, _) = steps(&store, &a, lane, [Do::Fail; 5]);
    for key in 0..5 {
        assert_eq!(a.snapshot().failures(), key);
        steps.run(&workflow, key.to_string(), &0).await.unwrap();
    }
    assert_eq!(a.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn while_a_breaker_within_is_open_no_step_begins() {
    let store = MemoryStore::new();
    let a = breaker(Config::new().open_for(3_600 * SECOND));
    a.trip();
    let lane = Lane::new("a").guarded_within(Arc::clone(&a));
    let (steps, workflow, calls) = steps(&store, &a, lane, []);
    let _worker = steps.work();
    enqueue(&steps, &workflow, 50).await;
    sleep(3_500 * SECOND).await;
    assert_eq!(calls.begun.load(Relaxed), 0);
    sleep(110 * SECOND).await;
    assert_eq!((a.state(), done(&store).await), (State::Closed, 50));
}

#[tokio::test(start_paused = true)]
async fn half_open_there_are_no_more_calls_within_than_probes() {
    let store = MemoryStore::new();
    let a = breaker(Config::new().open_for(SECOND).probes(2).close_after(2));
    a.trip();
    let lane = Lane::new("a").guarded_within(Arc::clone(&a));
    let (steps, workflow, calls) = steps(&store, &a, lane, [Do::Take(10 * SECOND); 2]);
    let _worker = steps.work();
    enqueue(&steps, &workflow, 50).await;
    sleep(9 * SECOND).await;
    assert_eq!(calls.script.calls().len(), 2);
    // Few steps begin in vain.
    let begun = calls.begun.load(Relaxed);
    assert!(begun <= 4, "{begun}");
    sleep(60 * SECOND).await;
    assert_eq!((a.state(), done(&store).await), (State::Closed, 50));
}
