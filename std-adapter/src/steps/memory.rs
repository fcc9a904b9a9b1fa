//! A store for tests: the reference for all others.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::job::LONGEST_ERROR;
use super::store::{Change, Claim, Counts, Filter, Put, Save, Saved, Store, StoreError};
use super::{Claimed, Failed, Job, JobId, NewJob, Right, Status};

/// A [`Store`] in memory, for tests, by tokio's clock: what it keeps ends with the process. A clone is the same store.
#[derive(Clone)]
pub struct MemoryStore(Arc<Mutex<Rows>>);

struct Rows {
    began: Instant,
    last: i64,
    by_id: BTreeMap<i64, Row>,
    by_key: HashMap<(String, String), i64>,
}

struct Row {
    job: NewJob,
    status: Status,
    failures: u32,
    fence: i64,
    /// Of one that runs, when its lease is over.
    due: Duration,
    kept: Duration,
    ended: Duration,
    /// Its lease was over, and no step of it was done since.
    is_suspect: bool,
    /// It was claimed without others.
    is_alone: bool,
    is_told: bool,
    history: Vec<(String, u32, String, Duration)>,
}

impl MemoryStore {
    /// An empty one.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Rows {
            began: Instant::now(),
            last: 0,
            by_id: BTreeMap::new(),
            by_key: HashMap::new(),
        })))
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        // Nothing that panics is done under the lock.
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

impl Rows {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn put(&mut self, job: &NewJob, lease: Option<Duration>) -> Put {
        let now = self.now();
        let key = (job.kind.clone(), job.key.clone());
        if let Some(id) = self.by_key.get(&key) {
            return Put::Exists(self.by_id[id].job(*id, now));
        }
        self.last += 1;
        self.by_key.insert(key, self.last);
        let mut row = Row {
            job: job.clone(),
            status: Status::Waiting,
            failures: 0,
            fence: 0,
            due: now + job.delay,
            kept: now,
            ended: now,
            is_suspect: false,
            is_alone: false,
            is_told: false,
            history: Vec::new(),
        };
        let right = lease.map(|lease| row.claim(self.last, now, lease, true).right);
        self.by_id.insert(self.last, row);
        Put::New(JobId::new(self.last), right)
    }

    fn claim(&mut self, lane: &str, most: u32, lease: Duration) -> Claim {
        let now = self.now();
        let mut due: Vec<_> = self
            .by_id
            .iter()
            .filter(|(_, row)| row.job.lane == lane && row.may_be_claimed(now))
            .map(|(id, row)| {
                (
                    row.due,
                    *id,
                    row.is_suspect || row.status == Status::Running,
                )
            })
            .collect();
        due.sort_unstable();
        let alone = due.first().is_some_and(|(.., is_suspect)| *is_suspect);
        let among = due.iter().take_while(|(.., is_suspect)| !is_suspect);
        let count = if alone { 1 } else { among.count() };
        due.truncate(count.min(most as usize));
        let is_alone = due.len() == 1;
        let jobs: Vec<_> = due
            .into_iter()
            .filter_map(|(_, id, _)| {
                let row = self.by_id.get_mut(&id)?;
                Some(row.claim(id, now, lease, is_alone))
            })
            .collect();
        let next_due = if jobs.len() < most as usize {
            self.next_due(lane, now)
        } else {
            None
        };
        Claim { jobs, next_due }
    }

    fn next_due(&self, lane: &str, now: Duration) -> Option<Duration> {
        let rows = self.by_id.values().filter(|row| row.job.lane == lane);
        let live = rows.filter(|row| !row.status.is_final());
        let next = live.map(|row| row.due).min();
        next.map(|due| due.saturating_sub(now))
    }

    fn held(&mut self, right: Right) -> Option<&mut Row> {
        let row = self.by_id.get_mut(&right.id.get())?;
        (row.status == Status::Running && row.fence == right.fence).then_some(row)
    }

    fn save(&mut self, save: &Save) -> Saved {
        let now = self.now();
        let Some(row) = self.held(save.right) else {
            return Saved {
                is_held: false,
                tell: false,
            };
        };
        let mut tell = false;
        match &save.change {
            Change::Next {
                step,
                lane,
                state,
                keep,
            } => {
                row.job.step.clone_from(step);
                row.job.lane.clone_from(lane);
                row.job.state.clone_from(state);
                row.failures = 0;
                row.is_suspect = false;
                row.due = now + keep.unwrap_or(Duration::ZERO);
                if keep.is_none() {
                    row.status = Status::Waiting;
                }
            }
            Change::Done { state } => {
                row.job.state.clone_from(state);
                row.end(Status::Done, now);
            }
            Change::Again {
                due_in,
                error,
                tell: wants,
            } => {
                row.failures += 1;
                row.note(error, row.failures, now);
                row.status = Status::Waiting;
                row.due = now + *due_in;
                tell = *wants;
            }
            Change::Back { due_in } => {
                row.status = Status::Waiting;
                row.due = now + *due_in;
            }
            Change::End {
                status,
                error,
                is_try,
                tell: wants,
            } => {
                row.failures += u32::from(*is_try);
                let failures = if *is_try { row.failures } else { 0 };
                row.note(error, failures, now);
                row.end(*status, now);
                tell = *wants;
            }
        }
        tell &= !row.is_told;
        row.is_told |= tell;
        Saved {
            is_held: true,
            tell,
        }
    }
}

impl Row {
    fn job(&self, id: i64, now: Duration) -> Job {
        let due = self.due.as_millis() as i64 - now.as_millis() as i64;
        Job {
            id: JobId::new(id),
            kind: self.job.kind.clone(),
            key: self.job.key.clone(),
            step: self.job.step.clone(),
            lane: self.job.lane.clone(),
            state: self.job.state.clone(),
            status: self.status,
            failures: self.failures,
            due_in_ms: due,
            age: now.saturating_sub(self.kept),
            is_told: self.is_told,
        }
    }

    fn may_be_claimed(&self, now: Duration) -> bool {
        !self.status.is_final() && self.due <= now
    }

    fn claim(&mut self, id: i64, now: Duration, lease: Duration, is_alone: bool) -> Claimed {
        let was_running = self.status == Status::Running;
        // Of several that were lost together nobody knows which one it was.
        let is_lost = was_running && self.is_alone;
        self.is_suspect |= was_running;
        self.is_alone = is_alone;
        self.fence += 1;
        self.status = Status::Running;
        self.due = now + lease;
        Claimed {
            right: Right {
                id: JobId::new(id),
                fence: self.fence,
            },
            job: self.job(id, now),
            is_lost,
        }
    }

    fn end(&mut self, status: Status, now: Duration) {
        self.status = status;
        self.ended = now;
        self.is_suspect = false;
    }

    fn note(&mut self, error: &str, failures: u32, now: Duration) {
        let step = self.job.step.clone();
        self.history.push((step, failures, kept(error), now));
    }
}

/// What is kept of an error: so much of it, without NUL, which not every database can store.
pub fn kept(error: &str) -> String {
    let mut kept = error.replace('\0', "\u{FFFD}");
    if kept.len() > LONGEST_ERROR {
        let end = (0..=LONGEST_ERROR)
            .rev()
            .find(|&end| kept.is_char_boundary(end));
        kept.truncate(end.unwrap_or(0));
    }
    kept
}

impl Store for MemoryStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        Ok(self.rows().put(job, lease))
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

    async fn unpark(&self, kind: &str, steps: &[&str]) -> Result<u64, StoreError> {
        let mut rows = self.rows();
        let now = rows.now();
        let parked = rows.by_id.values_mut().filter(|row| {
            row.status == Status::Parked && row.job.kind == kind && steps.contains(&&*row.job.step)
        });
        let waiting = parked.map(|row| {
            row.status = Status::Waiting;
            row.due = now;
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
        let jobs = rows.by_id.range(after + 1..).filter(|(_, row)| {
            filter.status.is_none_or(|status| status == row.status)
                && filter
                    .kind
                    .as_ref()
                    .is_none_or(|kind| *kind == row.job.kind)
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
        let waiting = rows
            .by_id
            .values()
            .filter(|row| row.status == Status::Waiting && row.due <= now);
        Ok(Counts {
            jobs: jobs
                .into_iter()
                .map(|((lane, status), count)| (lane, status, count))
                .collect(),
            oldest_due: waiting.map(|row| now.saturating_sub(row.due)).max(),
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
