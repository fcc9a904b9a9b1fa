// SPDX-License-Identifier: MIT OR Apache-2.0
//! The progress of a job.

use std::time::Duration;

use atomic_breaker_steps::{
    Breaker, Config, JobId, JobProgress, Lane, MemoryStore, ProgressError, Ran, Status, StepError,
    Steps, Store, Workflow, breaker,
};
use tokio::time::sleep;

use super::support::{Do, Script, builder, done, schedule};
use test_support::faulty_store::{Asked, Fault, FaultyStore};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

type Done = Vec<String>;

async fn progress<D: Store>(
    steps: &Steps<D>,
    workflow: &Workflow<Done>,
    id: JobId,
) -> JobProgress<Done> {
    let progress = steps.progress(workflow, id).await;
    progress.unwrap().expect("it is kept")
}

#[tokio::test(start_paused = true)]
async fn each_step_of_a_job_is_seen_with_the_state_before_it() {
    let takes = [Do::Take(SECOND); 3];
    let (store, script) = (MemoryStore::new(), Script::new(takes));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    let job = progress(&steps, &workflow, id).await;
    assert_eq!((job.id, &*job.key), (id, "k"));
    assert_eq!((job.status, &*job.step), (Status::Waiting, "first"));
    assert_eq!((job.due_in, job.last_error), (Some(Duration::ZERO), None));
    let _worker = steps.work();
    sleep(SECOND / 2).await;
    for (at, step) in done().iter().enumerate() {
        let job = progress(&steps, &workflow, id).await;
        assert_eq!((job.status, &job.step), (Status::Running, step));
        assert_eq!((job.steps_done, &job.state[..]), (Some(at), &done()[..at]));
        assert_eq!((job.due_in, job.result()), (None, None));
        sleep(SECOND).await;
    }
    let job = progress(&steps, &workflow, id).await;
    assert_eq!((job.status, &*job.step), (Status::Done, "third"));
    assert_eq!((job.steps_done, job.result()), (Some(3), Some(&done())));
}

#[tokio::test(start_paused = true)]
async fn a_step_that_failed_is_seen_with_its_error_and_when_it_is_due() {
    let plan = [Do::Succeed, Do::Fail, Do::Fail, Do::End];
    let (store, script) = (MemoryStore::new(), Script::new(plan));
    let workflow = script.workflow().schedule(schedule(9));
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let ran = steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    let Ran::Later { id, step, state } = ran else {
        panic!("{ran:?}");
    };
    assert_eq!((&*step, state.unwrap()), ("second", done()[..1].to_vec()));
    let _worker = steps.work();
    for (failures, pause) in [(1, 1), (2, 2)] {
        let job = progress(&steps, &workflow, id).await;
        assert_eq!((job.status, &*job.step), (Status::Waiting, "second"));
        assert_eq!((job.failures, job.steps_done), (failures, Some(1)));
        let (due_in, error) = (job.due_in.unwrap(), job.last_error.unwrap());
        assert!(due_in <= pause * SECOND, "{due_in:?}");
        assert_eq!((&*error.step, &*error.error), ("second", "refused"));
        assert_eq!(error.failures, failures);
        sleep(due_in + SECOND / 10).await;
    }
    let job = progress(&steps, &workflow, id).await;
    assert_eq!((job.status, job.due_in), (Status::Dead, None));
    assert_eq!((job.result(), job.steps_done), (None, Some(1)));
    assert_eq!(job.last_error.unwrap().error, "no such address");
    assert!(store.cancel(id).await.unwrap());
    let job = progress(&steps, &workflow, id).await;
    assert_eq!(job.status, Status::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn who_is_told_of_a_job_that_exists_sees_how_far_it_is() {
    let (store, script) = (MemoryStore::new(), Script::new([Do::Succeed, Do::Hang]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let _worker = steps.work();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    sleep(SECOND).await;
    let ran = steps.run(&workflow, "k", &Vec::new()).await.unwrap();
    let (step, state) = ("second".to_owned(), Some(done()[..1].to_vec()));
    assert_eq!(ran, Ran::Later { id, step, state });
    // As a program sees it that knows the kind with another state.
    let other = Workflow::new("kind").step("first", "a", async |n: u32| Ok(n));
    let steps = builder(&store).workflow(&other).build().unwrap();
    let ran = steps.run(&other, "k", &7).await.unwrap();
    let (step, state) = ("second".to_owned(), None);
    assert_eq!(ran, Ran::Later { id, step, state });
}

#[tokio::test(start_paused = true)]
async fn a_job_that_its_lane_rejects_is_at_its_first_step() {
    static OPEN: Breaker = breaker(Config::new());
    OPEN.force_open();
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    let lanes = Steps::builder(store).lane(Lane::new("b"));
    let steps = lanes.lane(Lane::new("a").guarded(&OPEN));
    let steps = steps.workflow(&workflow).build().unwrap();
    let ran = steps.run(&workflow, "k", &done()).await.unwrap();
    let Ran::Later { step, state, .. } = ran else {
        panic!("{ran:?}");
    };
    assert_eq!((&*step, state), ("first", Some(done())));
}

#[tokio::test(start_paused = true)]
async fn a_state_of_another_type_is_an_error_that_says_how_far_the_job_is() {
    let store = MemoryStore::new();
    let old = Workflow::new("kind").step("first", "a", async |text: String| Ok(text));
    let job = old.job("k", &"password=hunter2".to_owned()).unwrap();
    store.put(&job, None).await.unwrap();
    let new = Workflow::new("kind").step("other", "a", async |n: u32| Ok::<_, StepError>(n));
    let steps = builder(&store).workflow(&new).build().unwrap();
    let _worker = steps.work();
    let id = JobId::new(1);
    for status in [Status::Waiting, Status::Parked] {
        let error = steps.progress(&new, id).await.unwrap_err();
        let words = error.to_string();
        let ProgressError::State { job, why } = error else {
            panic!("{words}");
        };
        assert_eq!((job.id, job.status, &*job.step), (id, status, "first"));
        assert_eq!(job.steps_done, None);
        assert!(why.contains("another type"), "{why}");
        assert!(words.starts_with("job 1 is "), "{words}");
        assert!(!words.contains("hunter2"), "{words}");
        sleep(2 * 60 * MINUTE).await;
    }
    // A program that can read it sees it parked.
    let job = steps.progress(&old, id).await.unwrap().unwrap();
    assert_eq!((job.status, job.due_in), (Status::Parked, None));
    assert_eq!(job.state, "password=hunter2");
    assert!(job.last_error.unwrap().error.contains("no step"));
}

#[tokio::test(start_paused = true)]
async fn jobs_that_are_not_there_or_of_another_kind_are_not_found() {
    let (store, script) = (MemoryStore::new(), Script::new([]));
    let workflow = script.workflow();
    let other = Workflow::new("other").step("first", "a", async |s: Done| Ok(s));
    let steps = builder(&store).workflow(&workflow).workflow(&other);
    let steps = steps.build().unwrap();
    let id = steps.enqueue(&other, "k", &Vec::new()).await.unwrap();
    for id in [id.get(), 0, -1, 2, i64::MIN, i64::MAX] {
        let progress = steps.progress(&workflow, JobId::new(id)).await;
        assert_eq!(progress.unwrap(), None, "{id}");
    }
    assert!(steps.progress(&other, id).await.unwrap().is_some());
    store.cancel(id).await.unwrap();
    sleep(SECOND).await;
    assert_eq!(store.forget(Duration::ZERO, 9).await.unwrap(), 1);
    assert_eq!(steps.progress(&other, id).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_an_error() {
    let (store, script) = (FaultyStore::default(), Script::new([]));
    let workflow = script.workflow();
    let steps = builder(&store).workflow(&workflow).build().unwrap();
    let id = steps.enqueue(&workflow, "k", &Vec::new()).await.unwrap();
    for asked in [Asked::Job, Asked::History] {
        for fault in [Fault::Error("no disk".to_owned()), Fault::Panic] {
            store.next(asked, 1, fault);
            let error = steps.progress(&workflow, id).await.unwrap_err();
            assert!(matches!(error, ProgressError::Store(_)), "{error}");
            assert!(error.to_string().contains("not known"), "{error}");
        }
    }
    progress(&steps, &workflow, id).await;
}
