//! Keeps jobs, and runs them at once if asked to.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::builder::Times;
use super::job::unreadable;
use super::job_observer::{Asked, JobObserver, Watched};
use super::notifier::AnyNotifier;
use super::room::{Place, Room};
use super::saver::Saver;
use super::store::{Put, Store, StoreError};
use super::under_way::{One, UnderWay};
use super::worker::Worker;
use super::workflow::Plan;
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
    pub(super) store: Arc<Watched<D>>,
    pub(super) saver: Saver,
    pub(super) lanes: HashMap<&'static str, Arc<Room>>,
    pub(super) workflows: HashMap<&'static str, Plan>,
    pub(super) notifier: Option<Arc<dyn AnyNotifier>>,
    pub(super) times: Times,
    /// Work that was started at once.
    pub(super) called: Arc<UnderWay>,
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
    /// The store.
    pub fn store(&self) -> &D {
        &self.0.store.store
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
        let place = room.place();
        let call = self.0.called.begin();
        let ran =
            tokio::spawn(Arc::clone(&self.0).keep_and_run(job, Arc::clone(room), place, call));
        // Otherwise the store panicked, or the runtime is being shut down.
        let ran = ran
            .await
            .unwrap_or_else(|error| Err(StoreError::new(error)));
        Ok(ran.map_err(EnqueueError::Store)?.read())
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
}

impl<D> Inner<D> {
    pub(super) fn observe(&self, notify: impl Fn(&dyn JobObserver)) {
        self.store.observers.each(notify);
    }
}

impl<D: Store> Inner<D> {
    pub(super) async fn put(
        &self,
        job: &NewJob,
        lease: Option<Duration>,
    ) -> Result<Put, StoreError> {
        let put = self.store.ask(Asked::Put, |store| store.put(job, lease));
        put.await
    }

    /// In a task of its own from the beginning, so that a job that is kept is also run.
    async fn keep_and_run(
        self: Arc<Self>,
        job: NewJob,
        room: Arc<Room>,
        place: Option<Place>,
        call: One,
    ) -> Result<Unread, StoreError> {
        let place = place.filter(|_| room.would_admit());
        let lease = place.is_some().then_some(self.times.lease);
        let (id, right) = match self.put(&job, lease).await? {
            Put::New(id, right) => (id, right),
            Put::Exists(job) => return Ok(Unread::of(job)),
        };
        let Some(right) = right else {
            self.wake(&job.lane);
            return Ok(Unread(Some(id), Ran::Later(id)));
        };
        let claimed = Claimed {
            right,
            job: running(&job, id),
            is_lost: false,
            fault: None,
        };
        let start = match place {
            Some(place) => self.begin(&room, place, &call.part).await,
            None => None,
        };
        let ran = self.run(start, claimed, &call.part).await;
        Ok(Unread(Some(id), ran))
    }
}

/// A new job that runs.
pub(super) fn running(job: &NewJob, id: JobId) -> Job {
    let row = Row::new(job, Some(Duration::ZERO), 0);
    row.expect("a lease of 0 is not too long").job(id, 0)
}

/// The result of running a job, and which, with a state that is not read yet.
pub(super) struct Unread(pub(super) Option<JobId>, pub(super) Ran<String>);

impl Unread {
    /// What became of a job that existed already.
    pub(super) fn of(job: Job) -> Self {
        let id = Some(job.id);
        let ran = match job.status {
            Status::Done => Ran::Done(job.state),
            Status::Waiting | Status::Running => Ran::Later(job.id),
            status => Ran::Ended {
                id,
                error: format!("it is {}", status.name()),
            },
        };
        Self(id, ran)
    }

    pub(super) fn read<S: DeserializeOwned>(self) -> Ran<S> {
        match self.1 {
            Ran::Done(state) => match serde_json::from_str(&state) {
                Ok(state) => Ran::Done(state),
                Err(error) => Ran::Ended {
                    id: self.0,
                    error: unreadable(&error),
                },
            },
            Ran::Later(id) => Ran::Later(id),
            Ran::Ended { id, error } => Ran::Ended { id, error },
        }
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
