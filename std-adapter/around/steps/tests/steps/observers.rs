// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notifications of observers, and observers that panic.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, TokioClock};
use atomic_breaker_steps::{
    Asked, Counts, Job, JobObserver, Lane, MemoryStore, Ran, Status, Steps, Store, TryResult,
};
use tokio::time::sleep;

use super::support::{Do, Script, builder, done, only_job, schedule};
use test_support::faulty_store::{self, Fault, FaultyStore};

const SECOND: Duration = Duration::from_secs(1);

/// Keeps its notifications.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn note(&self, event: impl Into<String>) {
        self.0.lock().unwrap().push(event.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl JobObserver for Diary {
    fn built(&self, kinds: &[(&'static str, &'static str)], lanes: &[&'static str]) {
        self.note(format!("built {kinds:?} {lanes:?}"));
    }

    fn tried(&self, job: &Job, how: TryResult) {
        self.note(format!("{} tried: {}", job.step, how.name()));
    }

    fn ended(&self, _: &Job, status: Status, error: &str) {
        self.note(format!("{}: {error:?}", status.name()));
    }

    fn store_failed(&self, asked: Asked, error: &str) {
        self.note(format!("{} failed: {error}", asked.name()));
    }
}

/// Keeps what it is told about the store, and about rights that were lost.
#[derive(Clone, Default)]
struct Watch(Diary);

impl JobObserver for Watch {
    fn count_every(&self) -> Option<Duration> {
        Some(3_600 * SECOND)
    }

    fn counted(&self, counts: &Counts, valid_for: Duration) {
        self.0.note(format!("{:?} for {valid_for:?}", counts.due));
    }

    fn lost(&self, job: &Job) {
        self.0.note(format!("{} lost", job.step));
    }

    fn store_answered(&self) {
        self.0.note("answered");
    }
}

/// Requests counts, and panics at each notification.
struct Panics;

impl JobObserver for Panics {
    fn built(&self, _: &[(&'static str, &'static str)], _: &[&'static str]) {
        panic!("built");
    }

    fn count_every(&self) -> Option<Duration> {
        Some(10 * SECOND)
    }

    fn counted(&self, _: &Counts, _: Duration) {
        panic!("counted");
    }

    fn tried(&self, _: &Job, _: TryResult) {
        panic!("tried");
    }

    fn ended(&self, _: &Job, _: Status, _: &str) {
        panic!("ended");
    }

    fn store_answered(&self) {
        panic!("the store answered");
    }
}

#[tokio::test(start_paused = true)]
async fn observers_see_tries_ends_and_failures_of_the_store() {
    let (diary, script) = (Diary::default(), Script::new([Do::Fail, Do::End]));
    let store = FaultyStore::to(&MemoryStore::new());
    let workflow = script.workflow().schedule(schedule(9));
    let steps = builder(&store).workflow(&workflow).observer(diary.clone());
    let steps = steps.build().unwrap();
    let kinds = r#"[("kind", "a"), ("kind", "b"), ("kind", "a")]"#;
    assert_eq!(diary.take(), [format!(r#"built {kinds} ["a", "b"]"#)]);
    let worker = steps.work();
    store.next(
        faulty_store::Asked::Save,
        1,
        Fault::Error("disk full".to_owned()),
    );
    steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(5 * SECOND).await;
    worker.stop().await;
    let events = diary.take();
    assert_eq!(events[0], "first tried: failure");
    assert_eq!(events[1], "save failed: disk full");
    assert_eq!(
        events[2..],
        ["first tried: failure", r#"dead: "no such address""#]
    );
}

#[tokio::test(start_paused = true)]
async fn the_store_has_answered_a_claim_a_save_or_when_a_job_is_due() {
    let (watch, script) = (Watch::default(), Script::new([]));
    let (store, workflow) = (MemoryStore::new(), script.workflow());
    let breaker = Arc::new(Breaker::new(Config::new(), TokioClock));
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("a").guarded(breaker))
        .lane(Lane::new("b"))
        .workflow(&workflow)
        .observer(watch.clone())
        .poll(3_600 * SECOND);
    let steps = steps.build().unwrap();
    steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    assert_eq!(watch.0.take(), ["answered"; 3], "three saves");
    let id = only_job(&store).await.id;
    steps.progress(&workflow, id).await.unwrap();
    assert_eq!(watch.0.take(), [""; 0], "no worker has asked");
    // Of the lane with a breaker when a job is due, of the other one a claim.
    let _worker = steps.work();
    sleep(SECOND).await;
    let events = watch.0.take();
    let answers = events.iter().filter(|event| *event == "answered").count();
    assert_eq!(answers, 2, "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_count_is_valid_until_two_more_have_been_missed() {
    let watch = Watch::default();
    let (store, workflow) = (FaultyStore::default(), Script::new([]).workflow());
    let steps = builder(&store).workflow(&workflow).observer(watch.clone());
    let steps = steps.poll(3_600 * SECOND).build().unwrap();
    store.next(faulty_store::Asked::Counts, 1, Fault::Late(4 * SECOND));
    let _worker = steps.work();
    sleep(5 * SECOND).await;
    let events = watch.0.take();
    let counted = format!("[] for {:?}", 3 * 3_604 * SECOND);
    assert!(events.contains(&counted), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_right_that_is_lost_while_the_step_runs_is_observed() {
    let watch = Watch::default();
    let (store, script) = (MemoryStore::new(), Script::new([Do::Hang]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).observer(watch.clone());
    let steps = steps.build().unwrap();
    let mut job = workflow.job("unreadable", &Vec::new()).unwrap();
    "7".clone_into(&mut job.state);
    store.put(&job, None).await.unwrap();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    let _worker = steps.work();
    sleep(SECOND).await;
    assert!(store.cancel(id).await.unwrap());
    // When it renews the lease.
    sleep(30 * SECOND).await;
    let mut events = watch.0.take();
    events.retain(|event| event.contains("lost"));
    assert_eq!(events, ["first lost"]);
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_disturbs_neither_jobs_nor_the_others() {
    for panics_first in [false, true] {
        let (diary, script) = (Diary::default(), Script::new([]));
        let (store, workflow) = (MemoryStore::new(), script.workflow());
        let steps = builder(&store).workflow(&workflow);
        let steps = if panics_first {
            steps.observer(Panics).observer(diary.clone())
        } else {
            steps.observer(diary.clone()).observer(Panics)
        };
        let steps = steps.build().unwrap();
        assert_eq!(diary.take().len(), 1);
        let worker = steps.work();
        sleep(30 * SECOND).await;
        let ran = steps.run(&workflow, "k", &Vec::new()).await.unwrap();
        assert_eq!(ran, Ran::Done(done()));
        steps.enqueue(&workflow, "l", &Vec::new()).await.unwrap();
        sleep(SECOND).await;
        worker.stop().await;
        let of_one = [
            "first tried: success",
            "second tried: success",
            "third tried: success",
            r#"done: """#,
        ];
        assert_eq!(diary.take(), [of_one, of_one].concat());
    }
}
