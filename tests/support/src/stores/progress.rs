// SPDX-License-Identifier: MIT OR Apache-2.0
//! A caller sees how far its job has come, and waits for its end, while another process works on it.

use std::time::Duration;

use atomic_breaker_steps::{Lane, Ran, Status, Steps, Store, Workflow};
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);

fn steps<D: Store>(store: D, workflow: &Workflow<u32>) -> Steps<D> {
    let steps = Steps::builder(store).lane(Lane::new("a")).poll(SECOND / 10);
    steps.workflow(workflow).build().unwrap()
}

/// Two stores on one database, which has no jobs.
///
/// # Panics
/// It sees something else.
pub async fn is_seen_from_another_process(caller: impl Store, worker: impl Store) {
    let workflow = Workflow::new("kind")
        .step("first", "a", async |n: u32| Ok(n + 1))
        .step("second", "a", async |n: u32| {
            sleep(SECOND / 2).await;
            Ok(n * 2)
        });
    let (caller, worker) = (steps(caller, &workflow), steps(worker, &workflow));
    let id = caller.enqueue(&workflow, "k", &20).await.unwrap();
    let job = caller.wait_done(&workflow, id, SECOND / 10).await.unwrap();
    let job = job.unwrap();
    assert_eq!((job.status, &*job.step), (Status::Waiting, "first"));
    assert_eq!((job.state, job.steps_done), (20, Some(0)));
    let worker = worker.work();
    let job = caller.wait_done(&workflow, id, 60 * SECOND).await.unwrap();
    let job = job.unwrap();
    assert_eq!((job.result(), job.steps_done), (Some(&42), Some(2)));
    let again = caller.run(&workflow, "k", &20).await.unwrap();
    assert_eq!(again, Ran::Done(42));
    worker.stop().await;
    let forgotten = async || {
        let store = caller.store();
        store.forget(Duration::ZERO, 9).await.unwrap() == 1
    };
    while !forgotten().await {
        sleep(SECOND / 10).await;
    }
    let job = caller.wait_done(&workflow, id, 60 * SECOND).await.unwrap();
    assert_eq!(job, None);
}
