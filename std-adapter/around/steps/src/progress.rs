// SPDX-License-Identifier: MIT OR Apache-2.0
//! The progress of a job.

use std::time::Duration;

use serde::de::DeserializeOwned;
use thiserror::Error;

use super::text::unreadable;
use super::{Asked, Failed, Job, JobId, Status, Steps, Store, StoreError, Workflow};

/// The progress of a job, as its store has it: returned by [`Steps::progress`] and [`Steps::wait_done`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobProgress<S> {
    /// The job.
    pub id: JobId,
    /// The key that identifies the job among those of its kind.
    pub key: String,
    /// The status.
    pub status: Status,
    /// The step that is next, or under way; for a job that has ended, its last.
    pub step: String,
    /// The number of steps that are done, of those of the workflow; `None` if it has no step of that name, as when
    /// another release has.
    pub steps_done: Option<usize>,
    /// The state after the steps that are done; the [result](Self::result) if all are.
    pub state: S,
    /// The number of times that this step has failed.
    pub failures: u32,
    /// The time until the step is due, 0 if it is; `None` for a job that runs or has ended.
    pub due_in: Option<Duration>,
    /// Its last failure, of this step or one before, [without what may be secret](crate::redacted).
    pub last_error: Option<Failed>,
}

impl<S> JobProgress<S> {
    /// The final state, if all steps are done.
    pub fn result(&self) -> Option<&S> {
        (self.status == Status::Done).then_some(&self.state)
    }

    /// Replaces the state.
    fn with<T>(self, state: T) -> JobProgress<T> {
        JobProgress {
            id: self.id,
            key: self.key,
            status: self.status,
            step: self.step,
            steps_done: self.steps_done,
            state,
            failures: self.failures,
            due_in: self.due_in,
            last_error: self.last_error,
        }
    }
}

/// The reason why the progress of a job is not known.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProgressError {
    /// The store failed.
    #[error("how far the job has come is not known: {0}")]
    Store(#[source] StoreError),
    /// The state is not one of this workflow, as when another release has written it.
    #[error("job {} is {} at step {:?}: {why}", .job.id, .job.status.name(), .job.step)]
    State {
        /// The progress of the job, without the state.
        job: Box<JobProgress<()>>,
        /// The place where the state differs, without any of its content.
        why: String,
    },
}

impl<D: Store> Steps<D> {
    /// Returns the progress of a job of this workflow; `None` if there is none: it never was, is
    /// [forgotten since](crate::StepsBuilder::retention), or is a job of another kind.
    ///
    /// Ids are counted up, so they can be guessed. Before you answer a stranger, compare something that only the owner of
    /// the job knows: the `registration` example keeps a random token in the state.
    ///
    /// # Errors
    /// [`ProgressError`]: the store failed, or the state is of another type.
    ///
    /// ```
    /// use atomic_breaker_steps::{Lane, MemoryStore, Status, Steps, Workflow};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let welcome = Workflow::new("welcome").step("mail", "mail", async |to: String| Ok(to));
    /// let steps = Steps::builder(MemoryStore::new()).lane(Lane::new("mail")).workflow(&welcome).build()?;
    /// let id = steps.enqueue(&welcome, "user-7", &"ann@example.com".to_owned()).await?;
    ///
    /// let job = steps.progress(&welcome, id).await?.ok_or("forgotten")?;
    /// assert_eq!((job.status, &*job.step, &*job.state), (Status::Waiting, "mail", "ann@example.com"));
    /// # Ok(()) }
    /// ```
    pub async fn progress<S: DeserializeOwned>(
        &self,
        workflow: &Workflow<S>,
        id: JobId,
    ) -> Result<Option<JobProgress<S>>, ProgressError> {
        self.progress_within(Duration::MAX, workflow, id).await
    }

    /// A store that does not answer within this time has failed.
    pub(super) async fn progress_within<S: DeserializeOwned>(
        &self,
        limit: Duration,
        workflow: &Workflow<S>,
        id: JobId,
    ) -> Result<Option<JobProgress<S>>, ProgressError> {
        let database = &self.0.database;
        let job = database.ask_within(limit, Asked::Job, |store| store.job(id));
        let job = job.await.map_err(ProgressError::Store)?;
        let Some(job) = job.filter(|job| job.kind == workflow.kind()) else {
            return Ok(None);
        };
        let history = database.ask_within(limit, Asked::History, |store| store.history(id));
        let last = history.await.map_err(ProgressError::Store)?.pop();
        let read = serde_json::from_str(&job.state).map_err(|error| unreadable(&error));
        let progress = progress(workflow, job, last);
        match read {
            Ok(state) => Ok(Some(progress.with(state))),
            Err(why) => Err(ProgressError::State {
                job: Box::new(progress),
                why,
            }),
        }
    }
}

fn progress<S>(workflow: &Workflow<S>, job: Job, last_error: Option<Failed>) -> JobProgress<()> {
    let steps = &workflow.plan.steps;
    let at = steps.iter().position(|step| step.name == job.step);
    let due_in_ms = u64::try_from(job.due_in_ms).unwrap_or(0);
    JobProgress {
        id: job.id,
        key: job.key,
        status: job.status,
        step: job.step,
        steps_done: at.map(|at| at + usize::from(job.status == Status::Done)),
        state: (),
        failures: job.failures,
        due_in: (job.status == Status::Waiting).then(|| Duration::from_millis(due_in_ms)),
        last_error,
    }
}
