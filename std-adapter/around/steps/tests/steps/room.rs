// SPDX-License-Identifier: MIT OR Apache-2.0
//! Room in a lane, which is shared by calls and by a worker that claims jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, State, TokioClock};
use atomic_breaker_steps::{
    Filter, Lane, MemoryStore, Ran, Status, Steps, StepsBuilder, Store, Workflow,
};
use tokio::time::sleep;

use test_support::faulty_store::{Asked, Fault, FaultyStore};

const SECOND: Duration = Duration::from_secs(1);

/// The number of steps that run at the same time, and the highest number so far.
#[derive(Clone, Default)]
struct Running {
    now: Arc<AtomicU32>,
    most: Arc<AtomicU32>,
}

impl Running {
    fn workflow(&self) -> Workflow<u32> {
        let running = self.clone();
        Workflow::new("kind").step("only", "a", move |state: u32| {
            let running = running.clone();
            async move {
                let now = running.now.fetch_add(1, Relaxed) + 1;
                running.most.fetch_max(now, Relaxed);
                sleep(SECOND / 20).await;
                running.now.fetch_sub(1, Relaxed);
                Ok(state)
            }
        })
    }
}

/// Claims return after a while.
fn slow(memory: &MemoryStore, late_claims: Duration) -> StepsBuilder<FaultyStore> {
    let store = FaultyStore::to(memory);
    store.next(Asked::Claim, u32::MAX, Fault::Late(late_claims));
    Steps::builder(store)
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_takes_long_keeps_no_call_waiting() {
    for at_once in [1, 16] {
        let (memory, running) = (MemoryStore::new(), Running::default());
        let workflow = running.workflow();
        let steps = slow(&memory, 20 * SECOND)
            .lane(Lane::new("a").at_once(at_once))
            .workflow(&workflow)
            .build()
            .unwrap();
        let worker = steps.work();
        for key in 0..100 {
            let key = key.to_string();
            let ran = steps.call_or_keep(&workflow, key, &7).await.unwrap();
            assert_eq!(ran, Ran::Done(7));
            sleep(SECOND / 2).await;
        }
        let ran = steps.run(&workflow, "run", &8).await.unwrap();
        assert_eq!(ran, Ran::Done(8));
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn half_open_a_call_is_the_probe_while_a_worker_only_looks() {
    let (memory, running) = (MemoryStore::new(), Running::default());
    let workflow = running.workflow();
    let a = Arc::new(Breaker::new(
        Config::new().open_for(SECOND).probes(1),
        TokioClock,
    ));
    a.trip();
    let steps = slow(&memory, 20 * SECOND)
        .lane(Lane::new("a").guarded(Arc::clone(&a)))
        .workflow(&workflow)
        .build()
        .unwrap();
    let _worker = steps.work();
    sleep(3 * SECOND).await;
    let entered = a.snapshot().entered();
    assert_eq!(entered, State::Open, "no one has asked it");
    let ran = steps.call_or_keep(&workflow, "k", &7).await.unwrap();
    assert_eq!((ran, a.state()), (Ran::Done(7), State::Closed));
}

#[tokio::test(start_paused = true)]
async fn however_calls_and_claims_meet_each_job_is_done_once() {
    for at_once in [1, 3] {
        let (memory, running) = (MemoryStore::new(), Running::default());
        let workflow = running.workflow();
        let steps = slow(&memory, SECOND / 10)
            .lane(Lane::new("a").at_once(at_once))
            .workflow(&workflow)
            .build()
            .unwrap();
        let worker = steps.work();
        let mut called = 0;
        for key in 0..200_u32 {
            let kept = steps.enqueue(&workflow, format!("kept {key}"), &key);
            kept.await.unwrap();
            let call = steps.call_or_keep(&workflow, key.to_string(), &key);
            called += u32::from(matches!(call.await.unwrap(), Ran::Done(_)));
            sleep(Duration::from_millis(u64::from(key % 40))).await;
        }
        assert!(called > 0);
        sleep(600 * SECOND).await;
        worker.stop().await;
        let jobs = memory.list(&Filter::default(), 10_000).await.unwrap();
        assert_eq!(jobs.len() as u32, 400 - called);
        for job in jobs {
            assert_eq!((job.status, job.failures), (Status::Done, 0), "{job:?}");
        }
        assert_eq!(running.most.load(Relaxed), at_once);
    }
}
