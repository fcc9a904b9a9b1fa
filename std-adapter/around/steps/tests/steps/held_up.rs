// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs that are held up: a breaker within the step rejects each try, or no worker knows how to run them.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, TokioClock};
use atomic_breaker_steps::{
    Filter, Lane, MemoryStore, NewJob, Ran, Status, StepError, Steps, Store, Workflow,
};
use tokio::time::sleep;

use super::support::{Mailbox, builder, only_job, schedule};
use test_support::faulty_store::{Asked, FaultyStore};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

type Shared = Arc<Breaker<TokioClock>>;

fn breaker() -> Shared {
    Arc::new(Breaker::new(Config::new(), TokioClock))
}

/// One step whose call goes through a breaker that its lane does not have.
fn guarded(breaker: &Shared) -> Workflow<u32> {
    let breaker = Arc::clone(breaker);
    Workflow::new("kind").step("only", "a", move |state: u32| {
        let breaker = Arc::clone(&breaker);
        async move {
            breaker.call(|| Ok::<_, std::io::Error>(()))?;
            Ok(state)
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_job_rejected_for_a_week_is_visible_told_and_rarely_tried() {
    let (store, inner, mail) = (FaultyStore::default(), breaker(), Mailbox::default());
    let workflow = guarded(&inner);
    let steps = builder(&store).workflow(&workflow).notifier(mail.clone());
    let steps = steps.build().unwrap();
    inner.force_open();
    let _worker = steps.work();
    let id = steps.enqueue(&workflow, "k", &0).await.unwrap();
    sleep(59 * MINUTE).await;
    assert_eq!(mail.told.lock().unwrap().len(), 0, "not before an hour");
    sleep(7 * DAY).await;
    let saves = store
        .asked()
        .iter()
        .filter(|asked| **asked == Asked::Save)
        .count();
    assert!((1_000..4_000).contains(&saves), "{saves} saves");
    let counts = store.jobs.counts().await.unwrap();
    assert!(counts.oldest_due > Some(6 * DAY), "{counts:?}");
    assert_eq!(counts.due, [("a".to_owned(), 1)]);
    let told = mail.told.lock().unwrap().clone();
    let [stuck] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((stuck.job.id, stuck.status), (id, Status::Waiting));
    assert!(stuck.error.contains("forced open"), "{}", stuck.error);
    let job = only_job(&store.jobs).await;
    assert_eq!((job.status, job.failures), (Status::Waiting, 0));
    assert_eq!(store.jobs.history(id).await.unwrap().len(), 1);
    // It is done soon after the breaker admits calls again.
    inner.reset();
    sleep(7 * MINUTE).await;
    assert_eq!(only_job(&store.jobs).await.status, Status::Done);
    assert_eq!(store.jobs.counts().await.unwrap().oldest_due, None);
}

#[tokio::test(start_paused = true)]
async fn a_job_held_up_for_a_moment_is_soon_done_and_not_reported() {
    let (store, inner, mail) = (MemoryStore::new(), breaker(), Mailbox::default());
    let workflow = guarded(&inner);
    let steps = builder(&store).workflow(&workflow).notifier(mail.clone());
    let steps = steps.build().unwrap();
    let _worker = steps.work();
    for round in 0..5 {
        inner.force_open();
        let ran = steps.run(&workflow, round.to_string(), &0).await.unwrap();
        assert!(matches!(ran, Ran::Later { .. }), "{ran:?}");
        sleep(SECOND / 2).await;
        inner.reset();
        sleep(2 * SECOND).await;
        assert_eq!(store.counts().await.unwrap().of(Status::Waiting), 0);
    }
    assert_eq!(mail.told.lock().unwrap().len(), 0);
}

/// The previous release, and the next one, which has one step more.
fn releases() -> [Workflow<u32>; 2] {
    let step = async |n: u32| Ok::<_, StepError>(n + 1);
    let of = || {
        Workflow::new("kind")
            .schedule(schedule(3))
            .step("first", "a", step)
    };
    [of(), of().step("second", "b", step)]
}

#[tokio::test(start_paused = true)]
async fn in_a_rolling_deploy_a_worker_parks_no_job_with_a_new_step() {
    let store = MemoryStore::new();
    let [old, new] = releases().map(|of| (builder(&store).workflow(&of).build().unwrap(), of));
    let _old = [old.0.work(), old.0.work(), old.0.work()];
    let enqueue = async |keys: std::ops::Range<u32>| {
        for key in keys {
            let kept = new.0.enqueue(&new.1, key.to_string(), &0);
            kept.await.unwrap();
        }
    };
    // Kept by a process that is stopped before it runs the second step.
    let is_new = Workflow::new("kind")
        .step("first", "elsewhere", async |n: u32| Ok::<_, StepError>(n))
        .step("second", "b", async |n: u32| Ok(n));
    for key in 100..150 {
        let job = is_new.job(key.to_string(), &1).unwrap();
        let job = at_its_second(job);
        store.put(&job, None).await.unwrap();
    }
    sleep(10 * MINUTE).await;
    assert_eq!(store.counts().await.unwrap().of(Status::Parked), 0);
    let new_worker = new.0.work();
    enqueue(0..50).await;
    for _ in 0..45 * 60 {
        sleep(SECOND).await;
        let counts = store.counts().await.unwrap();
        assert_eq!(counts.of(Status::Parked), 0, "{counts:?}");
    }
    let counts = store.counts().await.unwrap();
    assert_eq!(counts.of(Status::Waiting), 0, "{counts:?}");
    let filter = Filter::new().status(Status::Done);
    for job in store.list(&filter, 999).await.unwrap() {
        assert_eq!(store.history(job.id).await.unwrap(), [], "{job:?}");
    }
    new_worker.stop().await;
}

/// At its second step.
fn at_its_second(mut job: NewJob) -> NewJob {
    "second".clone_into(&mut job.step);
    "b".clone_into(&mut job.lane);
    job
}

#[tokio::test(start_paused = true)]
async fn a_job_that_no_worker_knows_is_shown_and_parked_after_an_hour() {
    let (store, mail) = (FaultyStore::default(), Mailbox::default());
    let [old, new] = releases();
    let steps = builder(&store).workflow(&old).notifier(mail.clone());
    let steps = steps.build().unwrap();
    let job = at_its_second(new.job("k", &1).unwrap());
    store.jobs.put(&job, None).await.unwrap();
    let other = Workflow::new("other").step("x", "a", async |n: u32| Ok::<_, StepError>(n));
    store
        .jobs
        .put(&other.job("k", &1).unwrap(), None)
        .await
        .unwrap();
    let _worker = steps.work();
    sleep(55 * MINUTE).await;
    let counts = store.jobs.counts().await.unwrap();
    assert_eq!(counts.of(Status::Waiting), 2, "{counts:?}");
    assert!(counts.oldest_due > Some(54 * MINUTE), "{counts:?}");
    assert_eq!(mail.told.lock().unwrap().len(), 0);
    let saves = store
        .asked()
        .iter()
        .filter(|asked| **asked == Asked::Save)
        .count();
    assert!(saves < 160, "{saves}");
    sleep(7 * MINUTE).await;
    let counts = store.jobs.counts().await.unwrap();
    assert_eq!(counts.of(Status::Parked), 2, "{counts:?}");
    let told = mail.told.lock().unwrap().clone();
    assert_eq!(told.len(), 2);
    for stuck in told {
        let history = store.jobs.history(stuck.job.id).await.unwrap();
        assert_eq!((history.len(), history[0].failures), (1, 0));
        assert_eq!(stuck.status, Status::Parked);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_rejected_for_hours_is_not_parked_by_one_worker() {
    let (store, inner) = (MemoryStore::new(), breaker());
    let workflow = guarded(&inner);
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    inner.force_open();
    let worker = steps.work();
    steps.enqueue(&workflow, "k", &0).await.unwrap();
    sleep(5 * HOUR).await;
    worker.stop().await;
    let other = Workflow::new("other").step("x", "a", async |n: u32| Ok::<_, StepError>(n));
    let steps = Steps::builder(store.clone()).lane(Lane::new("a"));
    let steps = steps.workflow(&other).build().unwrap();
    let _worker = steps.work();
    sleep(50 * MINUTE).await;
    assert_eq!(only_job(&store).await.status, Status::Waiting);
    // Its last pause is up to six minutes, so that is when it is first found unknown.
    sleep(20 * MINUTE).await;
    assert_eq!(only_job(&store).await.status, Status::Parked);
}
