// SPDX-License-Identifier: MIT OR Apache-2.0
//! The callers that wait for the end of a job, by job.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::JobId;

/// The time between the looks of all that wait, whichever job they wait for.
const APART: Duration = Duration::from_millis(10);

/// Everyone who waits for the end of a job.
pub(super) struct WatchedJobs {
    jobs: Mutex<HashMap<JobId, (usize, Arc<Notify>)>>,
    /// The time at which the next one may look. The lock is fair, and a caller that no longer waits for it
    /// loses no time to others.
    turns: tokio::sync::Mutex<Instant>,
}

impl WatchedJobs {
    pub(super) fn new() -> Self {
        Self {
            jobs: Mutex::default(),
            turns: tokio::sync::Mutex::new(Instant::now()),
        }
    }

    /// A job has ended in this process.
    pub(super) fn ended(&self, id: JobId) {
        if let Some((_, ended)) = self.jobs().get(&id) {
            ended.notify_waiters();
        }
    }

    pub(super) fn begin(&self, id: JobId) -> WatchedJob<'_> {
        let mut jobs = self.jobs();
        let (count, ended) = jobs.entry(id).or_default();
        *count += 1;
        WatchedJob {
            ended: Arc::clone(ended),
            id,
            watched: self,
        }
    }

    /// Waits for a turn to look.
    pub(super) async fn turn(&self) {
        let mut next = self.turns.lock().await;
        sleep_until(*next).await;
        *next = Instant::now() + APART;
    }

    fn jobs(&self) -> MutexGuard<'_, HashMap<JobId, (usize, Arc<Notify>)>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the end of a job until dropped.
pub(super) struct WatchedJob<'a> {
    pub(super) ended: Arc<Notify>,
    id: JobId,
    watched: &'a WatchedJobs,
}

impl Drop for WatchedJob<'_> {
    fn drop(&mut self) {
        let mut jobs = self.watched.jobs();
        if let Some((count, _)) = jobs.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                jobs.remove(&self.id);
            }
        }
    }
}
