// SPDX-License-Identifier: MIT OR Apache-2.0
//! The work of a job, step by step.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::state::{Unread, read};
use super::{JobError, JobId, LARGEST_STATE, NewJob, Schedule, StepError};

/// The information that a step gets about its job besides the state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepContext {
    /// The job; `None` in the first try of [`Steps::call_or_keep`](super::Steps::call_or_keep), as nothing is kept
    /// then.
    pub id: Option<JobId>,
    /// The key that identifies the job: the same in each try.
    pub key: String,
    /// The number of times that this step has failed.
    pub failures: u32,
}

type Running = Pin<Box<dyn Future<Output = Result<String, StepError>> + Send>>;
type Read = fn(&str) -> Result<(), Unread>;
type Run = dyn Fn(&str, StepContext) -> Result<Running, Unread> + Send + Sync;

/// A step with the type of the state erased.
#[derive(Clone)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) lane: &'static str,
    /// Reads the state, if it is one that the step can read, and write back whole.
    pub(super) read: Read,
    /// Runs it, which returns the next state, unless the state cannot be read.
    pub(super) run: Arc<Run>,
}

/// A workflow with the type of its state erased.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) kind: &'static str,
    pub(super) steps: Vec<Step>,
    pub(super) schedule: Schedule,
}

/// The work for jobs of one kind: named steps, one after the other, over a state.
///
/// A step takes the state and returns it, changed by what it learned. The state is kept together with the next step, in
/// one write. Any worker that takes the job up after a restart goes on there; nothing is rolled back. **A step runs at
/// least once, and sometimes again after it had succeeded**: when its worker dies, or cannot save, before the result is
/// kept. So give the request a key of its own, such as that of the job, by which the other side recognizes it, or first
/// check whether it was done.
///
/// Releases may work side by side: a job whose state has a field that `S` ignores, and so would not write back, is given
/// back for a worker of the release that wrote it. To drop a field, go on reading it until no job has it:
/// `#[serde(default, skip_serializing)]`.
///
/// ```
/// use atomic_breaker_steps::{StepError, Workflow};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Order { amount: u32, invoice: Option<u64> }
///
/// async fn write_invoice(amount: u32) -> Result<u64, std::io::Error> {
///     # let _ = amount;
///     Ok(7)
/// }
/// # async fn send_parcel(_: u64) -> Result<(), std::io::Error> { Ok(()) }
///
/// let orders = Workflow::new("order")
///     .step("invoice", "billing", async |mut order: Order| {
///         order.invoice = Some(write_invoice(order.amount).await?);
///         Ok(order)
///     })
///     .step("parcel", "logistics", async |order: Order| {
///         let invoice = order.invoice.ok_or_else(|| StepError::end("no invoice"))?;
///         send_parcel(invoice).await?;
///         Ok(order)
///     });
/// # let _ = orders;
/// ```
pub struct Workflow<S> {
    pub(super) plan: Plan,
    state: PhantomData<fn(S) -> S>,
}

impl<S> Workflow<S> {
    /// A workflow without steps. Its name is kept with each job: 1 to 64 bytes.
    pub const fn new(kind: &'static str) -> Self {
        let plan = Plan {
            kind,
            steps: Vec::new(),
            schedule: Schedule::new(),
        };
        let state = PhantomData;
        Self { plan, state }
    }

    /// Sets when a step that failed is tried again, in place of ten tries over 36 hours.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.plan.schedule = schedule;
        self
    }

    /// The name.
    pub fn kind(&self) -> &'static str {
        self.plan.kind
    }
}

impl<S: Serialize + DeserializeOwned + Send + 'static> Workflow<S> {
    /// Adds a step. Its name is kept with jobs that are to run it, and its lane is that of the resource it needs: 1 to
    /// 64 bytes each.
    ///
    /// A function will do, or a closure. A closure that needs a value of its own clones it for each run, as the
    /// compiler accepts no `async` closure that captures:
    ///
    /// ```
    /// # use atomic_breaker_steps::Workflow;
    /// # #[derive(Clone)] struct Client;
    /// # impl Client { async fn send(&self, _: &str) -> Result<(), std::io::Error> { Ok(()) } }
    /// # let client = Client;
    /// let welcome = Workflow::new("welcome").step("mail", "mail", move |to: String| {
    ///     let client = client.clone();
    ///     async move {
    ///         client.send(&to).await?;
    ///         Ok(to)
    ///     }
    /// });
    /// # let _ = welcome;
    /// ```
    #[must_use]
    pub fn step<F, R>(self, name: &'static str, lane: &'static str, run: F) -> Self
    where
        F: Fn(S) -> R + Send + Sync + 'static,
        R: Future<Output = Result<S, StepError>> + Send + 'static,
    {
        self.step_in_context(name, lane, move |state, _| run(state))
    }

    /// Adds a step that is given the job's id and key, and the number of its failures.
    #[must_use]
    pub fn step_in_context<F, R>(mut self, name: &'static str, lane: &'static str, run: F) -> Self
    where
        F: Fn(S, StepContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<S, StepError>> + Send + 'static,
    {
        let run = Arc::new(run);
        let run = Arc::new(move |state: &str, context| {
            let (run, state) = (Arc::clone(&run), read(state)?);
            // Called inside the async block, as it may panic before there is a future.
            Ok(Box::pin(async move { written(&run(state, context).await?) }) as Running)
        });
        let step = Step {
            name,
            lane,
            read: |state| read::<S>(state).map(drop),
            run,
        };
        self.plan.steps.push(step);
        self
    }
}

fn written<S: Serialize + DeserializeOwned>(state: &S) -> Result<String, StepError> {
    let state = serde_json::to_string(state).map_err(StepError::end)?;
    if state.len() > LARGEST_STATE {
        return Err(StepError::end(JobError::Large(state.len())));
    }
    // Found out now, not by the next worker: the step has taken effect.
    read::<S>(&state).map_err(|error| StepError::end(JobError::from(error)))?;
    Ok(state)
}

impl<S: Serialize> Workflow<S> {
    /// Makes a job of this kind, to be kept: by [`Steps::enqueue`](super::Steps::enqueue), or by a store within your
    /// own transaction. There is one job of each kind and key for as long as it is kept: use the order number, for
    /// example.
    ///
    /// # Errors
    /// [`JobError`] when the key is empty or too long, or the state is too large, not JSON, or cannot be read back whole.
    ///
    /// # Panics
    /// If the workflow has no steps.
    pub fn job(&self, key: impl Into<String>, state: &S) -> Result<NewJob, JobError> {
        let state = serde_json::to_string(state).map_err(JobError::State)?;
        let job = self.plan.job(key.into(), state);
        job.check()?;
        let first = self.plan.steps.first().map(|step| step.read);
        first.map_or(Ok(()), |read| read(&job.state))?;
        Ok(job)
    }
}

impl Plan {
    /// A job at its first step, not checked yet.
    pub(super) fn job(&self, key: String, state: String) -> NewJob {
        let first = self.steps.first().expect("a workflow has steps");
        NewJob {
            kind: self.kind.to_owned(),
            key,
            step: first.name.to_owned(),
            lane: first.lane.to_owned(),
            state,
            delay: Duration::ZERO,
        }
    }
}

impl<S> Clone for Workflow<S> {
    fn clone(&self) -> Self {
        let plan = self.plan.clone();
        let state = PhantomData;
        Self { plan, state }
    }
}

impl<S> fmt::Debug for Workflow<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.plan.steps.iter().map(|step| step.name);
        f.debug_struct("Workflow")
            .field("kind", &self.plan.kind)
            .field("steps", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
