// SPDX-License-Identifier: MIT OR Apache-2.0
//! States whose type panics as it is read.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_server::{Breaker, Config, State, TokioClock};
use atomic_breaker_steps::{Lane, MemoryStore, Status, StepError, Steps, Store, Workflow};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::support::{only_job, schedule};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "u32")]
struct Small(u32);

impl From<u32> for Small {
    fn from(number: u32) -> Self {
        assert!(number < 7, "a large number");
        Self(number)
    }
}

#[tokio::test(start_paused = true)]
async fn a_state_that_panics_when_it_is_read_is_one_try() {
    let store = MemoryStore::new();
    let before =
        Workflow::new("kind").step("only", "a", async |state: u32| Ok::<_, StepError>(state));
    store
        .put(&before.job("k", &7).unwrap(), None)
        .await
        .unwrap();
    let now = Workflow::new("kind")
        .step("only", "a", async |state: Small| Ok::<_, StepError>(state))
        .schedule(schedule(2));
    let a = Arc::new(Breaker::new(
        Config::new().consecutive_failures(1),
        TokioClock,
    ));
    let steps = Steps::builder(store.clone()).lane(Lane::new("a").guarded(Arc::clone(&a)));
    let steps = steps.workflow(&now).build().unwrap();
    let _worker = steps.work();
    sleep(SECOND * 10).await;
    let job = only_job(&store).await;
    assert_eq!((job.status, job.failures), (Status::Dead, 2));
    let history = store.history(job.id).await.unwrap();
    assert_eq!(history[0].error, "panicked: a large number");
    assert_eq!(a.state(), State::Closed, "it was not asked");
}
