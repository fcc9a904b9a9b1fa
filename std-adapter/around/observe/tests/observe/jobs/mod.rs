// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metrics and events of jobs of durable steps, in virtual time.
//!
//! | file | what |
//! |---|---|
//! | `counted` | what becomes of jobs |
//! | `gauges` | how many there are |
//! | `logged` | what an operator must know |

mod counted;
mod gauges;
mod logged;

use std::error::Error;
use std::time::Duration;

use atomic_breaker_observe::{Log, Metrics, OfJobs};
use atomic_breaker_server::{Breaker, Config, TokioClock, breaker};
use atomic_breaker_steps::{
    JobId, Lane, Notifier, Schedule, StepError, Steps, StepsBuilder, Stuck, Workflow,
};

use crate::support::{Page, SECOND};
use test_support::faulty_store::FaultyStore;

static REJECTING: Breaker = breaker(Config::new());

/// Runs in virtual time.
fn run(what: impl AsyncFnOnce()) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(what());
}

async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Two steps, in lanes `"a"` and `"b"`; the state tells the first one what to do.
fn workflow() -> Workflow<String> {
    Workflow::new("kind")
        .schedule(
            Schedule::new()
                .first(SECOND)
                .growth(1.0)
                .jitter_percent(0)
                .tries(2),
        )
        .step("first", "a", async |state: String| match &*state {
            "fail" => Err("refused\nby <b>them</b>".into()),
            "end" => Err(StepError::end("no such address")),
            "reject" => {
                REJECTING.force_open();
                Err(REJECTING.acquire().map(drop).unwrap_err().into())
            }
            "hang" => std::future::pending().await,
            _ => Ok(state),
        })
        .step("second", "b", async |state: String| Ok(state))
}

fn builder(store: &FaultyStore, name: &str) -> StepsBuilder<FaultyStore> {
    counted_by(store, Metrics::new(name))
}

fn counted_by(store: &FaultyStore, metrics: Metrics<OfJobs>) -> StepsBuilder<FaultyStore> {
    Steps::builder(store.clone())
        .lane(Lane::new("a"))
        .lane(Lane::new("b"))
        .workflow(&workflow())
        .observer(Log::new("jobs").clock(TokioClock))
        .observer(metrics)
}

async fn enqueue(steps: &Steps<FaultyStore>, key: impl Into<String>, state: &str) -> JobId {
    let (workflow, state) = (workflow(), state.to_owned());
    steps.enqueue(&workflow, key, &state).await.unwrap()
}

/// A notifier that succeeds or fails.
struct Person(bool);

impl Notifier for Person {
    async fn notify(&self, _: &Stuck) -> Result<(), Box<dyn Error + Send + Sync>> {
        if self.0 {
            Ok(())
        } else {
            Err("no mail".into())
        }
    }
}

impl Page {
    /// The second one, as ends of jobs are shown at zero first.
    fn second() -> Self {
        Self::now();
        Self::now()
    }

    fn tries(&self, name: &str, lane: &str, outcome: &str) -> u64 {
        let labels = [("kind", "kind"), ("lane", lane), ("outcome", outcome)];
        self.get("job_tries", name, &labels).unwrap()
    }

    fn ended(&self, name: &str, kind: &str, status: &str) -> u64 {
        let labels = [("kind", kind), ("status", status)];
        self.get("job_ended", name, &labels).unwrap()
    }

    fn jobs(&self, name: &str, lane: &str, status: &str) -> Option<u64> {
        self.get("jobs", name, &[("lane", lane), ("status", status)])
    }
}
