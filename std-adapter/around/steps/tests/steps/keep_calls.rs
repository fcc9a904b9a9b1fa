// SPDX-License-Identifier: MIT OR Apache-2.0
//! `call_or_keep`: calls that succeed, are rejected, fail, or end.

use std::error::Error;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, Rejection, State, TokioClock, breaker};
use atomic_breaker_steps::{
    EnqueueError, Filter, Lane, MemoryStore, Ran, Status, StepError, Steps, Store, Workflow,
};
use tokio::time::sleep;

use super::support::{Do, Script, builder, only_job, schedule};
use test_support::faulty_store::{Fault, FaultyStore};

const MINUTE: Duration = Duration::from_secs(60);

/// One step in lane `"a"`, whose state is its name.
pub(super) fn one_step(script: &Script) -> Workflow<String> {
    let script = script.clone();
    Workflow::new("kind")
        .step("only", "a", move |name: String| {
            let script = script.clone();
            async move {
                script.act(&name).await?;
                Ok(name + ", done")
            }
        })
        .schedule(schedule(9))
}

fn guarded(store: &MemoryStore, workflow: &Workflow<String>, lane: Lane) -> Steps<MemoryStore> {
    let builder = Steps::builder(store.clone()).lane(lane);
    builder.workflow(workflow).build().unwrap()
}

async fn call(steps: &Steps<MemoryStore>, workflow: &Workflow<String>, key: &str) -> Ran<String> {
    let ran = steps.call_or_keep(workflow, key, &key.to_owned()).await;
    ran.unwrap()
}

async fn kept(store: &MemoryStore) -> usize {
    store.list(&Filter::default(), 1_000).await.unwrap().len()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_succeeds_at_once_is_not_stored() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = one_step(&script);
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    assert_eq!(
        call(&steps, &workflow, "k").await,
        Ran::Done("k, done".to_owned())
    );
    assert_eq!(kept(&store).await, 0);
    // The key is as free as before.
    call(&steps, &workflow, "k").await;
    assert_eq!(script.calls(), ["k", "k"]);
}

#[tokio::test(start_paused = true)]
async fn rejected_calls_are_done_once_in_order_when_the_lane_admits() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = one_step(&script);
    let a = Arc::new(Breaker::new(
        Config::new().open_for(MINUTE * 60),
        TokioClock,
    ));
    a.trip();
    let lane = Lane::new("a").at_once(1).guarded(Arc::clone(&a));
    let steps = guarded(&store, &workflow, lane);
    let _worker = steps.work();
    let keys: Vec<String> = (0..20).map(|key| format!("{key:02}")).collect();
    for key in &keys {
        let ran = call(&steps, &workflow, key).await;
        assert!(matches!(ran, Ran::Later { .. }), "{ran:?}");
        sleep(Duration::from_millis(1_234)).await;
    }
    assert!(script.calls().is_empty());
    let jobs = store.list(&Filter::default(), 99).await.unwrap();
    assert!(jobs.iter().all(|job| job.failures == 0), "{jobs:?}");
    // An operator knows better: it need not wait for the rest of the hour.
    a.reset();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(script.calls(), keys);
    assert_eq!(store.counts().await.unwrap().of(Status::Done), 20);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_the_first_try_of_the_job() {
    for (fails, says) in [
        (Do::Fail, "refused"),
        (Do::Panic, "panicked: a mistake"),
        (Do::Hang, "not done within 5s"),
    ] {
        let (store, script) = (MemoryStore::new(), Script::new([fails, Do::Fail]));
        let workflow = one_step(&script);
        let limit = Duration::from_secs(5);
        let steps = builder(&store).time_limit(limit).workflow(&workflow);
        let steps = steps.build().unwrap();
        let _worker = steps.work();
        let ran = call(&steps, &workflow, "k").await;
        let job = only_job(&store).await;
        let (id, step, state) = (job.id, "only".to_owned(), Some("k".to_owned()));
        assert_eq!(ran, Ran::Later { id, step, state });
        assert_eq!((job.status, job.failures), (Status::Waiting, 1));
        assert!((1..=1_000).contains(&job.due_in_ms), "{job:?}");
        let history = store.history(job.id).await.unwrap();
        assert_eq!((history.len(), &*history[0].error), (1, says));
        sleep(MINUTE).await;
        let job = only_job(&store).await;
        assert_eq!((job.status, &*job.state), (Status::Done, "\"k, done\""));
        let times = script.times();
        assert_eq!((times.len(), times[2] - times[1]), (3, 2_000));
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_is_waited_for() {
    let store = MemoryStore::new();
    let script = Script::new([Do::RetryAfter(MINUTE)]);
    let workflow = one_step(&script);
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    call(&steps, &workflow, "k").await;
    sleep(MINUTE * 2).await;
    assert_eq!(script.times()[1], 60_000);
}

static INNER: Breaker = breaker(Config::new().open_for(Duration::from_secs(20)));

#[tokio::test(start_paused = true)]
async fn a_rejection_within_is_no_try_and_due_when_the_breaker_said() {
    INNER.trip();
    let plain = Workflow::new("kind").step("only", "a", async |state: String| {
        INNER.call(|| Ok::<_, io::Error>(()))?;
        Ok::<_, StepError>(state)
    });
    let within = Workflow::new("kind").step("only", "a", async |state: String| {
        INNER.acquire().map_err(io::Error::other)?.success();
        Ok::<_, StepError>(state)
    });
    for workflow in [plain, within] {
        let store = MemoryStore::new();
        let steps = builder(&store).workflow(&workflow).build().unwrap();
        let ran = call(&steps, &workflow, "k").await;
        let job = only_job(&store).await;
        let (id, step, state) = (job.id, "only".to_owned(), Some("k".to_owned()));
        assert_eq!(ran, Ran::Later { id, step, state });
        assert_eq!((job.status, job.failures), (Status::Waiting, 0));
        assert!((10_000..=20_000).contains(&job.due_in_ms), "{job:?}");
        assert!(store.history(job.id).await.unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn calls_without_room_are_kept_and_done_when_there_is_room() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Take(MINUTE)]));
    let workflow = one_step(&script);
    let steps = guarded(&store, &workflow, Lane::new("a").at_once(1));
    let _worker = steps.work();
    let (first, second) = tokio::join!(call(&steps, &workflow, "1"), async {
        sleep(Duration::from_secs(1)).await;
        call(&steps, &workflow, "2").await
    });
    assert_eq!(first, Ran::Done("1, done".to_owned()));
    assert!(matches!(second, Ran::Later { .. }), "{second:?}");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(only_job(&store).await.status, Status::Done);
    assert_eq!(script.times()[1], 60_000);
}

#[tokio::test(start_paused = true)]
async fn half_open_the_call_is_the_probe_and_others_wait_for_it() {
    let store = MemoryStore::new();
    let script = Script::new([Do::Take(MINUTE)]);
    let workflow = one_step(&script);
    let rules = Config::new().open_for(Duration::from_secs(10)).probes(1);
    let a = Arc::new(Breaker::new(rules, TokioClock));
    a.trip();
    sleep(Duration::from_secs(11)).await;
    let steps = guarded(&store, &workflow, Lane::new("a").guarded(Arc::clone(&a)));
    let _worker = steps.work();
    let (probe, other) = tokio::join!(call(&steps, &workflow, "probe"), async {
        sleep(Duration::from_secs(1)).await;
        call(&steps, &workflow, "other").await
    });
    assert_eq!(probe, Ran::Done("probe, done".to_owned()));
    assert!(matches!(other, Ran::Later { .. }), "{other:?}");
    assert_eq!(a.state(), State::Closed);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(only_job(&store).await.status, Status::Done);
    assert_eq!(script.calls(), ["probe", "other"]);
}

#[tokio::test(start_paused = true)]
async fn a_final_error_goes_to_the_caller_and_is_not_kept() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::End, Do::Fail]));
    let once = one_step(&script).schedule(schedule(1));
    let steps = builder(&store).workflow(&once).build().unwrap();
    for says in ["no such address", "refused"] {
        let ran = call(&steps, &once, "k").await;
        let error = says.to_owned();
        assert_eq!(ran, Ran::Ended { id: None, error });
    }
    sleep(MINUTE).await;
    assert_eq!(kept(&store).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_kept_gets_no_second_job() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Fail, Do::Fail]));
    let workflow = one_step(&script);
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let first = call(&steps, &workflow, "k").await;
    assert_eq!(call(&steps, &workflow, "k").await, first);
    let job = only_job(&store).await;
    assert_eq!(job.failures, 1, "the other try does not belong to that job");
    // It succeeds, and the job still exists.
    assert!(matches!(call(&steps, &workflow, "k").await, Ran::Done(_)));
    assert_eq!(only_job(&store).await.status, Status::Waiting);
    let _worker = steps.work();
    sleep(MINUTE).await;
    assert_eq!(only_job(&store).await.status, Status::Done);
}

#[tokio::test(start_paused = true)]
async fn the_first_try_has_no_job_and_every_try_the_same_key() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let workflow = Workflow::new("kind").step_in_context("only", "a", move |(): (), context| {
        notes.lock().unwrap().push(context.clone());
        async move {
            if context.failures == 0 {
                return Err("refused".into());
            }
            Ok(())
        }
    });
    let store = MemoryStore::new();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    steps.call_or_keep(&workflow, "k", &()).await.unwrap();
    sleep(MINUTE).await;
    let id = only_job(&store).await.id;
    let seen = seen.lock().unwrap();
    let tries: Vec<_> = seen
        .iter()
        .map(|it| (it.id, &*it.key, it.failures))
        .collect();
    assert_eq!(tries, [(None, "k", 0), (Some(id), "k", 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_does_not_hide_why_it_was_to_be_kept() {
    let (store, script) = (FaultyStore::default(), Script::new([]));
    store.set(Some(Fault::Error("no disk".to_owned())));
    let workflow = one_step(&script);
    let a = Arc::new(Breaker::new(Config::new(), TokioClock));
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("a").guarded(Arc::clone(&a)))
        .workflow(&workflow)
        .build()
        .unwrap();
    let done = steps.call_or_keep(&workflow, "k", &"k".to_owned()).await;
    assert_eq!(
        done.unwrap(),
        Ran::Done("k, done".to_owned()),
        "no store is needed"
    );
    a.trip();
    let error = steps.call_or_keep(&workflow, "k", &"k".to_owned()).await;
    let error = error.unwrap_err();
    let says = error.to_string();
    assert!(
        says.starts_with("circuit breaker is open") && says.ends_with("no disk"),
        "{says}"
    );
    assert!(error.source().unwrap().is::<Rejection>());
    assert!(matches!(error, EnqueueError::NotKept { .. }));
}

#[tokio::test(start_paused = true)]
async fn workflows_of_several_steps_are_referred_to_run() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let error = steps.call_or_keep(&workflow, "k", &Vec::new()).await;
    assert!(error.unwrap_err().to_string().contains("use `run`"));
    assert!(script.calls().is_empty());
}
