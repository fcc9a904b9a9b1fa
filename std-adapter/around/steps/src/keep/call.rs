// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes the call first, and keeps what did not succeed.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::undone::{Undone, Unreported};
use crate::ending::StepEnd;
use crate::error::{EnqueueError, StepError, StoreError};
use crate::in_progress::Batch;
use crate::inner::{Inner, running};
use crate::job::{Job, JobId, NewJob, Status};
use crate::lane::Full;
use crate::ran::Ran;
use crate::room::Start;
use crate::steps::Steps;
use crate::store::{Put, Store};
use crate::workflow::Workflow;

/// The reason why a call is not kept.
#[derive(Debug, Error)]
enum Unkept {
    #[error(transparent)]
    Store(StoreError),
    /// A job of the same key was kept before, and has ended without success.
    #[error("job {} of the same key is {}", .0.id, .0.status.name())]
    Before(Job),
}

impl<D: Store> Steps<D> {
    /// Runs the only step of a workflow now, and keeps a job only if that did not succeed: what succeeds at once costs
    /// no write.
    ///
    /// | now | returned | the job |
    /// |---|---|---|
    /// | success | [`Ran::Done`] | none |
    /// | its lane rejects it, or has no room | [`Ran::Later`] | due when its lane admits; that was no try |
    /// | a breaker within the step rejects it | [`Ran::Later`] | due when that breaker said; that was no try |
    /// | failed, panicked, or over the time limit | [`Ran::Later`] | due by the schedule, or [later](StepError::retry_after); that was the first try |
    /// | [`StepError::end`], or no try is left | [`Ran::Ended`] | none |
    ///
    /// The step goes on in a task of its own even if this future is dropped, for example by a timeout around it: then
    /// it is done, or kept, and a step that ended without success is kept, too, as dead, so that a person is notified.
    /// If the store fails after the caller has gone, it is asked again until a [lease](crate::StepsBuilder::lease) is
    /// over; the [observer](crate::JobObserver::unkept) is notified of what cannot be kept by then. A
    /// [worker that stops](crate::Worker::stop) waits for it, and keeps what does not end within its time. Until it has
    /// failed nothing of it is kept: a call under way in a process that dies is lost with its caller.
    /// [`run`](Self::run) keeps it first.
    ///
    /// **Nothing looks for a job of the same key before the call**: if one waits, this call is made all the same, and
    /// the job runs later. Steps must tolerate that, as they may run again in any case. To have each key done in order
    /// use [`run`](Self::run). If this call is to be kept and there is a job of that key already, no second one is
    /// made; the result so far of the existing one is returned. If that one is dead or was cancelled, and the caller has
    /// gone, the call is one that cannot be kept.
    ///
    /// # Errors
    /// [`EnqueueError::NotKept`] when it was not done, and the store failed; with the others nothing was tried.
    pub async fn call_or_keep<S>(
        &self,
        workflow: &Workflow<S>,
        key: impl Into<String>,
        state: &S,
    ) -> Result<Ran<S>, EnqueueError>
    where
        S: Serialize + DeserializeOwned + Send + 'static,
    {
        let (job, room) = self.new_job(workflow, key, state)?;
        if workflow.plan.steps.len() > 1 {
            return Err(EnqueueError::Steps(workflow.kind()));
        }
        let (inner, start) = (Arc::clone(&self.0), room.start());
        let called = self.0.called.begin();
        // If the caller has gone the result is dropped, and `Unreported` notices.
        let called = called.spawn(|batch| inner.call(start, job, batch));
        match called.await {
            Ok(Ok((id, ran))) => Ok(ran.read(id)),
            Ok(Err((unreported, unkept))) => {
                let why = unreported.report();
                match unkept {
                    None => Ok(Ran::Ended {
                        id: None,
                        error: why.words(),
                    }),
                    Some(Unkept::Before(job)) => Ok(Ran::of(job).read(None)),
                    Some(Unkept::Store(store)) => {
                        let why = why.error;
                        Err(EnqueueError::NotKept { why, store })
                    }
                }
            }
            Err(_) => Err(EnqueueError::NotKept {
                why: "it was cut off".into(),
                store: StoreError::new("the runtime is being shut down, or the store panicked"),
            }),
        }
    }
}

impl<D: Store> Inner<D> {
    /// Returns an error if the job is not kept: because it has ended, or for another reason.
    async fn call(
        self: Arc<Self>,
        start: Result<Start, Full>,
        job: NewJob,
        batch: Batch,
    ) -> Result<(Option<JobId>, Ran<String>), (Unreported<D>, Option<Unkept>)> {
        let (why, is_try) = match start {
            Ok(start) => match self.first_try(start, &job, &batch).await {
                StepEnd::Done(state) => return Ok((None, Ran::Done(state))),
                StepEnd::Failed(error) => (error, true),
                StepEnd::Unreadable(why) => (StepError::end(why), true),
                StepEnd::Lost | StepEnd::GivenUp => ("it was given up to stop".into(), false),
            },
            // The lane itself knows when it admits.
            Err(Full::Rejected(rejection)) => (rejection.into(), false),
            Err(Full::Room) => (format!("lane {:?} has no room", job.lane).into(), false),
            Err(Full::Panicked(words)) => {
                let why = format!("the breaker of lane {:?} panicked: {words}", job.lane);
                (why.into(), false)
            }
        };
        let undone = Undone { job, why, is_try };
        let unkept = if self.ends(&undone) {
            None
        } else {
            match self.keep_call(&undone).await {
                Ok(Put::New(id, _)) => {
                    return Ok((Some(id), Ran::later(&running(&undone.job, id))));
                }
                Ok(Put::Exists(job)) => return Ok((Some(job.id), Ran::of(job))),
                Err(unkept) => Some(unkept),
            }
        };
        let inner = Arc::clone(&self);
        let keep = async move |undone: Undone| {
            let keep = || inner.keep_call(&undone);
            let later = |why: &Unkept| matches!(why, Unkept::Store(_));
            inner.keep_at_last(&undone.job, keep, later).await;
        };
        Err((Unreported::new(self, &batch, undone, keep), unkept))
    }

    /// Keeps the job. One of its key that no worker takes up any more does not stand for it.
    async fn keep_call(&self, undone: &Undone) -> Result<Put, Unkept> {
        match self.keep(undone).await.map_err(Unkept::Store)? {
            Put::Exists(job) if matches!(job.status, Status::Dead | Status::Cancelled) => {
                Err(Unkept::Before(job))
            }
            put => Ok(put),
        }
    }

    async fn first_try(&self, mut start: Start, job: &NewJob, batch: &Batch) -> StepEnd {
        let job = running(job, JobId::new(0));
        match self.step_of(&job) {
            Ok((plan, at)) => {
                let step = &plan.steps[at];
                self.step(step, None, &job, &mut start, batch).await
            }
            Err(why) => StepEnd::Unreadable(why),
        }
    }
}
