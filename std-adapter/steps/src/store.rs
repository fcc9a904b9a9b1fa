//! What a database must be able to do.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::row::{Row, since};
use super::{Claimed, Failed, Job, JobId, NewJob, Right, Status};

/// The result of running a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Save {
    /// The change is saved only if this is still the right to the job.
    pub right: Right,
    /// The change.
    pub change: Change,
}

/// A change to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Its step is done; the next one is due now.
    Next {
        /// The next step.
        step: String,
        /// Its lane.
        lane: String,
        /// The state after the step that is done.
        state: String,
        /// Goes on with the same right, for this long; otherwise it waits for a worker.
        keep: Option<Duration>,
    },
    /// Its last step is done.
    Done {
        /// The final state.
        state: String,
    },
    /// It failed and is due again after a pause: one more failure, and a line in its history.
    Again {
        /// The pause.
        due_in: Duration,
        /// The error in words.
        error: String,
        /// A person is to be told, unless one already was.
        tell: bool,
    },
    /// It was not tried: due again after a pause, and nothing is counted.
    Back {
        /// The pause.
        due_in: Duration,
    },
    /// It was not tried, as a breaker within its step rejected it, or this worker does not know how to run it: due
    /// again after a pause, without a failure. Meanwhile it [counts as due](Counts::due), and [`Job::held_up`] says how
    /// often and since when, until it is tried, [waits again](Store::unpark), or is [tried at once](Store::retry_now).
    HeldUp {
        /// The pause.
        due_in: Duration,
        /// This worker knows its kind and step, and can read its state.
        is_known: bool,
        /// The reason in words: a line in its history if a person is to be told.
        error: String,
        /// A person is to be told, unless one already was.
        tell: bool,
    },
    /// It ends without success: a line in its history. A parked job has each line once, however often it is parked for
    /// the same reason.
    End {
        /// [`Status::Dead`] or [`Status::Parked`].
        status: Status,
        /// The reason in words.
        error: String,
        /// Whether it was a try, and counts as a failure.
        is_try: bool,
        /// A person is to be told, unless one already was.
        tell: bool,
    },
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

/// How many jobs there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By lane and status; those with no jobs are left out.
    pub jobs: Vec<(String, Status, u64)>,
    /// By lane, how many of the waiting jobs are due now or are [held up](Job::held_up); lanes without any are left
    /// out.
    pub due: Vec<(String, u64)>,
    /// For how long the job that has waited longest has been due; for one that is held up, since the first time.
    pub oldest_due: Option<Duration>,
}

impl Counts {
    /// Counts these rows.
    pub fn of_rows<'a>(rows: impl IntoIterator<Item = &'a Row>, now: i64) -> Self {
        let mut jobs: BTreeMap<_, u64> = BTreeMap::new();
        let mut due: BTreeMap<_, u64> = BTreeMap::new();
        let mut oldest_due = None;
        for row in rows {
            *jobs.entry((&*row.lane, row.status)).or_default() += 1;
            let since_due = (row.due <= now).then_some(row.due);
            let waits = row.status == Status::Waiting;
            if let Some(then) = row.held_since.or(since_due).filter(|_| waits) {
                *due.entry(&*row.lane).or_default() += 1;
                oldest_due = oldest_due.max(Some(since(now, then)));
            }
        }
        let jobs = jobs.into_iter();
        let due = due.into_iter();
        Self {
            jobs: jobs
                .map(|((lane, status), count)| (lane.to_owned(), status, count))
                .collect(),
            due: due.map(|(lane, count)| (lane.to_owned(), count)).collect(),
            oldest_due,
        }
    }

    /// How many have this status, in all lanes.
    pub fn of(&self, status: Status) -> u64 {
        let of = self.jobs.iter().filter(|(_, each, _)| *each == status);
        of.map(|(.., count)| count).sum()
    }
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
    /// Whether a job is to be listed.
    pub fn admits(&self, id: JobId, row: &Row) -> bool {
        self.after.is_none_or(|after| id > after)
            && self.status.is_none_or(|status| status == row.status)
            && self.kind.as_ref().is_none_or(|kind| *kind == row.kind)
            && self.key.as_ref().is_none_or(|key| *key == row.key)
    }
}

/// Where jobs are kept: a database. [`MemoryStore`](super::MemoryStore) defines exactly what each function does; every
/// store passes the same tests.
///
/// Each call is done entirely or not at all, and ends within a bounded time, with an error if need be: workers wait for
/// it. Times are those of the store's own clock.
pub trait Store: Send + Sync + 'static {
    /// Keeps a job, unless there is one of its kind and key. Claims it at once for `lease`, if one is given.
    ///
    /// # Errors
    /// [`StoreError`]: the job may or may not be kept.
    fn put(
        &self,
        job: &NewJob,
        lease: Option<Duration>,
    ) -> impl Future<Output = Result<Put, StoreError>> + Send;

    /// Claims up to `most` jobs of a lane that are due, in the order in which they were due; a running job is due when
    /// its lease ends. A job whose lease has run out before is claimed alone, as it may be what kills its workers. A
    /// claimed job counts as begun.
    ///
    /// # Errors
    /// [`StoreError`]: jobs that were claimed become due again when the lease is over.
    fn claim(
        &self,
        lane: &str,
        most: u32,
        lease: Duration,
    ) -> impl Future<Output = Result<Claim, StoreError>> + Send;

    /// Renews leases, for this long from now. Returns `false` for those whose right is gone.
    ///
    /// # Errors
    /// [`StoreError`]: they may or may not be renewed.
    fn renew(
        &self,
        rights: &[Right],
        lease: Duration,
    ) -> impl Future<Output = Result<Vec<bool>, StoreError>> + Send;

    /// Saves the results of jobs, each on its own, in the order given.
    ///
    /// # Errors
    /// [`StoreError`]: they may or may not be saved.
    fn save(&self, saves: &[Save]) -> impl Future<Output = Result<Vec<Saved>, StoreError>> + Send;

    /// Makes up to `most` jobs of a kind wait again that are at one of these steps, which this worker knows, and were
    /// parked at least this long ago. They are no longer held up, except for how long they were
    /// [unknown](super::HeldUp::unknown). Returns how many.
    ///
    /// # Errors
    /// [`StoreError`]: they may or may not wait again.
    fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// One job.
    ///
    /// # Errors
    /// [`StoreError`] when there is no answer.
    fn job(&self, id: JobId) -> impl Future<Output = Result<Option<Job>, StoreError>> + Send;

    /// Jobs in the order of their ids, `most` at a time.
    ///
    /// # Errors
    /// [`StoreError`] when there is no answer.
    fn list(
        &self,
        filter: &Filter,
        most: u32,
    ) -> impl Future<Output = Result<Vec<Job>, StoreError>> + Send;

    /// The failures of a job, the latest last.
    ///
    /// # Errors
    /// [`StoreError`] when there is no answer.
    fn history(&self, id: JobId) -> impl Future<Output = Result<Vec<Failed>, StoreError>> + Send;

    /// Makes a job that waits, is parked or was given up due now, with as many tries as a new one, and no longer held
    /// up. Returns whether that was possible.
    ///
    /// # Errors
    /// [`StoreError`]: it may or may not be due.
    fn retry_now(&self, id: JobId) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Ends a job that is neither done nor cancelled; a worker that runs it can no longer save. Returns whether that
    /// was possible.
    ///
    /// # Errors
    /// [`StoreError`]: it may or may not be cancelled.
    fn cancel(&self, id: JobId) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// How many jobs there are.
    ///
    /// # Errors
    /// [`StoreError`] when there is no answer.
    fn counts(&self) -> impl Future<Output = Result<Counts, StoreError>> + Send;

    /// Forgets up to `most` jobs that were done or cancelled this long ago, with their history. Returns how many.
    ///
    /// # Errors
    /// [`StoreError`]: they may or may not be forgotten.
    fn forget(
        &self,
        ended_before: Duration,
        most: u32,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;
}

/// Why a store did not do what it was asked.
#[derive(Debug)]
pub struct StoreError(Box<dyn Error + Send + Sync>);

impl StoreError {
    /// Wraps the error of a database.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
