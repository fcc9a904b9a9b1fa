// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps that succeed, fail, are rejected, hang or panic.

use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, breaker};
use atomic_breaker_steps::{
    Failed, Lane, MemoryStore, Ran, Status, StepError, Steps, Store, Workflow,
};
use tokio::time::{Instant, sleep};

use super::support::{Do, Script, builder, done, only_job, schedule};
use test_support::faulty_store::{Asked, FaultyStore};

const MINUTE: Duration = Duration::from_secs(60);

async fn history(store: &MemoryStore) -> Vec<Failed> {
    let job = only_job(store).await;
    store.history(job.id).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_job_that_succeeds_is_done_at_once() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let ran = steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    assert_eq!(ran, Ran::Done(done()));
    assert_eq!(script.calls(), done());
    assert_eq!(only_job(&store).await.status, Status::Done);
}

#[tokio::test(start_paused = true)]
async fn finished_steps_are_not_repeated_when_a_later_step_fails() {
    let (store, script) = (
        MemoryStore::new(),
        Script::new([Do::Succeed, Do::Fail, Do::Fail]),
    );
    let workflow = script.workflow().schedule(schedule(9));
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    let ran = steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    assert!(matches!(ran, Ran::Later { .. }), "{ran:?}");
    sleep(MINUTE).await;
    assert_eq!(
        script.calls(),
        ["first", "second", "second", "second", "third"]
    );
    // After 1 s, and after 2 s more; a worker wakes when it is due.
    let times = script.times();
    assert_eq!(times[2] - times[1], 1_000);
    assert_eq!(times[3] - times[2], 2_000);
    let job = only_job(&store).await;
    assert_eq!((job.status, job.failures), (Status::Done, 0));
    assert_eq!(
        serde_json::from_str::<Vec<String>>(&job.state).unwrap(),
        done()
    );
    assert_eq!(history(&store).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_kept_is_run_by_the_worker() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(MINUTE).await;
    assert!(script.calls().is_empty(), "there is no worker");
    let _worker = steps.work();
    sleep(Duration::from_millis(1)).await;
    assert_eq!(store.job(id).await.unwrap().unwrap().status, Status::Done);
    // A job that arrives while it works is taken up at once.
    let began = Instant::now();
    let id = steps.enqueue(&workflow, "l", &Vec::new()).await.unwrap();
    while store.job(id).await.unwrap().unwrap().status != Status::Done {
        sleep(Duration::from_millis(1)).await;
    }
    assert!(
        began.elapsed() < Duration::from_millis(20),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn the_same_key_is_one_job_and_its_end_is_returned() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Fail]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let worker = steps.work();
    let mut answers = Vec::new();
    for _ in 0..2 {
        answers.push(steps.run(&workflow, "k", &Vec::new()).await.unwrap());
    }
    assert!(matches!(answers[0], Ran::Later { .. }));
    assert_eq!(answers[0], answers[1]);
    sleep(MINUTE).await;
    let ran = steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    assert_eq!(ran, Ran::Done(done()));
    assert_eq!(script.calls().len(), 4);
    worker.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_error_that_ends_it_is_not_tried_again() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Succeed, Do::End]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    let ran = steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    let Ran::Ended { error, .. } = ran else {
        panic!("{ran:?}");
    };
    assert_eq!(error, "no such address");
    sleep(MINUTE).await;
    assert_eq!(script.calls().len(), 2);
    assert_eq!(only_job(&store).await.status, Status::Dead);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_panics_hangs_or_writes_nonsense_has_failed() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Panic, Do::Hang]));
    let workflow = script.workflow().schedule(schedule(9));
    let steps = builder(&store)
        .workflow(&workflow)
        .time_limit(Duration::from_secs(5))
        .build()
        .unwrap();
    let _worker = steps.work();
    steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(MINUTE).await;
    assert_eq!(only_job(&store).await.status, Status::Done);
    let errors: Vec<String> = history(&store)
        .await
        .into_iter()
        .map(|one| one.error)
        .collect();
    assert_eq!(errors, ["panicked: a mistake", "not done within 5s"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_takes_longer_than_the_lease_keeps_its_right() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Take(MINUTE * 5)]));
    let workflow = script.workflow();
    let steps = builder(&store)
        .workflow(&workflow)
        .lease(Duration::from_secs(1))
        .build()
        .unwrap();
    let _workers = [steps.work(), steps.work()];
    steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(MINUTE * 6).await;
    assert_eq!(script.calls(), done());
    assert!(history(&store).await.is_empty());
}

static INNER: Breaker = breaker(Config::new().open_for(Duration::from_secs(20)));

#[tokio::test(start_paused = true)]
async fn a_rejection_within_a_step_costs_no_try() {
    INNER.trip();
    let workflow = Workflow::new("kind").step("only", "a", async |done: u32| {
        INNER.call(|| Ok::<_, std::io::Error>(()))?;
        Ok::<_, StepError>(done + 1)
    });
    let store = MemoryStore::new();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    let ran = steps.run(&workflow, "k", &0).await.unwrap();
    assert!(matches!(ran, Ran::Later { .. }), "{ran:?}");
    let job = only_job(&store).await;
    assert_eq!((job.status, job.failures), (Status::Waiting, 0));
    assert!((10_000..=20_000).contains(&job.due_in_ms), "{job:?}");
    INNER.reset();
    sleep(Duration::from_secs(21)).await;
    assert_eq!(only_job(&store).await.status, Status::Done);
    assert!(history(&store).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_job_goes_on_when_the_caller_is_gone() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Take(MINUTE)]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let state = Vec::new();
    let run = steps.run(&workflow, "k", &state);
    assert!(
        tokio::time::timeout(Duration::from_secs(1), run)
            .await
            .is_err()
    );
    sleep(MINUTE).await;
    assert_eq!(only_job(&store).await.status, Status::Done);
}

#[tokio::test(start_paused = true)]
async fn jobs_no_worker_knows_are_parked_until_one_does() {
    let store = MemoryStore::new();
    let old = Workflow::new("kind").step("first", "a", async |state: String| {
        Err::<String, _>(StepError::retry_after(Duration::ZERO, state))
    });
    let steps = builder(&store).workflow(&old).build().unwrap();
    steps.enqueue(&old, "k", &"text".to_owned()).await.unwrap();
    // Another release has other steps, and another state.
    for (new, says) in [
        (
            Workflow::new("kind").step("other", "a", async |n: u32| Ok::<_, StepError>(n)),
            "no step",
        ),
        (
            Workflow::new("kind").step("first", "a", async |n: u32| Ok(n)),
            "state",
        ),
        (
            Workflow::new("else").step("first", "a", async |n: u32| Ok(n)),
            "no workflow",
        ),
    ] {
        let steps = builder(&store).workflow(&new).build().unwrap();
        let now = Duration::ZERO;
        store.unpark("kind", &["first"], now, 9).await.unwrap();
        let worker = steps.work();
        sleep(63 * MINUTE).await;
        worker.stop().await;
        let job = only_job(&store).await;
        assert_eq!((job.status, job.failures), (Status::Parked, 0), "{says}");
        let last = history(&store).await.pop().unwrap();
        assert!(last.error.contains(says), "{}", last.error);
    }
    let able = Workflow::new("kind").step("first", "a", async |state: String| Ok(state));
    let steps = builder(&store).workflow(&able).build().unwrap();
    let _worker = steps.work();
    sleep(MINUTE).await;
    assert_eq!(only_job(&store).await.status, Status::Done);
}

#[tokio::test(start_paused = true)]
async fn done_jobs_are_forgotten_after_their_time() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("a"))
        .lane(Lane::new("b"))
        .workflow(&workflow)
        .retention(MINUTE * 60)
        .build()
        .unwrap();
    let _worker = steps.work();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(MINUTE * 50).await;
    assert!(store.job(id).await.unwrap().is_some());
    sleep(MINUTE * 25).await;
    assert!(store.job(id).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn done_jobs_are_kept_for_a_week_unless_set() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).poll(MINUTE * 60);
    let steps = steps.build().unwrap();
    let _worker = steps.work();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    let week_less_20 = MINUTE * (7 * 24 * 60 - 20);
    sleep(week_less_20).await;
    assert!(store.job(id).await.unwrap().is_some());
    sleep(MINUTE * 60).await;
    assert!(store.job(id).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn how_often_the_store_is_asked_for_a_step_that_succeeds() {
    let one = Workflow::new("kind").step("only", "a", async |n: u32| Ok::<_, StepError>(n));
    let store = FaultyStore::default();
    let steps = builder(&store).workflow(&one).build().unwrap();
    steps.call_or_keep(&one, "called", &0).await.unwrap();
    assert_eq!(store.asked(), []);
    steps.run(&one, "run", &0).await.unwrap();
    assert_eq!(store.asked(), [Asked::Put, Asked::Save]);
    // A claim that finds nothing writes nothing.
    let store = FaultyStore::default();
    let steps = builder(&store).workflow(&one).poll(MINUTE * 60);
    let steps = steps.build().unwrap();
    steps.enqueue(&one, "enqueued", &0).await.unwrap();
    let _worker = steps.work();
    sleep(MINUTE).await;
    assert_eq!(only_job(&store.jobs).await.status, Status::Done);
    let writes = |of| store.asked().iter().filter(|each| **each == of).count();
    assert_eq!((writes(Asked::Put), writes(Asked::Save)), (1, 1));
}
