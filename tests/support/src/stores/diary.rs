// SPDX-License-Identifier: MIT OR Apache-2.0
//! A store that records which process got which right, and what was saved with it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use atomic_breaker_steps::{
    Claim, Counts, Failed, Filter, Job, JobId, NewJob, Put, Right, Save, Saved, Status, Store,
    StoreError,
};

pub(super) struct Diary<S> {
    store: S,
    file: File,
}

impl<S> Diary<S> {
    pub(super) fn new(store: S, path: &Path) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path);
        Self {
            store,
            file: file.unwrap(),
        }
    }

    /// One write, so that a process that is killed leaves whole lines except possibly the last.
    fn note(&self, lines: &str) {
        (&self.file).write_all(lines.as_bytes()).unwrap();
    }
}

impl<S: Store> Store for Diary<S> {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        self.store.put(job, lease).await
    }

    async fn next_due(&self, lane: &str) -> Result<Option<Duration>, StoreError> {
        self.store.next_due(lane).await
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        let claim = self.store.claim(lane, most, lease).await?;
        let lines = claim.jobs.iter().map(|claimed| {
            let Right { id, fence } = claimed.right;
            format!("claimed {id} {fence} .\n")
        });
        self.note(&lines.collect::<String>());
        Ok(claim)
    }

    async fn renew(&self, right: Right, lease: Duration) -> Result<bool, StoreError> {
        self.store.renew(right, lease).await
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        let came = self.store.save(saves).await?;
        let held = saves.iter().zip(&came).filter(|(_, saved)| saved.is_held);
        let lines = held.filter_map(|(save, _)| {
            let Right { id, fence } = save.right;
            let before = match &save.change.next {
                Some((step, _)) => step,
                None if save.change.status == Status::Done => "done",
                None => return None,
            };
            Some(format!("saved {id} {fence} {before}\n"))
        });
        self.note(&lines.collect::<String>());
        Ok(came)
    }

    async fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        self.store.unpark(kind, steps, parked_before, most).await
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        self.store.list(filter, most).await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        self.store.history(id).await
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        self.store.retry_now(id).await
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        self.store.cancel(id).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.store.counts().await
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        self.store.forget(ended_before, most).await
    }
}
