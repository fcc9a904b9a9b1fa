//! A store for tests: the reference for all others.

mod rows;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rows::Rows;

use super::store::{Claim, Counts, Filter, Put, Save, Saved, Store, StoreError};
use super::{Failed, Job, JobId, NewJob, Right, Status};

/// A [`Store`] in memory, for tests, using tokio's clock: its content ends with the process. Clones are the same store.
#[derive(Clone)]
pub struct MemoryStore(Arc<Mutex<Rows>>);

impl MemoryStore {
    /// Makes an empty store.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Rows::new())))
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        // Nothing under the lock panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("jobs", &self.rows().by_id.len())
            .finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        self.rows().put(job, lease)
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        Ok(self.rows().claim(lane, most, lease))
    }

    async fn renew(&self, rights: &[Right], lease: Duration) -> Result<Vec<bool>, StoreError> {
        let mut rows = self.rows();
        let until = rows.now() + lease;
        let renew = |right: &Right| rows.held(*right).map(|row| row.due = until).is_some();
        Ok(rights.iter().map(renew).collect())
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        let mut rows = self.rows();
        Ok(saves.iter().map(|save| rows.save(save)).collect())
    }

    async fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        let mut rows = self.rows();
        let now = rows.now();
        let parked = rows.by_id.values_mut().filter(|row| {
            row.status == Status::Parked
                && row.job.kind == kind
                && steps.contains(&&*row.job.step)
                && now.saturating_sub(row.ended) >= parked_before
        });
        let waiting = parked.take(most as usize).map(|row| {
            row.status = Status::Waiting;
            row.due = now;
            row.held_up = row.held_up.unparked();
        });
        Ok(waiting.count() as u64)
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        let rows = self.rows();
        let now = rows.now();
        Ok(rows.by_id.get(&id.get()).map(|row| row.job(id.get(), now)))
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        let rows = self.rows();
        let now = rows.now();
        let after = filter.after.map_or(0, JobId::get);
        let after = (Bound::Excluded(after), Bound::Unbounded);
        let jobs = rows.by_id.range(after).filter(|(_, row)| {
            filter.status.is_none_or(|status| status == row.status)
                && filter
                    .kind
                    .as_ref()
                    .is_none_or(|kind| *kind == row.job.kind)
                && filter.key.as_ref().is_none_or(|key| *key == row.job.key)
        });
        Ok(jobs
            .take(most as usize)
            .map(|(id, row)| row.job(*id, now))
            .collect())
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        let rows = self.rows();
        let now = rows.now();
        let history = rows.by_id.get(&id.get()).map(|row| &row.history);
        let failed = history
            .into_iter()
            .flatten()
            .map(|(step, failures, error, at)| Failed {
                step: step.clone(),
                failures: *failures,
                error: error.clone(),
                ago: now.saturating_sub(*at),
            });
        Ok(failed.collect())
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        let mut rows = self.rows();
        let now = rows.now();
        let row = rows.by_id.get_mut(&id.get());
        let row =
            row.filter(|row| matches!(row.status, Status::Waiting | Status::Dead | Status::Parked));
        Ok(row
            .map(|row| {
                row.status = Status::Waiting;
                row.due = now;
                row.failures = 0;
                row.is_suspect = false;
                row.held_up = rows::Held::default();
            })
            .is_some())
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        let mut rows = self.rows();
        let now = rows.now();
        let row = rows.by_id.get_mut(&id.get());
        let row = row.filter(|row| !matches!(row.status, Status::Done | Status::Cancelled));
        Ok(row
            .map(|row| {
                row.fence += 1;
                row.end(Status::Cancelled, now);
            })
            .is_some())
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        let rows = self.rows();
        let now = rows.now();
        let mut jobs: BTreeMap<(String, Status), u64> = BTreeMap::new();
        for row in rows.by_id.values() {
            *jobs.entry((row.job.lane.clone(), row.status)).or_default() += 1;
        }
        let mut due: BTreeMap<String, u64> = BTreeMap::new();
        let mut oldest_due = None;
        for row in rows.by_id.values() {
            if let Some(since) = row.due_since(now) {
                *due.entry(row.job.lane.clone()).or_default() += 1;
                oldest_due = oldest_due.max(Some(now.saturating_sub(since)));
            }
        }
        Ok(Counts {
            jobs: jobs
                .into_iter()
                .map(|((lane, status), count)| (lane, status, count))
                .collect(),
            due: due.into_iter().collect(),
            oldest_due,
        })
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        let mut rows = self.rows();
        let now = rows.now();
        let old = rows.by_id.iter().filter(|(_, row)| {
            matches!(row.status, Status::Done | Status::Cancelled)
                && now.saturating_sub(row.ended) >= ended_before
        });
        let ids: Vec<i64> = old.map(|(id, _)| *id).take(most as usize).collect();
        for id in &ids {
            if let Some(row) = rows.by_id.remove(id) {
                rows.by_key.remove(&(row.job.kind, row.job.key));
            }
        }
        Ok(ids.len() as u64)
    }
}
