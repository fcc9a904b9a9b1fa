// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps jobs, and runs them at once if asked to.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::in_progress::Batch;
use super::inner::{Inner, claimed, running};
use super::room::{Place, Room};
use super::{EnqueueError, JobId, NewJob, Put, Ran, Store, StoreError, Worker, Workflow};

/// Workflows with the lanes of their steps, over a [`Store`]. Clones share everything.
///
/// ```
/// use atomic_breaker_steps::{Breaker, Config, Lane, MemoryStore, Ran, Steps, Workflow, breaker};
///
/// static MAIL: Breaker = breaker(Config::new());
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let welcome = Workflow::new("welcome").step("mail", "mail", async |to: String| {
///     # let send_mail = async |_: &str| Ok::<_, std::io::Error>(());
///     send_mail(&to).await?;
///     Ok(to)
/// });
/// // In production a database: `SqliteStore::open("jobs.db")` of atomic-breaker-steps-sqlite.
/// let steps = Steps::builder(MemoryStore::new())
///     .lane(Lane::new("mail").guarded(&MAIL))
///     .workflow(&welcome)
///     .build()?;
/// let worker = steps.work();
///
/// match steps.run(&welcome, "user-7", &"ann@example.com".to_owned()).await? {
///     Ran::Done(_) => {}
///     Ran::Later { id, step, .. } => println!("delayed at {step:?}: job {id}"),
///     Ran::Ended { error, .. } => println!("there will be no mail: {error}"),
/// }
/// worker.stop().await;
/// # Ok(()) }
/// ```
pub struct Steps<D>(pub(super) Arc<Inner<D>>);

impl<D: Store> Steps<D> {
    /// The store.
    pub fn store(&self) -> &D {
        &self.0.database.store
    }

    /// Keeps a job, and runs it now, as far as it goes. It is kept and goes on in a task of its own even if this future
    /// is dropped, and a [worker that stops](Worker::stop) waits for it, too. If the breaker of its first step rejects,
    /// it is not tried.
    ///
    /// A job whose kind and key are already kept is not kept again: if that one is done, its state is returned;
    /// otherwise it goes on as it would anyway.
    ///
    /// # Errors
    /// [`EnqueueError`]: no job is kept, unless the store failed without an answer.
    pub async fn run<S>(
        &self,
        workflow: &Workflow<S>,
        key: impl Into<String>,
        state: &S,
    ) -> Result<Ran<S>, EnqueueError>
    where
        S: Serialize + DeserializeOwned + Send + 'static,
    {
        let (job, room) = self.new_job(workflow, key, state)?;
        let (inner, room, place) = (Arc::clone(&self.0), Arc::clone(room), room.place());
        let ran = self
            .0
            .called
            .begin()
            .spawn(async move |batch| inner.keep_and_run(&job, &room, place, &batch).await);
        // Otherwise the store panicked, or the runtime is being shut down.
        let ran = ran
            .await
            .unwrap_or_else(|error| Err(StoreError::new(error)));
        let (id, ran) = ran.map_err(EnqueueError::Store)?;
        Ok(ran.read(Some(id)))
    }

    /// Keeps a job for any worker. There is only one of each kind and key: if it exists, its id is returned, **even if it
    /// has ended** and nothing will be done: [`progress`](Self::progress) says. A key is free again once a job that is done
    /// or cancelled is [forgotten](super::StepsBuilder::retention); one that is dead is kept until a person deals with it.
    ///
    /// # Errors
    /// [`EnqueueError`]: no job is kept, unless the store failed without an answer.
    pub async fn enqueue<S>(
        &self,
        workflow: &Workflow<S>,
        key: impl Into<String>,
        state: &S,
    ) -> Result<JobId, EnqueueError>
    where
        S: Serialize,
    {
        let (job, room) = self.new_job(workflow, key, state)?;
        let put = self.0.put(&job, None).await;
        Ok(match put.map_err(EnqueueError::Store)? {
            Put::New(id, _) => {
                room.came.notify_one();
                id
            }
            Put::Exists(job) => job.id,
        })
    }

    pub(super) fn new_job<S: Serialize>(
        &self,
        workflow: &Workflow<S>,
        key: impl Into<String>,
        state: &S,
    ) -> Result<(NewJob, &Arc<Room>), EnqueueError> {
        if !self.0.workflows.contains_key(workflow.kind()) {
            return Err(EnqueueError::Unknown(workflow.kind()));
        }
        let job = workflow.job(key, state).map_err(EnqueueError::Job)?;
        let room = self.0.lanes.get(&*job.lane);
        let room = room.ok_or(EnqueueError::Unknown(workflow.kind()))?;
        Ok((job, room))
    }

    /// Makes workers of this process look for due jobs in this lane now rather than at their next
    /// [poll](super::StepsBuilder::poll): call it after an operator's [retry](Store::retry_now), and after keeping a job directly
    /// in the store, within a transaction, as soon as that is committed: `steps.wake(&job.lane)`. Jobs that these steps
    /// keep themselves do not need it.
    ///
    /// Does nothing if the lane is not known here, or in other processes: they find the job by polling.
    pub fn wake(&self, lane: &str) {
        self.0.wake(lane);
    }

    /// The kinds of jobs that are known here, in order.
    pub fn kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<_> = self.0.workflows.keys().copied().collect();
        kinds.sort_unstable();
        kinds
    }

    /// Takes up all jobs that are due, in tasks of the runtime this is called in, until it is [stopped](Worker::stop)
    /// or dropped.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn work(&self) -> Worker {
        Worker::new(&self.0)
    }

    /// Waits until no work that was started at once is under way here: by [`run`](Self::run) or
    /// [`call_or_keep`](Self::call_or_keep), and requests that a `KeepLayer` may keep. Such work goes on when its
    /// callers have gone, but not when the runtime ends: call this, with a timeout around it, in a process that was told
    /// to exit and has no [worker](Worker::stop), once it accepts no more requests. Each step takes at most its
    /// [time limit](super::StepsBuilder::time_limit), plus the time the store takes.
    pub async fn calls_ended(&self) {
        self.0.called.ended().await;
    }
}

impl<D: Store> Inner<D> {
    /// In a task of its own from the beginning, so that a job that is kept is also run.
    async fn keep_and_run(
        &self,
        job: &NewJob,
        room: &Room,
        place: Option<Place>,
        batch: &Batch,
    ) -> Result<(JobId, Ran<String>), StoreError> {
        let place = place.filter(|_| room.would_admit());
        let lease = place.is_some().then_some(self.times.lease);
        let right = match self.put(job, lease).await? {
            Put::New(_, Some(right)) => right,
            Put::New(id, None) => {
                self.wake(&job.lane);
                return Ok((id, Ran::later(&running(job, id))));
            }
            Put::Exists(job) => return Ok((job.id, Ran::of(job))),
        };
        let start = match place {
            Some(place) => self.begin(room, place, batch).await,
            None => None,
        };
        let ran = self.run(start, claimed(job, right), batch).await;
        Ok((right.id, ran))
    }
}

impl<D> Clone for Steps<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<D> fmt::Debug for Steps<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steps")
            .field("workflows", &self.0.workflows.keys())
            .finish_non_exhaustive()
    }
}
