// SPDX-License-Identifier: MIT OR Apache-2.0
//! A job that is claimed, and not run.

use atomic_breaker_steps::{MemoryStore, StepError, Store, Workflow};
use test_support::faulty_store::{Asked, Fault, FaultyStore};
use tokio::time::sleep;

use super::looking::{OPEN, SECOND, breaker, lanes, of, served_after, workflow};

/// Its worker was lost, or this one does not know its step: the store is told, and takes as long as it likes.
#[tokio::test(start_paused = true)]
async fn a_job_that_is_not_run_takes_no_probe_while_the_store_is_told() {
    let known = workflow();
    let step = |_: u32| async { Ok::<_, StepError>(0) };
    let unknown: Workflow<u32> = Workflow::new("kind").step("another", "a", step);
    for (of_job, lease) in [(&known, Some(SECOND)), (&unknown, None)] {
        for at in 0..2 {
            let a = breaker(OPEN.probes(1));
            let lane = lanes(&a).into_iter().nth(at).unwrap();
            let jobs = MemoryStore::new();
            jobs.put(&of_job.job("one", &1).unwrap(), lease)
                .await
                .unwrap();
            let store = FaultyStore::to(&jobs);
            store.next(Asked::Save, u32::MAX, Fault::Silence);
            a.trip();
            sleep(4 * SECOND).await;
            let steps = of(store.clone(), lane, &known).build().unwrap();
            let worker = steps.work();
            while !store.asked().contains(&Asked::Save) {
                sleep(SECOND / 100).await;
            }
            let after = served_after(&a).await;
            assert!(after < SECOND, "{after:?}, {at}");
            drop(worker);
        }
    }
}
