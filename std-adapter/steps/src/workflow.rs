//! What is done, step by step.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::job::{JobError, LONGEST_NAME, NewJob, unreadable};
use super::{JobId, Schedule, StepError};

/// What a step is told about its job besides the state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepContext {
    /// The job; `None` in the first try of [`Steps::call_or_keep`](super::Steps::call_or_keep), as nothing is kept
    /// then.
    pub id: Option<JobId>,
    /// What identifies the job: the same in each try.
    pub key: String,
    /// How often this step has failed.
    pub failures: u32,
}

type Running<S> = Pin<Box<dyn Future<Output = Result<S, StepError>> + Send>>;

pub(super) struct Step<S> {
    pub(super) name: &'static str,
    pub(super) lane: &'static str,
    pub(super) run: Box<dyn Fn(S, StepContext) -> Running<S> + Send + Sync>,
}

/// What is done for jobs of one kind: named steps, one after the other, over a state. Clones share everything.
///
/// A step takes the state and returns it, changed by what it learned. The state is kept together with the next step, in
/// one write. Any worker that takes the job up after a restart goes on there; nothing is rolled back. **A step runs at
/// least once, and sometimes again after it had succeeded**: when its worker dies, or cannot save, before the result is
/// kept. So give the request a key of its own, such as that of the job, by which the other side recognizes it, or first
/// check whether it was done.
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
pub struct Workflow<S>(pub(super) Arc<Plan<S>>);

pub(super) struct Plan<S> {
    pub(super) kind: &'static str,
    pub(super) steps: Vec<Step<S>>,
    pub(super) schedule: Schedule,
}

impl<S> Workflow<S> {
    /// A workflow without steps. Its name is kept with each job: 1 to 64 bytes.
    pub fn new(kind: &'static str) -> Self {
        Self(Arc::new(Plan {
            kind,
            steps: Vec::new(),
            schedule: Schedule::new(),
        }))
    }

    /// Sets when a step that failed is tried again, in place of ten tries over 36 hours.
    #[must_use]
    pub fn schedule(self, schedule: Schedule) -> Self {
        self.with(|steps| steps.schedule = schedule)
    }

    fn with(self, change: impl FnOnce(&mut Plan<S>)) -> Self {
        let mut steps = Arc::try_unwrap(self.0).unwrap_or_else(|_| {
            panic!("a workflow is built before it is cloned");
        });
        change(&mut steps);
        Self(Arc::new(steps))
    }

    /// The name.
    pub fn kind(&self) -> &'static str {
        self.0.kind
    }
}

impl<S: 'static> Workflow<S> {
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

    /// Adds a step that is told the job's id and key, and how often it has failed.
    #[must_use]
    pub fn step_in_context<F, R>(self, name: &'static str, lane: &'static str, run: F) -> Self
    where
        F: Fn(S, StepContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<S, StepError>> + Send + 'static,
    {
        let run = Box::new(move |state, context| Box::pin(run(state, context)) as Running<S>);
        self.with(|steps| steps.steps.push(Step { name, lane, run }))
    }
}

impl<S: Serialize> Workflow<S> {
    /// Makes a job of this kind, to be kept: by [`Steps::enqueue`](super::Steps::enqueue), or by a store within your
    /// own transaction. There is one job of each kind and key for as long as it is kept: use the order number, for
    /// example.
    ///
    /// # Errors
    /// [`JobError`] when the key is empty or too long, or the state is too large or not JSON.
    ///
    /// # Panics
    /// If the workflow has no steps.
    pub fn job(&self, key: impl Into<String>, state: &S) -> Result<NewJob, JobError> {
        let first = self.0.steps.first().expect("a workflow has steps");
        let state = serde_json::to_string(state).map_err(JobError::State)?;
        NewJob::new(self.0.kind, key.into(), (first.name, first.lane), state)
    }
}

impl<S> Clone for Workflow<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> fmt::Debug for Workflow<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.steps.iter().map(|step| step.name);
        f.debug_struct("Workflow")
            .field("kind", &self.0.kind)
            .field("steps", &names.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// The result of a step.
pub(super) enum Came {
    /// The job is done.
    Done(String),
    /// A step is done, and this is next.
    Next {
        step: &'static str,
        lane: &'static str,
        state: String,
    },
    Failed(StepError),
    /// No worker can run it as it is.
    Unreadable(String),
}

/// A workflow with the type of its state erased.
pub(super) trait AnyWorkflow: Send + Sync {
    fn kind(&self) -> &'static str;
    fn schedule(&self) -> &Schedule;
    /// The steps with their lanes.
    fn steps(&self) -> Vec<(&'static str, &'static str)>;
    /// Runs a step.
    fn run(
        &self,
        step: &str,
        state: &str,
        context: StepContext,
    ) -> Pin<Box<dyn Future<Output = Came> + Send>>;
}

impl<S: Serialize + DeserializeOwned + Send + 'static> AnyWorkflow for Workflow<S> {
    fn kind(&self) -> &'static str {
        self.0.kind
    }

    fn schedule(&self) -> &Schedule {
        &self.0.schedule
    }

    fn steps(&self) -> Vec<(&'static str, &'static str)> {
        let steps = self.0.steps.iter();
        steps.map(|step| (step.name, step.lane)).collect()
    }

    fn run(
        &self,
        step: &str,
        state: &str,
        context: StepContext,
    ) -> Pin<Box<dyn Future<Output = Came> + Send>> {
        let Some(at) = self.0.steps.iter().position(|each| each.name == step) else {
            let why = format!("{:?} has no step {step:?} here", self.0.kind);
            return Box::pin(std::future::ready(Came::Unreadable(why)));
        };
        let state = match serde_json::from_str(state) {
            Ok(state) => state,
            Err(error) => {
                let why = format!("{:?} cannot go on: {}", self.0.kind, unreadable(&error));
                return Box::pin(std::future::ready(Came::Unreadable(why)));
            }
        };
        let steps = Arc::clone(&self.0);
        Box::pin(async move {
            let state = match (steps.steps[at].run)(state, context).await {
                Ok(state) => state,
                Err(error) => return Came::Failed(error),
            };
            let state = match serde_json::to_string(&state) {
                Ok(state) => state,
                Err(error) => return Came::Failed(StepError::end(error)),
            };
            if state.len() > super::job::LARGEST_STATE {
                return Came::Failed(StepError::end(JobError::Large(state.len())));
            }
            match steps.steps.get(at + 1) {
                Some(next) => Came::Next {
                    step: next.name,
                    lane: next.lane,
                    state,
                },
                None => Came::Done(state),
            }
        })
    }
}

/// Whether a name can be kept.
pub(super) fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && !name.contains('\0')
}
