//! A store that answers late.

use std::time::Duration;

use atomic_breaker_std::steps::{
    Claim, Counts, Failed, Filter, Job, JobId, MemoryStore, NewJob, Put, Right, Save, Saved, Store,
    StoreError,
};
use tokio::time::sleep;

/// What it is asked for it does at once; when a job is kept, the answer comes after this time.
pub(super) struct SlowStore {
    pub(super) memory: MemoryStore,
    pub(super) late: Duration,
}

impl Store for SlowStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        let put = self.memory.put(job, lease).await;
        sleep(self.late).await;
        put
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

    async fn unpark(&self, kind: &str, steps: &[&str]) -> Result<u64, StoreError> {
        self.memory.unpark(kind, steps).await
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
