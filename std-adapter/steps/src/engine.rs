//! Keeps jobs, and runs them at once if asked to.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::builder::{StepsBuilder, Times};
use super::caught::answer;
use super::job::unreadable;
use super::job_observer::{Asked, JobObserver, text};
use super::notifier::AnyNotifier;
use super::room::{Room, Start};
use super::runner::Now;
use super::saver::Saver;
use super::store::{Put, Store, StoreError};
use super::under_way::{One, UnderWay};
use super::worker::Worker;
use super::workflow::AnyWorkflow;
use super::{Claimed, EnqueueError, Job, JobId, NewJob, Row, Status, Workflow};

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
/// // In production a database: `SqliteStore::open("jobs.db")` of atomic-breaker-sqlite.
/// let steps = Steps::builder(MemoryStore::new())
///     .lane(Lane::new("mail").guarded(&MAIL))
///     .workflow(&welcome)
///     .build()?;
/// let worker = steps.work();
///
/// match steps.run(&welcome, "user-7", &"ann@example.com".to_owned()).await? {
///     Ran::Done(_) => {}
///     Ran::Later(job) => println!("mail is delayed: job {job}"),
///     Ran::Ended { error, .. } => println!("there will be no mail: {error}"),
/// }
/// worker.stop().await;
/// # Ok(()) }
/// ```
pub struct Steps<D>(pub(super) Arc<Inner<D>>);

pub(super) struct Inner<D> {
    pub(super) store: Arc<D>,
    pub(super) saver: Saver,
    pub(super) lanes: HashMap<&'static str, Arc<Room>>,
    pub(super) workflows: HashMap<&'static str, Arc<dyn AnyWorkflow>>,
    pub(super) notifier: Option<Arc<dyn AnyNotifier>>,
    pub(super) times: Times,
    /// Work that was started at once.
    pub(super) called: Arc<UnderWay>,
    pub(super) observer: Arc<dyn JobObserver>,
    /// Messages to a person that are under way.
    pub(super) telling: Arc<UnderWay>,
}

/// The result of running a job at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran<S> {
    /// All its steps are done: the final state.
    Done(S),
    /// It is kept, and goes on when it can.
    Later(JobId),
    /// Another try is pointless: a step [said so](super::StepError::end), or the state is not readable.
    Ended {
        /// The job, which is kept as it is; `None` if the first try of [`call_or_keep`](Steps::call_or_keep) ended it.
        id: Option<JobId>,
        /// The error in words.
        error: String,
    },
}

impl<D: Store> Steps<D> {
    /// Starts from a store, without lanes or workflows yet.
    pub const fn builder(store: D) -> StepsBuilder<D> {
        StepsBuilder::new(store)
    }

    /// The store.
    pub fn store(&self) -> &D {
        &self.0.store
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
        let start = room.start_now().ok();
        let call = self.0.called.begin();
        let runs = tokio::spawn(Arc::clone(&self.0).keep_and_run(job, start, call));
        // Otherwise the store panicked, or the runtime is being shut down.
        let ran = runs.await.map_err(StoreError::new);
        let (id, now) = match ran.and_then(|ran| ran).map_err(EnqueueError::Store)? {
            Kept::Ran(id, now) => (id, now),
            Kept::Before(job) => return Ok(ran_before(&job)),
        };
        Ok(match now {
            Now::Done(state) => ran_to_end(Some(id), &state),
            Now::Ended(error) => Ran::Ended {
                id: Some(id),
                error,
            },
            Now::Later => Ran::Later(id),
        })
    }

    /// Keeps a job for any worker. There is only one of each kind and key: if it exists, its id is returned.
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
        Ok(match self.put(&job, None).await? {
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
    ) -> Result<(NewJob, &Room), EnqueueError> {
        if !self.0.workflows.contains_key(workflow.kind()) {
            return Err(EnqueueError::Unknown(workflow.kind()));
        }
        let job = workflow.job(key, state).map_err(EnqueueError::Job)?;
        let room = self.0.lanes.get(&*job.lane);
        let room = room.ok_or(EnqueueError::Unknown(workflow.kind()))?;
        Ok((job, room))
    }

    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, EnqueueError> {
        let put = self.0.put(job, lease).await;
        put.map_err(EnqueueError::Store)
    }

    /// Makes workers of this process look for jobs of this kind now rather than at their next
    /// [poll](StepsBuilder::poll): call it after keeping a job directly in the store, within a transaction, as soon as
    /// that is committed. Jobs that these steps keep themselves do not need it.
    ///
    /// Does nothing where the workflow is not known here, or in other processes: they find the job by polling.
    pub fn wake<S>(&self, workflow: &Workflow<S>) {
        let workflow = self.0.workflows.get(workflow.kind());
        let steps = workflow.map(|workflow| workflow.steps());
        if let Some((_, lane)) = steps.and_then(|steps| steps.first().copied()) {
            self.0.wake(lane);
        }
    }

    /// Makes workers of this process look for due jobs in this lane now, as after an operator's
    /// [retry](Store::retry_now). Does nothing if the lane is not known here.
    pub fn wake_lane(&self, lane: &str) {
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
}

/// What became of a job that was to be run at once.
enum Kept {
    Ran(JobId, Now),
    /// It existed already.
    Before(Job),
}

impl<D: Store> Inner<D> {
    pub(super) async fn put(
        &self,
        job: &NewJob,
        lease: Option<Duration>,
    ) -> Result<Put, StoreError> {
        let put = answer(|| self.store.put(job, lease)).await;
        put.inspect_err(|error| self.observer.store_failed(Asked::Put, &text(error)))
    }

    /// In a task of its own from the beginning, so that a job that is kept is also run.
    async fn keep_and_run(
        self: Arc<Self>,
        job: NewJob,
        start: Option<Start>,
        call: One,
    ) -> Result<Kept, StoreError> {
        let lease = start.is_some().then_some(self.times.lease);
        let (id, right) = match self.put(&job, lease).await? {
            Put::New(id, right) => (id, right),
            Put::Exists(job) => return Ok(Kept::Before(job)),
        };
        let (Some(start), Some(right)) = (start, right) else {
            self.wake(&job.lane);
            return Ok(Kept::Ran(id, Now::Later));
        };
        let claimed = Claimed {
            right,
            job: running(&job, id),
            is_lost: false,
            fault: None,
        };
        let now = Arc::clone(&self).run(start, claimed, call.order.clone());
        Ok(Kept::Ran(id, now.await))
    }
}

/// A new job that runs.
pub(super) fn running(job: &NewJob, id: JobId) -> Job {
    let row = Row::new(job, Some(Duration::ZERO), 0);
    row.expect("a lease of 0 is not too long").job(id, 0)
}

pub(super) fn ran_to_end<S: DeserializeOwned>(id: Option<JobId>, state: &str) -> Ran<S> {
    match serde_json::from_str(state) {
        Ok(state) => Ran::Done(state),
        Err(error) => Ran::Ended {
            id,
            error: unreadable(&error),
        },
    }
}

pub(super) fn ran_before<S: DeserializeOwned>(job: &Job) -> Ran<S> {
    match job.status {
        Status::Done => ran_to_end(Some(job.id), &job.state),
        Status::Waiting | Status::Running => Ran::Later(job.id),
        status => Ran::Ended {
            id: Some(job.id),
            error: format!("it is {}", status.name()),
        },
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
            .field("lanes", &self.0.lanes.keys())
            .finish_non_exhaustive()
    }
}
