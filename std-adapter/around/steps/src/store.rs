// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requirements of a database.

use std::collections::BTreeMap;
use std::time::Duration;

use super::row::since;
use super::{Claimed, Failed, Job, JobId, JobRow, NewJob, Right, Save, Saved, Status, StoreError};

/// The result of keeping a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// The job is kept; claimed at once if that was asked for.
    New(JobId, Option<Right>),
    /// There already is a job of that kind and key.
    Exists(Job),
}

/// The jobs that were claimed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// The jobs, in the order in which they were due.
    pub jobs: Vec<Claimed>,
    /// The time until the next one is due in the lane, if fewer were claimed than might have been.
    pub next_due: Option<Duration>,
}

/// The jobs to list: all, but for what the methods set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filter {
    /// Only jobs of this status.
    pub status: Option<Status>,
    /// Only jobs of this kind.
    pub kind: Option<String>,
    /// Only jobs with this key. Combined with a kind that is at most one job, found as fast as by its id.
    pub key: Option<String>,
    /// Only jobs with a greater id.
    pub after: Option<JobId>,
}

impl Filter {
    /// All jobs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only jobs of this status.
    #[must_use]
    pub const fn status(mut self, status: Status) -> Self {
        self.status = Some(status);
        self
    }

    /// Only jobs of this kind.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Only jobs with this key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Only jobs with a greater id.
    #[must_use]
    pub const fn after(mut self, id: JobId) -> Self {
        self.after = Some(id);
        self
    }

    /// Returns whether a job is to be listed now.
    pub fn admits(&self, id: JobId, row: &JobRow, now: i64) -> bool {
        self.after.is_none_or(|after| id > after)
            && self
                .status
                .is_none_or(|status| status == row.status_at(now))
            && self.kind.as_ref().is_none_or(|kind| *kind == row.kind)
            && self.key.as_ref().is_none_or(|key| *key == row.key)
    }
}

/// The numbers of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// The number of jobs by lane and status; those with no jobs are left out.
    pub jobs: Vec<(String, Status, u64)>,
    /// The number of waiting jobs that are due now or are [held up](crate::Job::held_up), by lane, those whose lease is
    /// over included; lanes without any are left out.
    pub due: Vec<(String, u64)>,
    /// The time for which the job that has waited longest has been due; for one that is held up, since the first time;
    /// for one whose worker was lost, since its lease was over.
    pub oldest_due: Option<Duration>,
}

impl Counts {
    /// Adds up groups of jobs: lane, status, how many, how many of them are due, and how long the first of those has been.
    pub fn sum(
        groups: impl IntoIterator<Item = (String, Status, u64, u64, Option<Duration>)>,
    ) -> Self {
        let (mut jobs, mut due) = (BTreeMap::new(), BTreeMap::new());
        let mut oldest_due = None;
        for (lane, status, count, due_now, oldest) in groups {
            if due_now > 0 {
                *due.entry(lane.clone()).or_default() += due_now;
            }
            *jobs.entry((lane, status)).or_default() += count;
            oldest_due = oldest_due.max(oldest);
        }
        let jobs = jobs.into_iter();
        Self {
            jobs: jobs
                .map(|((lane, status), count)| (lane, status, count))
                .collect(),
            due: due.into_iter().collect(),
            oldest_due,
        }
    }

    /// Counts rows.
    pub fn of_rows<'a>(rows: impl IntoIterator<Item = &'a JobRow>, now: i64) -> Self {
        Self::sum(rows.into_iter().map(|row| {
            let since_due = (row.due <= now).then_some(row.due);
            let status = row.status_at(now);
            let due_since = row.held_since.or(since_due);
            let due_since = due_since.filter(|_| status == Status::Waiting);
            let oldest = due_since.map(|then| since(now, then));
            let due = oldest.is_some().into();
            (row.lane.clone(), status, 1, due, oldest)
        }))
    }

    /// The number of jobs that have this status, in all lanes.
    pub fn of(&self, status: Status) -> u64 {
        let of = self.jobs.iter().filter(|(_, each, _)| *each == status);
        of.map(|(.., count)| count).sum()
    }
}

/// A database that keeps jobs. [`MemoryStore`](super::MemoryStore) defines exactly what each function does; every store
/// passes the same tests.
///
/// Each call is done entirely or not at all, and ends within a bounded time: workers wait for it. After a [`StoreError`]
/// it is not known which of the two; jobs that were claimed become due again when the lease is over. Times are those of
/// the store's own clock. A lease or a pause longer than 100,000 years counts as that long.
pub trait Store: Send + Sync + 'static {
    /// Keeps a job, unless there is one of its kind and key. Claims it at once for `lease`, if one is given; without one, a
    /// delay longer than 100,000 years is an error.
    fn put(
        &self,
        job: &NewJob,
        lease: Option<Duration>,
    ) -> impl Future<Output = Result<Put, StoreError>> + Send;

    /// The time until the first job of a lane may be claimed: 0 if one is due, `None` if no job of it waits or runs.
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

    /// Saves the results of jobs, each on its own, in the order given. None is saved twice, even if it is sent twice or
    /// arrives late: each ends the right that it was sent with.
    fn save(&self, saves: &[Save]) -> impl Future<Output = Result<Vec<Saved>, StoreError>> + Send;

    /// Makes up to `most` jobs of a kind wait again that are at one of these steps, which this worker knows, and were
    /// parked at least this long ago. They are no longer held up, except for how long they were
    /// [unknown](super::HeldUp::unknown). Returns how many. A person who was notified of one is not notified again if
    /// it is parked again untried.
    fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Finds a job: the first one [listed](Self::list) after the id before, unless a store has a shorter way.
    fn job(&self, id: JobId) -> impl Future<Output = Result<Option<Job>, StoreError>> + Send {
        async move {
            let filter = Filter::new().after(JobId::new(id.get().saturating_sub(1)));
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

    /// Makes a job that waits, is parked or was given up due now, with as many tries as a new one, no longer held up,
    /// and as if no person had been notified of it. Returns whether that was possible.
    fn retry_now(&self, id: JobId) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Ends a job that is neither done nor cancelled; a worker that runs it can no longer save. Returns whether that
    /// was possible.
    fn cancel(&self, id: JobId) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Counts the jobs.
    fn counts(&self) -> impl Future<Output = Result<Counts, StoreError>> + Send;

    /// Forgets up to `most` jobs that were done or cancelled this long ago, with their history. Returns how many.
    fn forget(
        &self,
        ended_before: Duration,
        most: u32,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;
}
