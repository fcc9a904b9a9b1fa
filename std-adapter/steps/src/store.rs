//! What a database must be able to do.

use std::time::Duration;

use thiserror::Error;

use super::counts::Counts;
use super::error::BoxError;
use super::named::named;
use super::row::Row;
use super::{Claimed, Failed, Job, JobId, NewJob, Right, Status};

/// The result of running a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Save {
    /// The change is saved only if this is still the right to the job.
    pub right: Right,
    /// The change.
    pub change: Change,
}

/// A change to a job that runs: each function makes one, and a store writes its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct Change {
    /// The new status.
    pub status: Status,
    /// The next step and its lane, if a step is done that is not the last; then no failures are counted yet.
    pub next: Option<(String, String)>,
    /// The new state, if a step is done.
    pub state: Option<String>,
    /// How long until it is due, or until its lease ends if it still runs; `None` if it ends.
    pub due_in: Option<Duration>,
    /// The attempt that was made, if any.
    pub attempt: Attempt,
    /// A line in its history, with the number of the failure if it is one, otherwise 0. A parked job has each line once,
    /// and one that is held up only if a person is to be told.
    pub error: Option<String>,
    /// A person is to be told, unless one was: of a delay once, and of the end in any case.
    pub tell: bool,
}

named! {
    /// What a [`Change`] says about the attempt.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Attempt {
        /// It was tried, and is no longer [held up](Job::held_up).
        Succeeded = "succeeded",
        /// The same, and it counts as a failure.
        Failed = "failed",
        /// It was not tried, and nothing is counted.
        None = "none",
        /// It was not tried, and is held up once more: a breaker within its step rejected it.
        Rejected = "rejected",
        /// The same: this worker does not know its kind or step, or cannot read its state.
        Unknown = "unknown",
    }
}

impl Change {
    const fn new(status: Status, due_in: Option<Duration>, attempt: Attempt) -> Self {
        Self {
            status,
            next: None,
            state: None,
            due_in,
            attempt,
            error: None,
            tell: false,
        }
    }

    /// Its step is done. If it is to `keep` its right, the next step runs with it for this long; otherwise it is due
    /// now.
    pub fn next(step: &str, lane: &str, state: String, keep: Option<Duration>) -> Self {
        let status = match keep {
            Some(_) => Status::Running,
            None => Status::Waiting,
        };
        let mut done = Self::new(status, keep.or(Some(Duration::ZERO)), Attempt::Succeeded);
        done.next = Some((step.to_owned(), lane.to_owned()));
        done.state = Some(state);
        done
    }

    /// Its last step is done, with this state.
    pub fn done(state: String) -> Self {
        let mut done = Self::new(Status::Done, None, Attempt::Succeeded);
        done.state = Some(state);
        done
    }

    /// It was not tried, and is due again after a pause.
    pub const fn back(due_in: Duration) -> Self {
        Self::new(Status::Waiting, Some(due_in), Attempt::None)
    }

    /// It failed, and is due again after a pause.
    pub fn again(due_in: Duration, error: String) -> Self {
        Self::new(Status::Waiting, Some(due_in), Attempt::Failed).with(error)
    }

    /// It was not tried, as a breaker within its step rejected it, or this worker does not know how to run it: due
    /// again after a pause. Meanwhile it [counts as due](Counts::due), and [`Job::held_up`] says how often and since
    /// when, until it is tried, [waits again](Store::unpark), or is [tried at once](Store::retry_now).
    pub fn held_up(due_in: Duration, is_known: bool, error: String) -> Self {
        let attempt = if is_known {
            Attempt::Rejected
        } else {
            Attempt::Unknown
        };
        Self::new(Status::Waiting, Some(due_in), attempt).with(error)
    }

    /// Its last try failed.
    pub fn dead(error: String) -> Self {
        Self::new(Status::Dead, None, Attempt::Failed).with(error)
    }

    /// No worker can run it as it is.
    pub fn parked(error: String) -> Self {
        Self::new(Status::Parked, None, Attempt::None).with(error)
    }

    fn with(mut self, error: String) -> Self {
        self.error = Some(error);
        self
    }

    /// Whether a person is to be told, unless one was: of a delay once, and of the end in any case. One who was told of a
    /// job that has been [tried again](Store::retry_now) since, or [taken up](Store::unpark) and tried, was told of
    /// another one.
    pub const fn tell(mut self, tell: bool) -> Self {
        self.tell = tell;
        self
    }
}

/// What became of a [`Save`]. By default the right was gone: nothing has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// The right was still held, and the change is written.
    pub is_held: bool,
    /// A person is to be told, and this is marked: no other worker is asked to.
    pub tell: bool,
}

/// The result of keeping a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is kept; claimed at once if that was asked for.
    New(JobId, Option<Right>),
    /// There already is one of that kind and key.
    Exists(Job),
}

/// The jobs that were claimed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// In the order in which they were due.
    pub jobs: Vec<Claimed>,
    /// When the next one is due in the lane, if fewer were claimed than might have been.
    pub next_due: Option<Duration>,
}

/// Which jobs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this status only.
    pub status: Option<Status>,
    /// Of this kind only.
    pub kind: Option<String>,
    /// With this key only. Combined with a kind that is at most one job, found as fast as by its id.
    pub key: Option<String>,
    /// With a greater id than this.
    pub after: Option<JobId>,
}

impl Filter {
    /// Whether a job is to be listed now.
    pub fn admits(&self, id: JobId, row: &Row, now: i64) -> bool {
        self.after.is_none_or(|after| id > after)
            && self
                .status
                .is_none_or(|status| status == row.status_at(now))
            && self.kind.as_ref().is_none_or(|kind| *kind == row.kind)
            && self.key.as_ref().is_none_or(|key| *key == row.key)
    }
}

/// Where jobs are kept: a database. [`MemoryStore`](super::MemoryStore) defines exactly what each function does; every
/// store passes the same tests.
///
/// Each call is done entirely or not at all, and ends within a bounded time: workers wait for it. After a [`StoreError`]
/// it is not known which of the two; jobs that were claimed become due again when the lease is over. Times are those of
/// the store's own clock.
pub trait Store: Send + Sync + 'static {
    /// Keeps a job, unless there is one of its kind and key. Claims it at once for `lease`, if one is given.
    fn put(
        &self,
        job: &NewJob,
        lease: Option<Duration>,
    ) -> impl Future<Output = Result<Put, StoreError>> + Send;

    /// How long until the first job of a lane may be claimed: 0 if one is due, `None` if no job of it waits or runs.
    /// Changes nothing: workers look with this before they ask the lane's breaker.
    fn next_due(
        &self,
        lane: &str,
    ) -> impl Future<Output = Result<Option<Duration>, StoreError>> + Send;

    /// Claims up to `most` jobs of a lane that are due, in the order in which they were due; a running job is due when
    /// its lease ends. A job whose lease has run out before is claimed alone, as it may be what kills its workers. A
    /// claimed job counts as begun.
    fn claim(
        &self,
        lane: &str,
        most: u32,
        lease: Duration,
    ) -> impl Future<Output = Result<Claim, StoreError>> + Send;

    /// Renews a lease, for this long from now. Returns `false` if the right is gone.
    fn renew(
        &self,
        right: Right,
        lease: Duration,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Saves the results of jobs, each on its own, in the order given.
    fn save(&self, saves: &[Save]) -> impl Future<Output = Result<Vec<Saved>, StoreError>> + Send;

    /// Makes up to `most` jobs of a kind wait again that are at one of these steps, which this worker knows, and were
    /// parked at least this long ago. They are no longer held up, except for how long they were
    /// [unknown](super::HeldUp::unknown). Returns how many. A person who was told of one is not told again if it is
    /// parked again untried.
    fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// One job: the first one [listed](Self::list) after the id before, unless a store has a shorter way.
    fn job(&self, id: JobId) -> impl Future<Output = Result<Option<Job>, StoreError>> + Send {
        async move {
            let filter = Filter {
                after: Some(JobId::new(id.get().saturating_sub(1))),
                ..Filter::default()
            };
            let first = self.list(&filter, 1).await?.pop();
            Ok(first.filter(|job| job.id == id))
        }
    }

    /// Jobs in the order of their ids, `most` at a time.
    fn list(
        &self,
        filter: &Filter,
        most: u32,
    ) -> impl Future<Output = Result<Vec<Job>, StoreError>> + Send;

    /// The failures of a job, the latest last.
    fn history(&self, id: JobId) -> impl Future<Output = Result<Vec<Failed>, StoreError>> + Send;

    /// Makes a job that waits, is parked or was given up due now, with as many tries as a new one, no longer held up, and
    /// as if no person had been told of it. Returns whether that was possible.
    fn retry_now(&self, id: JobId) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Ends a job that is neither done nor cancelled; a worker that runs it can no longer save. Returns whether that
    /// was possible.
    fn cancel(&self, id: JobId) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// How many jobs there are.
    fn counts(&self) -> impl Future<Output = Result<Counts, StoreError>> + Send;

    /// Forgets up to `most` jobs that were done or cancelled this long ago, with their history. Returns how many.
    fn forget(
        &self,
        ended_before: Duration,
        most: u32,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;
}

/// Why a store did not do what it was asked.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct StoreError(BoxError);

impl StoreError {
    /// Wraps the error of a database.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self(error.into())
    }
}
