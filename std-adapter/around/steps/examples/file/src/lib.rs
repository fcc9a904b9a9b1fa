// SPDX-License-Identifier: MIT OR Apache-2.0
//! Durable jobs in a file of JSON: how a store is written outside of the repository. The rules of a job are those of
//! [`JobRow`], and `tests/contract.rs` checks that nothing is missing. Each call reads the whole file and writes it again:
//! one that is to hold more than a few hundred jobs needs a database, with indices by lane and due time, and by key.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use atomic_breaker_steps::{
    Claim, Counts, Failed, Filter, Job, JobId, JobRow, NewJob, Put, Right, Save, Saved, Store,
    StoreError, micros,
};
use serde::{Deserialize, Serialize};

type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// For one process: clones are the same store.
#[derive(Clone)]
pub struct FileStore(Arc<Mutex<PathBuf>>);

/// The content of the file.
#[derive(Default, Serialize, Deserialize)]
struct Jobs {
    /// No id is given twice.
    last: i64,
    rows: BTreeMap<JobId, JobRow>,
}

impl Jobs {
    /// Changes a job, if there is one.
    fn change<T: Default>(&mut self, id: JobId, change: impl Fn(&mut JobRow) -> T) -> T {
        self.rows.get_mut(&id).map(change).unwrap_or_default()
    }

    fn next_due(&self, lane: &str, now: i64) -> Option<Duration> {
        let rows = self.rows.values().filter(|row| row.lane == lane);
        rows.filter_map(|row| row.due_in(now)).min()
    }
}

impl FileStore {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Mutex::new(path.into())))
    }

    /// Executed entirely, or not at all.
    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Jobs, i64) -> Fallible<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = Arc::clone(&self.0);
        let ask = move || {
            let path = path.lock().map_err(|_| "it panicked before")?;
            let now = micros(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?)?;
            let mut jobs = match path.exists() {
                true => serde_json::from_slice(&std::fs::read(&*path)?)?,
                false => Jobs::default(),
            };
            let done = work(&mut jobs, now)?;
            let new = path.with_extension("new");
            std::fs::write(&new, serde_json::to_vec(&jobs)?)?;
            std::fs::rename(new, &*path)?;
            Fallible::Ok(done)
        };
        let asked = tokio::task::spawn_blocking(ask).await;
        asked.map_err(StoreError::new)?.map_err(StoreError::new)
    }
}

impl Store for FileStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        let job = job.clone();
        self.ask(move |jobs, now| {
            let row = JobRow::new(&job, lease, now)?;
            let is_same = |row: &JobRow| (&row.kind, &row.key) == (&job.kind, &job.key);
            if let Some((id, before)) = jobs.rows.iter().find(|(_, row)| is_same(row)) {
                return Ok(Put::Exists(before.job(*id, now)));
            }
            jobs.last += 1;
            let id = JobId::new(jobs.last);
            let right = row.right(id);
            jobs.rows.insert(id, row);
            Ok(Put::New(id, right))
        })
        .await
    }

    async fn next_due(&self, lane: &str) -> Result<Option<Duration>, StoreError> {
        let lane = lane.to_owned();
        self.ask(move |jobs, now| Ok(jobs.next_due(&lane, now)))
            .await
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        let lane = lane.to_owned();
        self.ask(move |jobs, now| {
            let rows = jobs.rows.iter_mut().filter(|(_, row)| row.lane == lane);
            let mut due: Vec<_> = rows.map(|(id, row)| (*id, row)).collect();
            due.retain(|(_, row)| row.due_in(now) == Some(Duration::ZERO));
            due.sort_by_key(|(id, row)| (row.due, *id));
            due.truncate(most as usize);
            let claimed = JobRow::claim(&mut due, lease, now);
            let next_due = jobs.next_due(&lane, now);
            Ok(Claim {
                next_due: next_due.filter(|_| claimed.len() < most as usize),
                jobs: claimed,
            })
        })
        .await
    }

    async fn renew(&self, right: Right, lease: Duration) -> Result<bool, StoreError> {
        self.ask(move |jobs, now| Ok(jobs.change(right.id, |row| row.renew(right, lease, now))))
            .await
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        let saves = saves.to_vec();
        self.ask(move |jobs, now| {
            let save = |save: Save| {
                jobs.change(save.right.id, |row| row.save(save.right, &save.change, now))
            };
            Ok(saves.into_iter().map(save).collect())
        })
        .await
    }

    async fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        let kind = kind.to_owned();
        let steps: Vec<_> = steps.iter().map(|&step| step.to_owned()).collect();
        self.ask(move |jobs, now| {
            let unpark = |row: &mut JobRow| row.unpark(&kind, &steps, parked_before, now);
            let rows = jobs.rows.values_mut();
            let waiting = rows.filter_map(|row| unpark(row).then_some(()));
            Ok(waiting.take(most as usize).count() as u64)
        })
        .await
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        let filter = filter.clone();
        self.ask(move |jobs, now| {
            let rows = jobs
                .rows
                .iter()
                .filter(|(id, row)| filter.admits(**id, row, now));
            let listed = rows.map(|(id, row)| row.job(*id, now));
            Ok(listed.take(most as usize).collect())
        })
        .await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        self.ask(move |jobs, now| {
            let lines = jobs.change(id, |row| row.history.clone());
            Ok(lines.into_iter().map(|line| line.failed(now)).collect())
        })
        .await
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        self.ask(move |jobs, now| Ok(jobs.change(id, |row| row.retry_now(now))))
            .await
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        self.ask(move |jobs, now| Ok(jobs.change(id, |row| row.cancel(now))))
            .await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.ask(|jobs, now| Ok(Counts::of_rows(jobs.rows.values(), now)))
            .await
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        self.ask(move |jobs, now| {
            let over = jobs
                .rows
                .iter()
                .filter(|(_, row)| row.is_over(ended_before, now));
            let over: Vec<_> = over.map(|(id, _)| *id).take(most as usize).collect();
            jobs.rows.retain(|id, _| !over.contains(id));
            Ok(over.len() as u64)
        })
        .await
    }
}
