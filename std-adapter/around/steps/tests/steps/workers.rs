// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workers that stop, die, or are given up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use atomic_breaker_steps::{
    Change, Lane, MemoryStore, Save, Status, StepError, Steps, Store, Workflow,
};
use tokio::time::sleep;

use super::support::{Do, Script, builder, only_job, schedule};

const LEASE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_claims_no_more_and_ends_what_it_began() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Take(LEASE)]));
    let workflow = script.workflow();
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("a").at_once(1))
        .lane(Lane::new("b"))
        .workflow(&workflow)
        .build()
        .unwrap();
    let worker = steps.work();
    let first = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    let second = steps.enqueue(&workflow, "l", &Vec::new()).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    worker.stop().await;
    assert_eq!(
        store.job(first).await.unwrap().unwrap().status,
        Status::Done
    );
    sleep(LEASE).await;
    let job = store.job(second).await.unwrap().unwrap();
    assert_eq!((job.status, job.failures), (Status::Waiting, 0));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_must_go_gives_back_what_does_not_end() {
    let store = MemoryStore::new();
    let script = Script::new([Do::Hang, Do::Take(Duration::from_secs(2))]);
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let worker = steps.work();
    let hangs = steps
        .enqueue(&workflow, "hangs", &Vec::new())
        .await
        .unwrap();
    sleep(Duration::from_secs(1)).await;
    let ends = steps.enqueue(&workflow, "ends", &Vec::new()).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let began = tokio::time::Instant::now();
    worker.stop_within(Duration::from_secs(5)).await;
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    let job = store.job(ends).await.unwrap().unwrap();
    assert_eq!(job.status, Status::Done);
    let job = store.job(hangs).await.unwrap().unwrap();
    assert_eq!((job.status, job.failures), (Status::Waiting, 0));
    // The next worker takes it up at once.
    let _worker = steps.work();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(
        store.job(hangs).await.unwrap().unwrap().status,
        Status::Done
    );
}

#[tokio::test(start_paused = true)]
async fn a_job_of_a_dead_worker_is_taken_up_and_that_was_a_try() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow().schedule(schedule(3));
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    // Claimed by a worker that is never heard of again.
    store.claim("a", 9, LEASE).await.unwrap();
    let _worker = steps.work();
    sleep(LEASE.saturating_sub(Duration::from_secs(1))).await;
    assert!(script.calls().is_empty());
    sleep(Duration::from_secs(5)).await;
    let job = only_job(&store).await;
    assert_eq!(job.status, Status::Done);
    let history = store.history(job.id).await.unwrap();
    assert_eq!((history.len(), history[0].failures), (1, 1));
    assert!(history[0].error.contains("worker"), "{history:?}");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_kills_workers_ends_and_its_neighbours_do_not_pay() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow().schedule(schedule(3));
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    for key in ["a", "killer", "c"] {
        steps.enqueue(&workflow, key, &Vec::new()).await.unwrap();
    }
    // A worker dies whenever it has claimed the killer; all others do their work.
    let mut deaths = 0;
    for _ in 0..1_000 {
        let claimed = store.claim("a", 9, LEASE).await.unwrap().jobs;
        let kills = claimed
            .iter()
            .any(|claimed| claimed.job.key == "killer" && !claimed.is_lost);
        deaths += u32::from(kills);
        if !kills {
            for one in claimed {
                assert!(one.job.key == "killer" || !one.is_lost);
                let failures = one.job.failures + 1;
                let change = match (one.is_lost, failures < 3) {
                    (false, _) => Change::done("[]".to_owned()),
                    (true, true) => Change::again(Duration::from_secs(1), "lost".to_owned()),
                    (true, false) => Change::dead("lost".to_owned()).tell(true),
                };
                let right = one.right;
                store.save(&[Save { right, change }]).await.unwrap();
            }
        }
        sleep(Duration::from_secs(10)).await;
    }
    assert_eq!(deaths, 4, "once in company, and three times alone");
    let counts = store.counts().await.unwrap();
    assert_eq!(
        (counts.of(Status::Done), counts.of(Status::Dead)),
        (2, 1),
        "{counts:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_was_given_up_but_lives_cannot_save() {
    let store = MemoryStore::new();
    let ran = Arc::new(AtomicU32::new(0));
    let slow = |ran: Arc<AtomicU32>| {
        Workflow::new("kind").step("only", "a", move |state: u32| {
            let run = ran.fetch_add(1, Ordering::SeqCst);
            async move {
                sleep(Duration::from_secs(5)).await;
                Ok::<_, StepError>(state + 1 + 10 * run)
            }
        })
    };
    let workflow = slow(Arc::clone(&ran));
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let run = tokio::spawn({
        let (steps, workflow) = (steps.clone(), workflow.clone());
        async move { steps.run(&workflow, "k", &0).await.unwrap() }
    });
    sleep(Duration::from_secs(1)).await;
    // An operator cancels it, and has it run anew, while it runs.
    let job = only_job(&store).await;
    assert!(store.cancel(job.id).await.unwrap());
    let late = run.await.unwrap();
    assert!(
        matches!(late, atomic_breaker_steps::Ran::Later { .. }),
        "{late:?}"
    );
    let job = only_job(&store).await;
    assert_eq!((job.status, &*job.state), (Status::Cancelled, "0"));
}

#[tokio::test(start_paused = true)]
async fn many_workers_run_each_step_once() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    let all: Vec<_> = (0..8)
        .map(|_| builder(&store).workflow(&workflow).build().unwrap())
        .collect();
    let _workers: Vec<_> = all.iter().map(Steps::work).collect();
    for key in 0..1_000 {
        let steps = &all[key % 8];
        steps
            .enqueue(&workflow, key.to_string(), &Vec::new())
            .await
            .unwrap();
    }
    sleep(LEASE).await;
    let counts = store.counts().await.unwrap();
    assert_eq!(counts.of(Status::Done), 1_000, "{counts:?}");
    assert_eq!(script.calls().len(), 3_000);
}

#[tokio::test(start_paused = true)]
async fn a_job_kept_by_the_store_is_taken_up_at_once_on_command() {
    for is_woken in [false, true] {
        let (store, script) = (MemoryStore::new(), Script::new([]));
        let workflow = script.workflow();
        let poll = Duration::from_secs(600);
        let steps = builder(&store).workflow(&workflow).poll(poll);
        let steps = steps.build().unwrap();
        let _worker = steps.work();
        sleep(Duration::from_secs(1)).await;
        let job = workflow.job("k", &Vec::new()).unwrap();
        store.put(&job, None).await.unwrap();
        // It changes nothing for a lane that is not known here.
        steps.wake("unknown");
        if is_woken {
            steps.wake("a");
        }
        sleep(Duration::from_secs(1)).await;
        let is_done = only_job(&store).await.status == Status::Done;
        assert_eq!(is_done, is_woken);
        sleep(Duration::from_secs(700)).await;
        assert_eq!(only_job(&store).await.status, Status::Done, "by its poll");
    }
}
