// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that are cut short: a timeout around them, a drop in the middle.

use std::time::Duration;

use atomic_breaker_steps::{MemoryStore, Ran, Status, Store};
use futures_util::FutureExt;
use tokio::time::{sleep, timeout};

use super::support::{Do, Script, builder, only_job};
use test_support::faulty_store::{Asked, Fault, FaultyStore};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_timeout_around_run_ends_and_the_job_goes_on() {
    let (memory, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    let store = FaultyStore::to(&memory);
    store.next(Asked::Put, 1, Fault::Late(SECOND));
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let run = timeout(SECOND / 2, steps.run(&workflow, "k", &Vec::new())).await;
    assert!(run.is_err());
    sleep(SECOND).await;
    let job = only_job(&memory).await;
    assert_eq!(job.status, Status::Done);
    assert!(memory.history(job.id).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_waits_for_runs_whose_callers_have_gone() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Take(30 * SECOND)]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let worker = steps.work();
    let run = timeout(5 * SECOND, steps.run(&workflow, "k", &Vec::new())).await;
    assert!(run.is_err());
    worker.stop().await;
    assert_eq!(only_job(&store).await.status, Status::Done);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_must_go_gives_back_runs_that_do_not_end() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Hang]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let worker = steps.work();
    let run = tokio::spawn({
        let (steps, workflow) = (steps.clone(), workflow.clone());
        async move { steps.run(&workflow, "k", &Vec::new()).await.unwrap() }
    });
    sleep(SECOND).await;
    worker.stop_within(5 * SECOND).await;
    assert!(matches!(run.await.unwrap(), Ran::Later { .. }));
    let job = only_job(&store).await;
    assert_eq!((job.status, job.failures), (Status::Waiting, 0));
}

#[tokio::test(start_paused = true)]
async fn a_worker_stops_though_others_go_on_running_jobs() {
    let store = MemoryStore::new();
    let script = Script::new([Do::Take(2 * SECOND); 99]);
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let worker = steps.work();
    let server = {
        let (steps, workflow) = (steps.clone(), workflow.clone());
        tokio::spawn(async move {
            for key in 0.. {
                let (steps, workflow) = (steps.clone(), workflow.clone());
                tokio::spawn(
                    async move { steps.run(&workflow, key.to_string(), &Vec::new()).await },
                );
                sleep(SECOND).await;
            }
        })
    };
    sleep(10 * SECOND).await;
    // Three steps of the one that has just begun.
    assert!(timeout(7 * SECOND, worker.stop()).await.is_ok());
    server.abort();
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_waits_for_a_run_that_has_only_just_begun() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Take(30 * SECOND)]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let worker = steps.work();
    let nothing = Vec::new();
    let mut run = Box::pin(steps.run(&workflow, "k", &nothing));
    assert!(run.as_mut().now_or_never().is_none());
    worker.stop().await;
    assert_eq!(only_job(&store).await.status, Status::Done);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_waits_for_runs_that_the_last_one_left() {
    for is_given_up in [false, true] {
        let (store, script) = (MemoryStore::new(), Script::new([Do::Take(30 * SECOND)]));
        let workflow = script.workflow();
        let steps = builder(&store).workflow(&workflow).build().unwrap();
        let (one, other) = (steps.work(), steps.work());
        let run = timeout(SECOND, steps.run(&workflow, "k", &Vec::new())).await;
        assert!(run.is_err());
        assert!(timeout(SECOND, one.stop()).await.is_err());
        if is_given_up {
            other.stop_within(SECOND).await;
        } else {
            other.stop().await;
        }
        let job = only_job(&store).await;
        assert_eq!(job.status == Status::Waiting, is_given_up, "{job:?}");
        assert_eq!(job.status == Status::Done, !is_given_up, "{job:?}");
    }
}
