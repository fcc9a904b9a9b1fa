// SPDX-License-Identifier: MIT OR Apache-2.0
//! A store for tests: the reference for all others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::row::since;
use super::{
    Claim, Counts, Failed, Filter, Job, JobId, JobRow, Line, NewJob, Put, Right, Save, Saved,
    Store, StoreError,
};

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
    rows: BTreeMap<JobId, JobRow>,
    /// The jobs by kind and key.
    ids: HashMap<(String, String), JobId>,
    /// The jobs that have not ended: lane and when they are due.
    due: BTreeSet<(String, i64, JobId)>,
}

impl Jobs {
    fn insert(&mut self, id: JobId, row: JobRow) {
        self.due.extend(turn(id, &row));
        self.rows.insert(id, row);
    }

    /// Changes a job, if there is one.
    fn change<T: Default>(&mut self, id: JobId, change: impl FnOnce(&mut JobRow) -> T) -> T {
        let Some(row) = self.rows.get_mut(&id) else {
            return T::default();
        };
        let before = turn(id, row);
        let changed = change(row);
        let after = turn(id, row);
        if before != after {
            before.map(|before| self.due.remove(&before));
            self.due.extend(after);
        }
        changed
    }

    /// The times at which jobs of a lane are due, the first one first.
    fn due_in(&self, lane: &str) -> impl Iterator<Item = (i64, JobId)> {
        let first = (lane.to_owned(), i64::MIN, JobId::new(i64::MIN));
        let due = self.due.range(first..);
        let due = due.take_while(move |(of, ..)| of == lane);
        due.map(|(_, due, id)| (*due, *id))
    }
}

fn turn(id: JobId, row: &JobRow) -> Option<(String, i64, JobId)> {
    let has_ended = row.ended.is_some();
    (!has_ended).then(|| (row.lane.clone(), row.due, id))
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
        let row = JobRow::new(job, lease, now)?;
        let of = (job.kind.clone(), job.key.clone());
        if let Some(id) = jobs.ids.get(&of) {
            return Ok(Put::Exists(jobs.rows[id].job(*id, now)));
        }
        jobs.last += 1;
        let id = JobId::new(jobs.last);
        let right = row.right(id);
        jobs.ids.insert(of, id);
        jobs.insert(id, row);
        Ok(Put::New(id, right))
    }

    async fn next_due(&self, lane: &str) -> Result<Option<Duration>, StoreError> {
        let (jobs, now) = self.jobs();
        let next = jobs.due_in(lane).next();
        Ok(next.map(|(due, _)| since(due, now)))
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        let (mut jobs, now) = self.jobs();
        let due = jobs.due_in(lane).take_while(|(due, _)| *due <= now);
        let due = due.take(most as usize);
        let mut due: Vec<_> = due.map(|(_, id)| (id, jobs.rows[&id].clone())).collect();
        let claimed = JobRow::claim(&mut due, lease, now);
        for (id, row) in due {
            jobs.change(id, |before| *before = row);
        }
        let next_due = jobs.due_in(lane).next().map(|(due, _)| since(due, now));
        Ok(Claim {
            next_due: next_due.filter(|_| claimed.len() < most as usize),
            jobs: claimed,
        })
    }

    async fn renew(&self, right: Right, lease: Duration) -> Result<bool, StoreError> {
        let (mut jobs, now) = self.jobs();
        Ok(jobs.change(right.id, |row| row.renew(right, lease, now)))
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
        let ids: Vec<_> = jobs.rows.keys().copied().collect();
        let waiting = ids.into_iter().filter(|id| {
            let unpark = |row: &mut JobRow| row.unpark(kind, steps, parked_before, now);
            jobs.change(*id, unpark)
        });
        Ok(waiting.take(most as usize).count() as u64)
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        let (jobs, now) = self.jobs();
        let rows = jobs.rows.iter();
        let rows = rows.filter(|(id, row)| filter.admits(**id, row, now));
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
        for id in &over {
            if let Some(row) = jobs.rows.remove(id) {
                jobs.ids.remove(&(row.kind, row.key));
            }
        }
        Ok(over.len() as u64)
    }
}
