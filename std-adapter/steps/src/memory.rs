//! A store for tests: the reference for all others.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::row::{Line, Row};
use super::store::{Claim, Counts, Filter, Put, Save, Saved, Store, StoreError};
use super::{Failed, Job, JobId, NewJob, Right};

/// A [`Store`] in memory, for tests, using tokio's clock: its content ends with the process. Clones are the same store.
#[derive(Clone)]
pub struct MemoryStore(Arc<Mutex<Rows>>);

struct Rows {
    began: Instant,
    last: i64,
    by_id: BTreeMap<JobId, Row>,
    by_key: HashMap<(String, String), JobId>,
}

impl MemoryStore {
    /// Makes an empty store.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Rows {
            began: Instant::now(),
            last: 0,
            by_id: BTreeMap::new(),
            by_key: HashMap::new(),
        })))
    }

    /// The rows, and the time.
    fn rows(&self) -> (MutexGuard<'_, Rows>, i64) {
        // Nothing under the lock panics.
        let rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = rows.began.elapsed().as_micros() as i64;
        (rows, now)
    }

    fn change(&self, id: JobId, change: impl FnOnce(&mut Row, i64) -> bool) -> bool {
        let (mut rows, now) = self.rows();
        let row = rows.by_id.get_mut(&id);
        row.is_some_and(|row| change(row, now))
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
            .field("jobs", &self.rows().0.by_id.len())
            .finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        let (mut rows, now) = self.rows();
        let row = Row::new(job, lease, now)?;
        let key = (job.kind.clone(), job.key.clone());
        if let Some(id) = rows.by_key.get(&key) {
            return Ok(Put::Exists(rows.by_id[id].job(*id, now)));
        }
        rows.last += 1;
        let id = JobId::new(rows.last);
        let right = row.right(id);
        rows.by_key.insert(key, id);
        rows.by_id.insert(id, row);
        Ok(Put::New(id, right))
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        let (mut rows, now) = self.rows();
        let of_lane = rows.by_id.iter().filter(|(_, row)| row.lane == lane);
        let is_due = |row: &Row| row.due_in(now) == Some(Duration::ZERO);
        let due = of_lane.filter(|(_, row)| is_due(row));
        let mut due: Vec<_> = due.map(|(id, row)| (row.due, *id)).collect();
        due.sort_unstable();
        due.truncate(most as usize);
        let due = due.into_iter().map(|(_, id)| (id, rows.by_id[&id].clone()));
        let mut due: Vec<_> = due.collect();
        let jobs = Row::claim(&mut due, lease, now);
        rows.by_id.extend(due);
        let of_lane = rows.by_id.values().filter(|row| row.lane == lane);
        let next_due = if jobs.len() < most as usize {
            of_lane.filter_map(|row| row.due_in(now)).min()
        } else {
            None
        };
        Ok(Claim { jobs, next_due })
    }

    async fn renew(&self, rights: &[Right], lease: Duration) -> Result<Vec<bool>, StoreError> {
        let renew = |right: &Right| self.change(right.id, |row, now| row.renew(*right, lease, now));
        Ok(rights.iter().map(renew).collect())
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        let (mut rows, now) = self.rows();
        let save = |Save { right, change }: &Save| match rows.by_id.get_mut(&right.id) {
            Some(row) => row.save(*right, change, now),
            None => Saved::default(),
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
        let (mut rows, now) = self.rows();
        let rows = rows.by_id.values_mut();
        let waiting = rows.filter_map(|row| {
            let waits = row.unpark(kind, steps, parked_before, now);
            waits.then_some(())
        });
        Ok(waiting.take(most as usize).count() as u64)
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        let (rows, now) = self.rows();
        Ok(rows.by_id.get(&id).map(|row| row.job(id, now)))
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        let (rows, now) = self.rows();
        let jobs = rows
            .by_id
            .iter()
            .filter(|(id, row)| filter.admits(**id, row));
        let jobs = jobs.take(most as usize).map(|(id, row)| row.job(*id, now));
        Ok(jobs.collect())
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        let (rows, now) = self.rows();
        let lines = rows.by_id.get(&id).map(|row| row.history.clone());
        let lines = lines.unwrap_or_default().into_iter();
        Ok(lines.map(|line: Line| line.failed(now)).collect())
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        Ok(self.change(id, Row::retry_now))
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        Ok(self.change(id, Row::cancel))
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        let (rows, now) = self.rows();
        Ok(Counts::of_rows(rows.by_id.values(), now))
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        let (mut rows, now) = self.rows();
        let old = rows
            .by_id
            .iter()
            .filter(|(_, row)| row.is_over(ended_before, now));
        let ids: Vec<_> = old.map(|(id, _)| *id).take(most as usize).collect();
        for id in &ids {
            if let Some(row) = rows.by_id.remove(id) {
                rows.by_key.remove(&(row.kind, row.key));
            }
        }
        Ok(ids.len() as u64)
    }
}
