//! A store for tests: the reference for all others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::row::{Line, Row};
use super::store::{Claim, Counts, Filter, Put, Save, Saved, Store, StoreError};
use super::{Failed, Job, JobId, NewJob, Right};

/// A [`Store`] in memory, for tests, using tokio's clock: its content ends with the process. Clones are the same store.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    began: Instant,
    jobs: Arc<Mutex<Jobs>>,
}

#[derive(Debug, Default)]
struct Jobs {
    /// No id is given twice.
    last: i64,
    rows: BTreeMap<JobId, Row>,
}

impl Jobs {
    /// Changes a job, if there is one.
    fn change<T: Default>(&mut self, id: JobId, change: impl FnOnce(&mut Row) -> T) -> T {
        self.rows.get_mut(&id).map(change).unwrap_or_default()
    }
}

impl MemoryStore {
    /// Makes an empty store.
    pub fn new() -> Self {
        Self {
            began: Instant::now(),
            jobs: Arc::default(),
        }
    }

    /// The jobs, and the time.
    fn jobs(&self) -> (MutexGuard<'_, Jobs>, i64) {
        // Nothing under the lock panics.
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        (jobs, self.began.elapsed().as_micros() as i64)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        let (mut jobs, now) = self.jobs();
        let row = Row::new(job, lease, now)?;
        let is_same = |row: &Row| row.key == job.key && row.kind == job.kind;
        if let Some((id, before)) = jobs.rows.iter().find(|(_, row)| is_same(row)) {
            return Ok(Put::Exists(before.job(*id, now)));
        }
        jobs.last += 1;
        let id = JobId::new(jobs.last);
        let right = row.right(id);
        jobs.rows.insert(id, row);
        Ok(Put::New(id, right))
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        let (mut jobs, now) = self.jobs();
        let of_lane = jobs.rows.iter_mut().filter(|(_, row)| row.lane == lane);
        let mut due: Vec<_> = of_lane.map(|(id, row)| (*id, row)).collect();
        due.retain(|(_, row)| row.due_in(now) == Some(Duration::ZERO));
        due.sort_by_key(|(id, row)| (row.due, *id));
        due.truncate(most as usize);
        let claimed = Row::claim(&mut due, lease, now);
        let of_lane = jobs.rows.values().filter(|row| row.lane == lane);
        let next_due = of_lane.filter_map(|row| row.due_in(now)).min();
        Ok(Claim {
            next_due: next_due.filter(|_| claimed.len() < most as usize),
            jobs: claimed,
        })
    }

    async fn renew(&self, rights: &[Right], lease: Duration) -> Result<Vec<bool>, StoreError> {
        let (mut jobs, now) = self.jobs();
        let renew = |right: &Right| jobs.change(right.id, |row| row.renew(*right, lease, now));
        Ok(rights.iter().map(renew).collect())
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        let (mut jobs, now) = self.jobs();
        let save = |Save { right, change }: &Save| {
            jobs.change(right.id, |row| row.save(*right, change, now))
        };
        Ok(saves.iter().map(save).collect())
    }

    async fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        let (mut jobs, now) = self.jobs();
        let rows = jobs.rows.values_mut();
        let waiting = rows.filter_map(|row| {
            let waits = row.unpark(kind, steps, parked_before, now);
            waits.then_some(())
        });
        Ok(waiting.take(most as usize).count() as u64)
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        let (jobs, now) = self.jobs();
        let rows = jobs.rows.iter();
        let rows = rows.filter(|(id, row)| filter.admits(**id, row));
        let listed = rows.map(|(id, row)| row.job(*id, now));
        Ok(listed.take(most as usize).collect())
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        let (mut jobs, now) = self.jobs();
        let lines = jobs.change(id, |row| row.history.clone()).into_iter();
        Ok(lines.map(|line: Line| line.failed(now)).collect())
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        let (mut jobs, now) = self.jobs();
        Ok(jobs.change(id, |row| row.retry_now(now)))
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        let (mut jobs, now) = self.jobs();
        Ok(jobs.change(id, |row| row.cancel(now)))
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        let (jobs, now) = self.jobs();
        Ok(Counts::of_rows(jobs.rows.values(), now))
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        let (mut jobs, now) = self.jobs();
        let over = jobs.rows.iter();
        let over = over.filter(|(_, row)| row.is_over(ended_before, now));
        let over: Vec<_> = over.map(|(id, _)| *id).take(most as usize).collect();
        jobs.rows.retain(|id, _| !over.contains(id));
        Ok(over.len() as u64)
    }
}
