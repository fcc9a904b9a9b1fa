// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes that die in the middle of a step, or are cut off and come back late.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use atomic_breaker_steps::{
    Lane, MemoryStore, Notifier, Status, StepContext, StepError, Steps, Store, Stuck, Workflow,
};
use tokio::time::sleep;

use super::support::{Do, Mailbox, Script, builder, only_job, schedule};
use test_support::faulty_store::{Fault, FaultyStore};

const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(60);

fn cut(line: &FaultyStore) {
    line.set(Some(Fault::Error("cut off".to_owned())));
}

/// One step of this duration, which returns the name of its process.
fn signed(name: &'static str, takes: Duration) -> Workflow<String> {
    let step = move |_| async move {
        sleep(takes).await;
        Ok::<_, StepError>(name.to_owned())
    };
    Workflow::new("kind")
        .step("only", "a", step)
        .schedule(schedule(5))
}

#[tokio::test(start_paused = true)]
async fn a_process_that_comes_back_after_its_lease_changes_nothing() {
    // The step of the first process ends while it is cut off, and after it came back.
    for (takes, comes_back) in [(100, 110), (300, 150)] {
        let store = MemoryStore::new();
        let [one, other] = [FaultyStore::to(&store), FaultyStore::to(&store)];
        let slow = signed("one", SECOND * takes);
        let steps = builder(&one).workflow(&slow).build().unwrap();
        let _one = steps.work();
        steps.enqueue(&slow, "k", &String::new()).await.unwrap();
        sleep(SECOND * 10).await;
        cut(&one);
        let quick = signed("other", SECOND);
        let _other = builder(&other).workflow(&quick).build().unwrap().work();
        sleep(SECOND * (comes_back - 10)).await;
        let job = only_job(&store).await;
        assert_eq!((job.status, &*job.state), (Status::Done, "\"other\""));
        one.set(None);
        sleep(SECOND * 500).await;
        assert_eq!(only_job(&store).await.state, job.state, "{takes}");
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_of_a_dead_process_go_to_others_after_a_long_lease() {
    let store = MemoryStore::new();
    let [one, other] = [FaultyStore::to(&store), FaultyStore::to(&store)];
    let script = Script::new([Do::Hang]);
    let workflow = script.workflow().schedule(schedule(5));
    let process = |line| {
        let builder = builder(line).workflow(&workflow).lease(LEASE * 10);
        builder.build().unwrap()
    };
    let (dies, lives) = (process(&one), process(&other));
    let worker = dies.work();
    dies.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(SECOND).await;
    cut(&one);
    drop(worker);
    let _lives = lives.work();
    sleep(SECOND * 595).await;
    assert_eq!(script.calls().len(), 1);
    sleep(SECOND * 10).await;
    let job = only_job(&store).await;
    assert_eq!(job.status, Status::Done);
    let failed = store.history(job.id).await.unwrap();
    assert_eq!((failed.len(), failed[0].failures), (1, 1));
}

/// One step, which cuts off its process when it runs for the job `"kills"`.
fn deadly(line: &FaultyStore, deaths: &Arc<AtomicU32>) -> Workflow<u32> {
    let (line, deaths) = (line.clone(), Arc::clone(deaths));
    let step = move |state: u32, job: StepContext| {
        let (line, deaths) = (line.clone(), Arc::clone(&deaths));
        async move {
            sleep(SECOND).await;
            if job.key == "kills" {
                deaths.fetch_add(1, Ordering::SeqCst);
                cut(&line);
                std::future::pending::<()>().await;
            }
            sleep(SECOND).await;
            Ok::<_, StepError>(state + 1)
        }
    };
    // Jitter separates jobs that died together.
    let schedule = schedule(8).first(SECOND * 10).jitter_percent(20);
    Workflow::new("kind")
        .step_in_context("only", "a", step)
        .schedule(schedule)
}

#[tokio::test(start_paused = true)]
async fn a_job_that_kills_its_workers_ends_and_the_others_are_done() {
    let store = MemoryStore::new();
    let deaths = Arc::new(AtomicU32::new(0));
    let mut workers = Vec::new();
    for process in 0..9 {
        let line = FaultyStore::to(&store);
        let workflow = deadly(&line, &deaths);
        let steps = builder(&line).workflow(&workflow).build().unwrap();
        if process == 0 {
            for key in ["before", "kills", "after"] {
                steps.enqueue(&workflow, key, &0).await.unwrap();
            }
        }
        workers.push(steps.work());
        // The longest pause is 640 s, more or less.
        sleep(SECOND * 1_000).await;
        assert_eq!(deaths.load(Ordering::SeqCst), process + 1);
    }
    // It is claimed together with others, which is not charged as a try, and eight times alone.
    let line = FaultyStore::to(&store);
    let workflow = deadly(&line, &deaths);
    let _worker = builder(&line).workflow(&workflow).build().unwrap().work();
    sleep(SECOND * 1_000).await;
    assert_eq!(deaths.load(Ordering::SeqCst), 9);
    let counts = store.counts().await.unwrap();
    let (done, dead) = (counts.of(Status::Done), counts.of(Status::Dead));
    assert_eq!((done, dead), (2, 1), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn jobs_claimed_together_that_outlast_their_lease_run_once() {
    let store = MemoryStore::new();
    let ran = Arc::new(AtomicU32::new(0));
    let counts = Arc::clone(&ran);
    let step = move |state: u32| {
        counts.fetch_add(1, Ordering::SeqCst);
        async move {
            sleep(LEASE * 5).await;
            Ok::<_, StepError>(state)
        }
    };
    let workflow = Workflow::new("kind").step("only", "a", step);
    let [one, other] = [(); 2].map(|()| {
        let steps = Steps::builder(store.clone()).lane(Lane::new("a").at_once(64));
        steps.workflow(&workflow).build().unwrap()
    });
    for key in 0..64 {
        let enqueued = one.enqueue(&workflow, key.to_string(), &0).await;
        enqueued.unwrap();
    }
    let _one = one.work();
    sleep(SECOND).await;
    assert_eq!(ran.load(Ordering::SeqCst), 64);
    // A worker that has nothing to do, and would take jobs that are due.
    let _other = other.work();
    sleep(LEASE * 20).await;
    let done = store.counts().await.unwrap().of(Status::Done);
    assert_eq!((done, ran.load(Ordering::SeqCst)), (64, 64));
}

/// Never returns.
struct Hangs;

impl Notifier for Hangs {
    async fn notify(&self, _: &Stuck) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_died_with_its_process_is_not_sent_again() {
    let store = MemoryStore::new();
    let [one, other] = [FaultyStore::to(&store), FaultyStore::to(&store)];
    let script = Script::new([Do::Fail; 20]);
    let told_at_once = schedule(6).tell_after(Duration::ZERO);
    let workflow = script.workflow().schedule(told_at_once);
    let dies = builder(&one).workflow(&workflow).notifier(Hangs);
    let dies = dies.build().unwrap();
    dies.run(&workflow, "k", &Vec::new()).await.unwrap();
    cut(&one);
    assert!(only_job(&store).await.is_told);
    let mail = Mailbox::default();
    let lives = builder(&other).workflow(&workflow).notifier(mail.clone());
    let _lives = lives.build().unwrap().work();
    sleep(SECOND * 600).await;
    let job = only_job(&store).await;
    assert_eq!((job.status, script.calls().len()), (Status::Dead, 6));
    let told = mail.told.lock().unwrap();
    let told: Vec<_> = told.iter().map(|stuck| stuck.status).collect();
    assert_eq!(told, [Status::Dead], "not of the delay, but of the end");
}
