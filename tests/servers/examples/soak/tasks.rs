// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layers that tasks call, which leave before an answer now and then; and jobs of several steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use atomic_breaker_steps::{Lane, MemoryStore, Schedule, StepError, Steps, Store, Workflow};
use atomic_breaker_tower::{
    Backoff, Breaker, BreakerLayer, RetryBudget, RetryConfig, RetryLayer, TimeLimitLayer, breaker,
};
use test_support::dice::Dice;
use tokio::runtime::Builder;
use tokio::time::{sleep, timeout};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::IS_OVER;
use crate::weather::{Part, RULES};

const TASKS: u32 = 8;

pub(crate) fn start(seed: u64) -> Vec<Arc<Part>> {
    let layers = Part::start("layers", 2 * TASKS, seed ^ 3);
    let jobs = Part::start("jobs", 8, seed ^ 4);
    let (of_layers, of_jobs) = (Arc::clone(&layers), Arc::clone(&jobs));
    thread::spawn(move || {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            for task in 0..TASKS {
                tokio::spawn(call_layers(Arc::clone(&of_layers), seed + u64::from(task)));
            }
            run_jobs(of_jobs).await;
        });
    });
    vec![layers, jobs]
}

static SEARCH: Breaker = breaker(RULES);
static BUDGET: RetryBudget = RetryBudget::new();

/// A resource that is down hangs, so that the time limit ends the call.
async fn call_layers(part: Arc<Part>, seed: u64) {
    let mut dice = Dice::new(seed);
    let retries = RetryConfig::new()
        .tries(2)
        .backoff(Backoff::new().first(Duration::from_millis(5)));
    let resource = service_fn(|part: Arc<Part>| async move {
        if !part.reach() {
            sleep(Duration::from_secs(60)).await;
        }
        sleep(Duration::from_micros(200)).await;
        Ok::<_, std::io::Error>(())
    });
    let stack = ServiceBuilder::new()
        .layer(RetryLayer::new(retries, &BUDGET, |_: &Arc<Part>| true))
        .layer(BreakerLayer::new(&SEARCH))
        .layer(TimeLimitLayer::new(Duration::from_millis(20)))
        .service(resource);
    while !IS_OVER.load(Ordering::Relaxed) {
        let call = stack.oneshot(Arc::clone(&part));
        // Some leave long before the time limit of the call.
        let patience = if dice.below(10) == 0 { 5 } else { 200 };
        if timeout(Duration::from_millis(patience), call)
            .await
            .is_ok_and(|it| it.is_err())
        {
            part.rejected();
        }
        sleep(Duration::from_millis(1 + dice.below(4))).await;
    }
}

static MAIL: Breaker = breaker(RULES);

/// Each job is done in the end, and forgotten.
async fn run_jobs(part: Arc<Part>) {
    let resource = Arc::clone(&part);
    let done = Arc::new(AtomicU64::new(0));
    let ends = Arc::clone(&done);
    // Of 30 tries in a row one is not made while the resource is down.
    let schedule = Schedule::new()
        .first(Duration::from_millis(50))
        .longest(Duration::from_millis(300))
        .tries(30);
    let letters = Workflow::new("letter")
        .schedule(schedule)
        .step("write", "desk", async |number: u64| {
            Ok::<_, StepError>(number + 1)
        })
        .step("send", "mail", move |number: u64| {
            let (resource, ends) = (Arc::clone(&resource), Arc::clone(&ends));
            async move {
                if !resource.reach() {
                    return Err(StepError::from(std::io::Error::other("no answer")));
                }
                ends.fetch_add(1, Ordering::Relaxed);
                Ok(number)
            }
        });
    let store = MemoryStore::new();
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("desk"))
        .lane(Lane::new("mail").guarded(&MAIL))
        .poll(Duration::from_millis(20))
        .workflow(&letters)
        .build()
        .expect("steps");
    let worker = steps.work();
    let mut put = 0;
    while !IS_OVER.load(Ordering::Relaxed) {
        if put - done.load(Ordering::Relaxed) < 200 {
            let _ = steps.run(&letters, format!("{put}"), &put).await;
            put += 1;
        }
        sleep(Duration::from_millis(5)).await;
        let forgotten = store.forget(Duration::ZERO, 100).await;
        let counts = store.counts().await.expect("in memory");
        let kept: u64 = counts.jobs.iter().map(|(.., count)| count).sum();
        if forgotten.is_err() || kept > 500 {
            part.broke(&format!("{kept} jobs are kept"));
        }
    }
    worker.stop().await;
}
