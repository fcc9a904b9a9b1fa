//! Makes the call first, and keeps what did not succeed.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_resource::Outcome;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{oneshot, watch};

use super::refused::{Kept, Refused};
use super::unheard::Unheard;
use crate::engine::{Inner, Ran, Steps, ran_before, ran_to_end, running};
use crate::job_observer::{JobObserver, Tried};
use crate::room::{Full, Start};
use crate::runner::{Ended, outcome_of, tried};
use crate::store::{Store, StoreError};
use crate::under_way::One;
use crate::workflow::Came;
use crate::{EnqueueError, JobId, NewJob, StepError, Workflow};

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
    /// it is done, or kept, and a step that ended without success is kept, too, as dead, so that a person is told. If
    /// the store fails after the caller has gone, it is asked again until a [lease](crate::StepsBuilder::lease)
    /// is over; the [observer](crate::JobObserver::unkept) is notified of what cannot be kept by then. A [worker
    /// that stops](crate::Worker::stop) waits for it, and keeps what does not end within its time. Until it has
    /// failed nothing of it is kept: a call under way in a process that dies is lost with its caller.
    /// [`run`](Self::run) keeps it first.
    ///
    /// **Nothing looks for a job of the same key before the call**: if one waits, this call is made all the same, and
    /// the job runs later. Steps must tolerate that, as they may run again in any case. To have each key done in order
    /// use [`run`](Self::run). If this call is to be kept and there is a job of that key already, no second one is
    /// made; the result so far of the existing one is returned.
    ///
    /// ```
    /// use atomic_breaker_steps::{
    ///     Breaker, Config, Lane, MemoryStore, Ran, Steps, Store, Workflow, breaker,
    /// };
    ///
    /// static MAIL: Breaker = breaker(Config::new());
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let welcome = Workflow::new("welcome").step("mail", "mail", async |to: String| {
    ///     # let send_mail = async |_: &str| Ok::<_, std::io::Error>(());
    ///     send_mail(&to).await?;
    ///     Ok(to)
    /// });
    /// let steps = Steps::builder(MemoryStore::new())
    ///     .lane(Lane::new("mail").guarded(&MAIL))
    ///     .workflow(&welcome)
    ///     .build()?;
    ///
    /// let ann = "ann@example.com".to_owned();
    /// assert!(matches!(steps.call_or_keep(&welcome, "user-7", &ann).await?, Ran::Done(_)));
    /// assert!(steps.store().counts().await?.jobs.is_empty());
    ///
    /// MAIL.trip();
    /// let bob = "bob@example.com".to_owned();
    /// assert!(matches!(steps.call_or_keep(&welcome, "user-8", &bob).await?, Ran::Later(_)));
    /// # Ok(()) }
    /// ```
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
        if workflow.0.steps.len() > 1 {
            return Err(EnqueueError::Steps(workflow.kind()));
        }
        let start = room.start_now();
        let (answer, answered) = oneshot::channel();
        let inner = Arc::clone(&self.0);
        let call = inner.called.begin();
        tokio::spawn(async move {
            // If the caller has gone it is dropped, and `Unheard` notices.
            let _ = answer.send(inner.call(start, job, &call).await);
            drop(call);
        });
        match answered.await.unwrap_or(Called::ShutDown) {
            Called::Done(state) => Ok(ran_to_end(None, &state)),
            Called::Kept(Kept::New(id)) => Ok(Ran::Later(id)),
            Called::Kept(Kept::Exists(job)) => Ok(ran_before(&job)),
            Called::Ended(unheard) => Ok(Ran::Ended {
                id: None,
                error: unheard.hear().words(),
            }),
            Called::NotKept(unheard, store) => Err(EnqueueError::NotKept {
                why: unheard.hear().into_error(),
                store,
            }),
            Called::ShutDown => Err(EnqueueError::NotKept {
                why: "it was broken off".into(),
                store: StoreError::new("the runtime is being shut down, or the store panicked"),
            }),
        }
    }
}

/// The result of a call.
enum Called<D: Store> {
    Done(String),
    Kept(Kept),
    Ended(Unheard<Inner<D>>),
    NotKept(Unheard<Inner<D>>, StoreError),
    /// The runtime shuts down, and the call with it.
    ShutDown,
}

impl<D: Store> Inner<D> {
    async fn call(
        self: Arc<Self>,
        start: Result<Start, Full>,
        job: NewJob,
        call: &One,
    ) -> Called<D> {
        let refused = match start {
            Ok(start) => match self.first_try(start, &job, call.order.clone()).await {
                Some(Ok(state)) => return Called::Done(state),
                Some(Err(error)) => Refused::failed(job, error),
                None => Refused::given_up(job),
            },
            // The lane itself knows when it admits.
            Err(Full::Rejected(rejection)) => Refused::not_tried(job, Duration::ZERO, rejection),
            Err(Full::Room) => {
                let why = format!("lane {:?} has no room", job.lane);
                Refused::not_tried(job, Duration::ZERO, why)
            }
            Err(Full::Panicked(words)) => {
                let why = format!("the breaker of lane {:?} panicked: {words}", job.lane);
                Refused::not_tried(job, Duration::ZERO, why)
            }
        };
        if self.ends(&refused) {
            return Called::Ended(Unheard::new(self, refused, Arc::clone(&call.part)));
        }
        match self.keep(&refused).await {
            Ok(kept) => Called::Kept(kept),
            Err(store) => {
                let unheard = Unheard::new(self, refused, Arc::clone(&call.part));
                Called::NotKept(unheard, store)
            }
        }
    }

    /// `None` if it was given up.
    async fn first_try(
        &self,
        mut start: Start,
        job: &NewJob,
        gives_up: watch::Receiver<bool>,
    ) -> Option<Result<String, StepError>> {
        let workflow = Arc::clone(self.workflows.get(&*job.kind)?);
        let job = running(job, JobId::new(0));
        let step = self.step(&*workflow, None, &job, &mut start, gives_up);
        Some(match step.await {
            Ended::Came(Came::Done(state) | Came::Next { state, .. }) => {
                self.observer.tried(&job, Tried::Success);
                start.admitted.report(Outcome::Success, "");
                Ok(state)
            }
            Ended::Came(Came::Failed(error)) => {
                self.observer.tried(&job, tried(error.kind));
                let outcome = outcome_of(error.kind);
                start.admitted.report(outcome, &error.words());
                Err(error)
            }
            Ended::Came(Came::Unreadable(why)) => Err(StepError::end(why)),
            Ended::Lost | Ended::GivenUp => {
                self.observer.tried(&job, Tried::GivenBack);
                return None;
            }
        })
    }
}
