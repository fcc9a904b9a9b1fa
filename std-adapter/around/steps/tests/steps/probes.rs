// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps that are probes of their lane, and what a breaker is told of a step.

use std::sync::Arc;

use atomic_breaker_http::{Breaker, Config, State, TokioClock};
use atomic_breaker_server::Resource;
use atomic_breaker_steps::{Lane, MemoryStore, Ran, Status, StepError, Store, Workflow};
use tokio::time::sleep;

use super::looking::{OPEN, SECOND, Shared, breaker, of};
use super::support::{Do, Script, only_job, schedule};
use test_support::faulty_store::FaultyStore;

fn acting(script: &Script) -> Workflow<u32> {
    let script = script.clone();
    let step = move |n: u32| {
        let script = script.clone();
        async move {
            script.act("only").await?;
            Ok::<_, StepError>(n)
        }
    };
    Workflow::new("kind")
        .step("only", "a", step)
        .schedule(schedule(9))
}

fn guarded(breaker: &Shared) -> Lane {
    Lane::new("a").guarded(Arc::clone(breaker))
}

/// Half-open, with one slot.
async fn half_open(rules: Config) -> Shared {
    let a = breaker(rules.probes(1));
    a.trip();
    sleep(3 * SECOND).await;
    a
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_takes_long_keeps_its_slot() {
    let a = half_open(OPEN.probe_lease(5 * SECOND)).await;
    let script = Script::new([Do::Take(60 * SECOND)]);
    let (store, workflow) = (FaultyStore::default(), acting(&script));
    let steps = of(store, guarded(&a), &workflow).build().unwrap();
    let _worker = steps.work();
    steps.enqueue(&workflow, "k", &7).await.unwrap();
    for second in 1..60 {
        sleep(SECOND).await;
        assert!(a.acquire().is_err(), "after {second} s");
    }
    sleep(2 * SECOND).await;
    assert_eq!(a.state(), State::Closed);
}

/// The lease ends the slot of neither; the page says so, as other callers wait for that long.
#[tokio::test(start_paused = true)]
async fn a_probe_that_hangs_keeps_its_slot_until_the_time_limit() {
    for limit in [10, 600] {
        let a = half_open(OPEN.probe_lease(5 * SECOND)).await;
        let script = Script::new([Do::Hang]);
        let (store, workflow) = (FaultyStore::default(), acting(&script));
        let steps = of(store, guarded(&a), &workflow).time_limit(limit * SECOND);
        let steps = steps.build().unwrap();
        let _worker = steps.work();
        steps.enqueue(&workflow, "k", &7).await.unwrap();
        sleep((limit - 1) * SECOND).await;
        assert!(a.acquire().is_err(), "{:?}", a.snapshot());
        assert_eq!(a.state(), State::HalfOpen);
        sleep(2 * SECOND).await;
        assert_eq!(a.state(), State::Open, "the probe has failed");
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_succeeds_late_counts_as_slow() {
    let rules = Config::new().consecutive_failures(1).slow_call(10 * SECOND);
    for (takes, state) in [(9, State::Closed), (11, State::Open)] {
        let (a, script) = (breaker(rules), Script::new([Do::Take(takes * SECOND)]));
        let (store, workflow) = (FaultyStore::default(), acting(&script));
        let steps = of(store, guarded(&a), &workflow).build().unwrap();
        let ran = steps.run(&workflow, "k", &7).await.unwrap();
        assert_eq!((ran, a.state()), (Ran::Done(7), state));
    }
}

/// Its job was cancelled, which the worker learns when it renews the lease, half a second after it renewed the probe.
#[tokio::test(start_paused = true)]
async fn a_probe_whose_right_is_gone_says_nothing_of_its_resource() {
    let a = half_open(OPEN).await;
    let (jobs, script) = (MemoryStore::new(), Script::new([Do::Hang]));
    let workflow = acting(&script);
    let lease = 3 * SECOND + SECOND / 2;
    let steps = of(FaultyStore::to(&jobs), guarded(&a), &workflow).lease(3 * lease);
    let steps = steps.build().unwrap();
    let _worker = steps.work();
    let id = steps.enqueue(&workflow, "k", &7).await.unwrap();
    sleep(SECOND).await;
    assert!(jobs.cancel(id).await.unwrap());
    sleep(lease).await;
    assert_eq!(script.calls().len(), 1);
    assert_eq!(a.state(), State::HalfOpen);
    assert!(a.acquire().is_ok(), "its slot is free");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_fails_is_tried_once() {
    let a = half_open(OPEN).await;
    let (jobs, script) = (MemoryStore::new(), Script::new([Do::Fail]));
    let workflow = acting(&script);
    let steps = of(FaultyStore::to(&jobs), guarded(&a), &workflow);
    let steps = steps.build().unwrap();
    let ran = steps.run(&workflow, "k", &7).await.unwrap();
    assert!(matches!(ran, Ran::Later { .. }), "{ran:?}");
    assert_eq!((script.calls().len(), a.state()), (1, State::Open));
    let job = only_job(&jobs).await;
    assert_eq!((job.status, job.failures), (Status::Waiting, 1));
}

#[tokio::test(start_paused = true)]
async fn a_breaker_that_a_step_opens_knows_why() {
    let rules = Config::new().consecutive_failures(1);
    let a = Arc::new(Resource::new(Breaker::new(rules, TokioClock)));
    let script = Script::new([Do::Fail]);
    let (store, workflow) = (FaultyStore::default(), acting(&script));
    let lane = Lane::new("a").guarded(Arc::clone(&a));
    let steps = of(store, lane, &workflow).build().unwrap();
    steps.run(&workflow, "k", &7).await.unwrap();
    let failure = a.last_failure().get().expect("it is open");
    assert_eq!(&*failure.text, "refused");
}
