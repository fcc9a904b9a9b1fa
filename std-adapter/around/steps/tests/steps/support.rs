// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workflow whose steps do what a test says.

use std::collections::VecDeque;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_steps::{
    Filter, Job, Lane, MemoryStore, Notifier, Schedule, StepError, Steps, StepsBuilder, Store,
    Stuck, Workflow,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

/// The next act of a step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Do {
    Succeed,
    Fail,
    RetryAfter(Duration),
    End,
    Panic,
    Hang,
    Take(Duration),
}

/// The acts of steps so far, and those to come.
#[derive(Clone)]
pub(super) struct Script {
    plan: Arc<Mutex<VecDeque<Do>>>,
    calls: Arc<Mutex<Vec<(u64, String)>>>,
    began: Instant,
}

impl Script {
    /// After these, steps succeed.
    pub(super) fn new(plan: impl IntoIterator<Item = Do>) -> Self {
        Self {
            plan: Arc::new(Mutex::new(plan.into_iter().collect())),
            calls: Arc::default(),
            began: Instant::now(),
        }
    }

    /// The steps that ran.
    pub(super) fn calls(&self) -> Vec<String> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|(_, step)| step.clone()).collect()
    }

    /// The times at which they ran, in milliseconds since the start.
    pub(super) fn times(&self) -> Vec<u64> {
        let calls = self.calls.lock().unwrap();
        calls.iter().map(|(at, _)| *at).collect()
    }

    pub(super) async fn act(&self, step: &str) -> Result<(), StepError> {
        let at = self.began.elapsed().as_millis() as u64;
        self.calls.lock().unwrap().push((at, step.to_owned()));
        let next = self.plan.lock().unwrap().pop_front();
        match next.unwrap_or(Do::Succeed) {
            Do::Succeed => Ok(()),
            Do::Fail => Err("refused".into()),
            Do::RetryAfter(time) => Err(StepError::retry_after(time, "busy")),
            Do::End => Err(StepError::end("no such address")),
            Do::Panic => panic!("a mistake"),
            Do::Hang => std::future::pending().await,
            Do::Take(time) => {
                sleep(time).await;
                Ok(())
            }
        }
    }

    /// Three steps in lanes `"a"`, `"b"` and `"a"` again, over the steps that were done.
    pub(super) fn workflow(&self) -> Workflow<Vec<String>> {
        let step = |name: &'static str| {
            let script = self.clone();
            move |mut done: Vec<String>| {
                let script = script.clone();
                async move {
                    script.act(name).await?;
                    done.push(name.to_owned());
                    Ok(done)
                }
            }
        };
        Workflow::new("kind")
            .step("first", "a", step("first"))
            .step("second", "b", step("second"))
            .step("third", "a", step("third"))
    }
}

/// Two tries, 1 s apart, without jitter.
pub(super) const fn schedule(tries: u32) -> Schedule {
    Schedule::new()
        .first(Duration::from_secs(1))
        .growth(2.0)
        .jitter_percent(0)
        .tries(tries)
}

pub(super) fn builder<D: Store + Clone>(store: &D) -> StepsBuilder<D> {
    Steps::builder(store.clone())
        .lane(Lane::new("a"))
        .lane(Lane::new("b"))
}

/// Works on a store, with a mailbox for notifications.
pub(super) fn with_mailbox<S>(
    store: &MemoryStore,
    workflow: &Workflow<S>,
) -> (Steps<MemoryStore>, Mailbox)
where
    S: Serialize + DeserializeOwned + Send + 'static,
{
    let mail = Mailbox::default();
    let steps = builder(store).workflow(workflow).notifier(mail.clone());
    (steps.build().unwrap(), mail)
}

/// The state of a job when each step of a [`Script`] has succeeded.
pub(super) fn done() -> Vec<String> {
    ["first", "second", "third"].map(String::from).to_vec()
}

pub(super) async fn only_job(store: &MemoryStore) -> Job {
    let jobs = store.list(&Filter::default(), 9).await.unwrap();
    let [job] = &jobs[..] else {
        panic!("{jobs:?}");
    };
    job.clone()
}

/// Keeps its notifications, and fails this many times first.
#[derive(Clone, Default)]
pub(super) struct Mailbox {
    pub(super) told: Arc<Mutex<Vec<Stuck>>>,
    pub(super) failures: Arc<Mutex<u32>>,
}

impl Notifier for Mailbox {
    async fn notify(&self, stuck: &Stuck) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut failures = self.failures.lock().unwrap();
        if *failures > 0 {
            *failures -= 1;
            return Err("no mail".into());
        }
        self.told.lock().unwrap().push(stuck.clone());
        Ok(())
    }
}
