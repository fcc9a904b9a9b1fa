//! A process, as the others see it: it can die, or be cut off from the database and come back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use atomic_breaker_std::steps::{
    Claim, Counts, Failed, Filter, Job, JobId, MemoryStore, NewJob, Put, Right, Save, Saved, Store,
    StoreError,
};

/// The way of one process to the database that it shares. A clone is the same.
#[derive(Clone)]
pub(super) struct Line {
    store: MemoryStore,
    is_cut: Arc<AtomicBool>,
}

impl Line {
    pub(super) fn to(store: &MemoryStore) -> Self {
        Self {
            store: store.clone(),
            is_cut: Arc::default(),
        }
    }

    /// Every call fails from now on: for the others it is as if the process had died.
    pub(super) fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
    }

    pub(super) fn mend(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }

    fn reach(&self) -> Result<&MemoryStore, StoreError> {
        if self.is_cut.load(Ordering::SeqCst) {
            return Err(StoreError::new("cut off"));
        }
        Ok(&self.store)
    }
}

impl Store for Line {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        self.reach()?.put(job, lease).await
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        self.reach()?.claim(lane, most, lease).await
    }

    async fn renew(&self, rights: &[Right], lease: Duration) -> Result<Vec<bool>, StoreError> {
        self.reach()?.renew(rights, lease).await
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        self.reach()?.save(saves).await
    }

    async fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        self.reach()?.unpark(kind, steps, parked_before, most).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        self.reach()?.job(id).await
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        self.reach()?.list(filter, most).await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        self.reach()?.history(id).await
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        self.reach()?.retry_now(id).await
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        self.reach()?.cancel(id).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.reach()?.counts().await
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        self.reach()?.forget(ended_before, most).await
    }
}
