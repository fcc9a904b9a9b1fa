//! What a database must be able to do.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::{Claimed, Failed, Job, JobId, NewJob, Right, Status};

/// What came of running a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Save {
    /// Saved only if this is still the right to it.
    pub right: Right,
    /// What changes.
    pub change: Change,
}

/// What changes in a job.
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
        /// Goes on with the same right, for so long; otherwise it waits for a worker.
        keep: Option<Duration>,
    },
    /// Its last step is done.
    Done {
        /// The state in the end.
        state: String,
    },
    /// It failed and is due again in so long: one failure more, and a line in its history.
    Again {
        /// In how long.
        due_in: Duration,
        /// In words.
        error: String,
        /// A person is to be told, unless one was.
        tell: bool,
    },
    /// It was not tried: due again in so long, and nothing counts.
    Back {
        /// In how long.
        due_in: Duration,
    },
    /// It was not tried, as a breaker within its step rejected it, or this worker does not know how to run it: due again in
    /// so long, without a failure. It is [counted as due](Counts::due) meanwhile, and [`Job::held_up`] says how often and
    /// since when, until it is tried, [waits again](Store::unpark), or is [tried at once](Store::retry_now).
    HeldUp {
        /// In how long.
        due_in: Duration,
        /// This worker knows its kind and step, and can read its state.
        is_known: bool,
        /// In words: a line in its history if a person is asked to be told.
        error: String,
        /// A person is to be told, unless one was.
        tell: bool,
    },
    /// It ends without success: a line in its history. One that is parked has each line once, however often it is parked
    /// for the same reason.
    End {
        /// [`Status::Dead`] or [`Status::Parked`].
        status: Status,
        /// In words.
        error: String,
        /// Whether it was a try, and counts as a failure.
        is_try: bool,
        /// A person is to be told, unless one was.
        tell: bool,
    },
}

/// What became of a [`Save`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The right was still held, and it is written.
    pub is_held: bool,
    /// A person is to be told, and that is marked: nobody else is asked to.
    pub tell: bool,
}

impl Saved {
    /// The right was gone: nothing has changed.
    pub const NOT_HELD: Self = Self {
        is_held: false,
        tell: false,
    };
}

/// What keeping a job came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is kept; claimed at once if that was asked for.
    New(JobId, Option<Right>),
    /// There is one of that kind and key.
    Exists(Job),
}

/// What was claimed.
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
    /// By lane and status, those that are none left out.
    pub jobs: Vec<(String, Status, u64)>,
    /// By lane, how many of those that wait are due now or are [held up](Job::held_up), lanes without any left out.
    pub due: Vec<(String, u64)>,
    /// For how long the job that waits the longest has been due; one that is held up, since the first time.
    pub oldest_due: Option<Duration>,
}

impl Counts {
    /// How many are in a status, in all lanes.
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
    /// Of this key only. With a kind that is one job at most, and as quick as to look for an id.
    pub key: Option<String>,
    /// Whose id is greater.
    pub after: Option<JobId>,
}

/// Where jobs are kept: a database. [`MemoryStore`](super::MemoryStore) says to the letter what each function does;
/// every store passes the same tests as it does.
///
/// Each call is done wholly or not at all, and ends in time, with an error if need be: workers wait for it. Times are those
/// of the store's own clock.
pub trait Store: Send + Sync + 'static {
    /// Keeps a job, unless there is one of its kind and key. Claims it at once for `lease`, if that is given.
    ///
    /// # Errors
    /// [`StoreError`]: it may be kept or not.
    fn put(
        &self,
        job: &NewJob,
        lease: Option<Duration>,
    ) -> impl Future<Output = Result<Put, StoreError>> + Send;

    /// Claims up to `most` jobs of a lane that are due, or whose lease is over, the one that was due first ahead: one that
    /// runs is due when its lease is over. One whose lease was over before is claimed alone, as it may be what ends its
    /// workers. What is claimed counts as begun.
    ///
    /// # Errors
    /// [`StoreError`]: what was claimed comes back when the lease is over.
    fn claim(
        &self,
        lane: &str,
        most: u32,
        lease: Duration,
    ) -> impl Future<Output = Result<Claim, StoreError>> + Send;

    /// Renews leases, for so long from now. `false` for those whose right is gone.
    ///
    /// # Errors
    /// [`StoreError`]: they may be renewed or not.
    fn renew(
        &self,
        rights: &[Right],
        lease: Duration,
    ) -> impl Future<Output = Result<Vec<bool>, StoreError>> + Send;

    /// Saves what came of jobs, each for itself, in the order in which they are given.
    ///
    /// # Errors
    /// [`StoreError`]: they may be saved or not.
    fn save(&self, saves: &[Save]) -> impl Future<Output = Result<Vec<Saved>, StoreError>> + Send;

    /// Jobs of a kind wait again that are at one of these steps, which this worker knows, and were parked so long ago;
    /// `most` of them. They are not held up any more, but for how long they were [unknown](super::HeldUp::unknown). Returns how
    /// many.
    ///
    /// # Errors
    /// [`StoreError`]: they may wait or not.
    fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// A job.
    ///
    /// # Errors
    /// [`StoreError`] when there is no answer.
    fn job(&self, id: JobId) -> impl Future<Output = Result<Option<Job>, StoreError>> + Send;

    /// Jobs by their ids, `most` at a time.
    ///
    /// # Errors
    /// [`StoreError`] when there is no answer.
    fn list(
        &self,
        filter: &Filter,
        most: u32,
    ) -> impl Future<Output = Result<Vec<Job>, StoreError>> + Send;

    /// What failed in a job, the latest last.
    ///
    /// # Errors
    /// [`StoreError`] when there is no answer.
    fn history(&self, id: JobId) -> impl Future<Output = Result<Vec<Failed>, StoreError>> + Send;

    /// Has a job that waits, is parked or was given up be due now, with as many tries as a new one, and held up no more.
    /// Returns whether it could.
    ///
    /// # Errors
    /// [`StoreError`]: it may be due or not.
    fn retry_now(&self, id: JobId) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Ends a job that is neither done nor cancelled; a worker that runs it cannot save any more. Returns whether it
    /// could.
    ///
    /// # Errors
    /// [`StoreError`]: it may be cancelled or not.
    fn cancel(&self, id: JobId) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// How many jobs there are.
    ///
    /// # Errors
    /// [`StoreError`] when there is no answer.
    fn counts(&self) -> impl Future<Output = Result<Counts, StoreError>> + Send;

    /// Forgets jobs that were done or cancelled so long ago, with their history; `most` of them. Returns how many.
    ///
    /// # Errors
    /// [`StoreError`]: they may be forgotten or not.
    fn forget(
        &self,
        ended_before: Duration,
        most: u32,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;
}

/// Why a store did not do it.
#[derive(Debug)]
pub struct StoreError(Box<dyn Error + Send + Sync>);

impl StoreError {
    /// The error of a database.
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
