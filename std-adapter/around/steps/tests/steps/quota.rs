// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps whose quota is used up, as an SDK says that has no response to show.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_http::{Breaker, Config, State, TokioClock};
use atomic_breaker_steps::{Lane, MemoryStore, Status, StepError, Steps, Workflow};

use super::support::{only_job, schedule};

const MINUTE: Duration = Duration::from_secs(60);

/// Seconds until the only job is due after one try that failed so, and the state of the breaker of its lane.
async fn after(trips: bool, fail: fn() -> StepError) -> (u64, State) {
    let often = Config::new().consecutive_failures(1);
    let breaker = Arc::new(Breaker::new(often, TokioClock));
    let workflow = Workflow::new("mail")
        .step("send", "mail", move |(): ()| async move { Err(fail()) })
        .schedule(schedule(9));
    let store = MemoryStore::new();
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("mail").guarded(Arc::clone(&breaker)))
        .workflow(&workflow)
        .build()
        .unwrap();
    if trips {
        breaker.trip();
        tokio::time::sleep(10 * MINUTE).await;
    }
    steps.run(&workflow, "m-1", &()).await.unwrap();
    let job = only_job(&store).await;
    assert_eq!((job.status, job.failures), (Status::Waiting, 1));
    (job.due_in_ms.unsigned_abs() / 1000, breaker.state())
}

#[tokio::test(start_paused = true)]
async fn a_step_over_its_quota_rests_alone_and_as_the_probe_closes_the_breaker() {
    let over = || StepError::over_quota(MINUTE, "throttled");
    assert_eq!(after(false, over).await, (60, State::Closed));
    assert_eq!(after(true, over).await, (60, State::Closed));
    let unknown = || StepError::over_quota(Duration::ZERO, "throttled");
    assert_eq!(after(false, unknown).await, (1, State::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_names_a_time_counts_as_one() {
    let later = || StepError::not_before(MINUTE, "busy");
    assert_eq!(after(false, later).await, (60, State::Open));
    assert_eq!(after(true, later).await, (60, State::Open));
    let rest = || StepError::retry_after(MINUTE, "busy");
    assert_eq!(after(false, rest).await, (60, State::Open));
}
