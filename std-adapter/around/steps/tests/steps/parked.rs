// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs that no worker can run, for a while or for long, or never could.

use std::time::Duration;

use atomic_breaker_steps::{
    Change, MemoryStore, Put, Ran, Save, Status, StepError, Store, Workflow,
};
use tokio::time::sleep;

use super::support::{Mailbox, Script, builder, only_job};
use test_support::faulty_store::{Asked, Fault, FaultyStore};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// Behaves as a program that does not know its step.
async fn park(store: &MemoryStore, workflow: &Workflow<Vec<String>>, key: &str) {
    let job = workflow.job(key, &Vec::new()).unwrap();
    let Put::New(_, Some(right)) = store.put(&job, Some(MINUTE)).await.unwrap() else {
        panic!("not claimed");
    };
    let change = Change::parked("no step".to_owned());
    assert!(store.save(&[Save { right, change }]).await.unwrap()[0].is_held);
}

#[tokio::test(start_paused = true)]
async fn jobs_parked_by_an_older_program_are_taken_up_by_a_newer_one() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    sleep(MINUTE).await;
    park(&store, &workflow, "k").await;
    sleep(5 * MINUTE).await;
    assert_eq!(only_job(&store).await.status, Status::Parked);
    sleep(12 * MINUTE).await;
    assert_eq!(only_job(&store).await.status, Status::Done);
}

#[tokio::test(start_paused = true)]
async fn thousands_of_parked_jobs_are_taken_up_by_a_new_worker() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    for key in 0..2_500 {
        park(&store, &workflow, &key.to_string()).await;
    }
    // A thousand at a time, each of which takes a while.
    let slow = FaultyStore::to(&store);
    slow.next(Asked::Unpark, u32::MAX, Fault::Late(SECOND));
    let steps = builder(&slow).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    sleep(5 * MINUTE).await;
    let counts = store.counts().await.unwrap();
    assert_eq!(counts.of(Status::Done), 2_500, "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_state_that_no_worker_reads_for_a_day_adds_one_line() {
    let store = MemoryStore::new();
    let old = Workflow::new("kind").step("first", "a", async |text: String| Ok(text));
    let job = old.job("k", &"text".to_owned()).unwrap();
    store.put(&job, None).await.unwrap();
    let new = Workflow::new("kind").step("first", "a", async |n: u32| Ok::<_, StepError>(n));
    let steps = builder(&store).workflow(&new).build().unwrap();
    for _ in 0..3 {
        let worker = steps.work();
        sleep(8 * 60 * MINUTE).await;
        worker.stop().await;
    }
    let job = only_job(&store).await;
    assert_eq!((job.status, job.failures), (Status::Parked, 0));
    assert_eq!(store.history(job.id).await.unwrap().len(), 1);
}

/// JSON has no such number: it becomes `null`, which is not read as one.
#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_read_back_ends_the_job_at_once() {
    for bad in [f64::NAN, f64::INFINITY] {
        let (store, mail) = (MemoryStore::new(), Mailbox::default());
        let workflow = Workflow::new("kind")
            .step("first", "a", move |_: f64| async move {
                Ok::<_, StepError>(bad)
            })
            .step("second", "b", async |n: f64| Ok(n));
        let error = workflow.job("k", &bad).unwrap_err().to_string();
        assert!(
            error.contains("read back") && error.contains("NaN"),
            "{error}"
        );
        let steps = builder(&store).workflow(&workflow).notifier(mail.clone());
        let steps = steps.build().unwrap();
        let ran = steps.run(&workflow, "k", &1.0).await.unwrap();
        let Ran::Ended { error, .. } = ran else {
            panic!("{ran:?}");
        };
        assert!(error.contains("read back"), "{error}");
        let job = only_job(&store).await;
        assert_eq!(
            (job.status, &*job.step, &*job.state),
            (Status::Dead, "first", "1.0")
        );
        sleep(MINUTE).await;
        assert_eq!(mail.told.lock().unwrap().len(), 1);
    }
}
