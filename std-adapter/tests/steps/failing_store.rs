//! A store that does not keep jobs for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use atomic_breaker_std::steps::{
    Claim, Counts, Failed, Filter, Job, JobId, MemoryStore, NewJob, Put, Right, Save, Saved, Store,
    StoreError,
};

/// Fails so often when a job is to be kept; a clone is the same.
#[derive(Clone)]
pub(super) struct FailingStore {
    pub(super) memory: MemoryStore,
    pub(super) failures: Arc<AtomicU32>,
}

impl FailingStore {
    pub(super) fn new(failures: u32) -> Self {
        Self {
            memory: MemoryStore::new(),
            failures: Arc::new(AtomicU32::new(failures)),
        }
    }
}

impl Store for FailingStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        let left = self.failures.load(Ordering::SeqCst);
        if left > 0 {
            self.failures.store(left - 1, Ordering::SeqCst);
            return Err(StoreError::new("no disk"));
        }
        self.memory.put(job, lease).await
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        self.memory.claim(lane, most, lease).await
    }

    async fn renew(&self, rights: &[Right], lease: Duration) -> Result<Vec<bool>, StoreError> {
        self.memory.renew(rights, lease).await
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        self.memory.save(saves).await
    }

    async fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        self.memory.unpark(kind, steps, parked_before, most).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        self.memory.job(id).await
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        self.memory.list(filter, most).await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        self.memory.history(id).await
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        self.memory.retry_now(id).await
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        self.memory.cancel(id).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.memory.counts().await
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        self.memory.forget(ended_before, most).await
    }
}
