// SPDX-License-Identifier: MIT OR Apache-2.0
//! `call_or_keep` whose caller leaves in the middle: the call is finished, or kept.

use std::time::Duration;

use atomic_breaker_steps::{MemoryStore, Status, Steps, Store};
use futures_util::FutureExt;
use tokio::time::{Instant, sleep, timeout};

use super::keep_calls::one_step;
use super::support::{Do, Script, builder, only_job, schedule, with_mailbox};
use test_support::faulty_store::{Asked, Fault, FaultyStore};

const MINUTE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_timeout_around_it_interrupts_nothing() {
    let (store, script) = (
        MemoryStore::new(),
        Script::new([Do::Take(MINUTE), Do::Hang]),
    );
    let workflow = one_step(&script);
    let steps = builder(&store).time_limit(MINUTE * 2).workflow(&workflow);
    let steps = steps.build().unwrap();
    let state = "k".to_owned();
    for _ in 0..2 {
        let call = steps.call_or_keep(&workflow, "k", &state);
        assert!(timeout(SECOND, call).await.is_err());
    }
    sleep(MINUTE + SECOND).await;
    let jobs = store.counts().await.unwrap().jobs;
    assert!(
        jobs.is_empty(),
        "one is done, and the other under way: {jobs:?}"
    );
    sleep(MINUTE).await;
    let job = only_job(&store).await;
    assert_eq!((job.status, job.failures), (Status::Waiting, 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_not_polled_has_not_begun() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = one_step(&script);
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    drop(steps.call_or_keep(&workflow, "k", &"k".to_owned()));
    sleep(SECOND).await;
    assert!(script.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn calls_that_end_without_their_callers_are_kept_and_reported() {
    // Dropped while it is under way, and when the result is there but was not taken.
    for answered in [false, true] {
        let (store, script) = (MemoryStore::new(), Script::new([Do::End]));
        let workflow = one_step(&script);
        let (steps, mailbox) = with_mailbox(&store, &workflow);
        let state = "k".to_owned();
        let mut call = Box::pin(steps.call_or_keep(&workflow, "k", &state));
        assert!(call.as_mut().now_or_never().is_none());
        if answered {
            sleep(SECOND).await;
        }
        drop(call);
        sleep(SECOND).await;
        let job = only_job(&store).await;
        assert_eq!((job.status, job.failures), (Status::Dead, 1));
        let told = mailbox.told.lock().unwrap();
        assert_eq!((told.len(), &*told[0].error), (1, "no such address"));
    }
}

#[tokio::test(start_paused = true)]
async fn work_the_store_refused_is_kept_later_if_the_caller_has_gone() {
    let (store, script) = (FaultyStore::default(), Script::new([Do::Fail, Do::Fail]));
    store.next(Asked::Put, 9, Fault::Error("no disk".to_owned()));
    let workflow = one_step(&script).schedule(schedule(9));
    let steps = Steps::builder(store.clone())
        .lane(atomic_breaker_steps::Lane::new("a"))
        .workflow(&workflow)
        .build()
        .unwrap();
    let state = "k".to_owned();
    // The caller knows the outcome and may act on it: the store is called once more, and no more.
    let heard = steps.call_or_keep(&workflow, "k", &state).await;
    assert!(heard.is_err());
    sleep(MINUTE).await;
    assert_eq!(store.left(), 8);
    let mut call = Box::pin(steps.call_or_keep(&workflow, "k", &state));
    assert!(call.as_mut().now_or_never().is_none());
    drop(call);
    sleep(MINUTE).await;
    let job = only_job(&store.jobs).await;
    assert_eq!((job.status, job.failures), (Status::Waiting, 1));
}

#[tokio::test(start_paused = true)]
async fn a_process_can_wait_for_calls_whose_callers_have_gone() {
    let script = Script::new([Do::Take(MINUTE), Do::End]);
    let store = MemoryStore::new();
    let workflow = one_step(&script);
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    steps.calls_ended().await;
    let began = Instant::now();
    let state = "k".to_owned();
    let call = steps.call_or_keep(&workflow, "k", &state);
    assert!(timeout(SECOND, call).await.is_err());
    steps.calls_ended().await;
    assert_eq!(began.elapsed(), MINUTE);
    // The worker also waits for the store to keep calls whose caller got no result.
    let mut call = Box::pin(steps.call_or_keep(&workflow, "k", &state));
    assert!(call.as_mut().now_or_never().is_none());
    sleep(SECOND).await;
    drop(call);
    steps.calls_ended().await;
    assert_eq!(only_job(&store).await.status, Status::Dead);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_waits_for_a_call_or_keeps_it() {
    for (time, is_kept) in [(MINUTE * 2, false), (SECOND * 30, true)] {
        let (store, script) = (MemoryStore::new(), Script::new([Do::Take(MINUTE)]));
        let workflow = one_step(&script);
        let steps = builder(&store).time_limit(MINUTE * 5).workflow(&workflow);
        let steps = steps.build().unwrap();
        let worker = steps.work();
        let state = "k".to_owned();
        let call = steps.call_or_keep(&workflow, "k", &state);
        assert!(timeout(SECOND, call).await.is_err());
        worker.stop_within(time).await;
        let jobs = store.counts().await.unwrap();
        assert_eq!(jobs.of(Status::Waiting) == 1, is_kept);
        assert_eq!(jobs.jobs.is_empty(), !is_kept);
        if is_kept {
            assert_eq!(
                only_job(&store).await.failures,
                0,
                "that did not count as a try"
            );
        }
    }
}
