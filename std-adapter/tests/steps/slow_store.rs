//! A store that answers late, or panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
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
    /// How often the next claims panic.
    pub(super) claim_panics: Arc<AtomicU32>,
    /// How often the next saves panic.
    pub(super) save_panics: Arc<AtomicU32>,
    /// A lease is never renewed, nor is there an answer.
    pub(super) renew_hangs: bool,
}

impl SlowStore {
    pub(super) fn new(memory: &MemoryStore) -> Self {
        Self {
            memory: memory.clone(),
            late: Duration::ZERO,
            claim_panics: Arc::default(),
            save_panics: Arc::default(),
            renew_hangs: false,
        }
    }
}

fn may_panic(left: &AtomicU32) {
    let one_less = |left: u32| left.checked_sub(1);
    let (set, fetch) = (Ordering::SeqCst, Ordering::SeqCst);
    assert!(left.fetch_update(set, fetch, one_less).is_err(), "a bug");
}

impl Store for SlowStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        let put = self.memory.put(job, lease).await;
        sleep(self.late).await;
        put
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        may_panic(&self.claim_panics);
        self.memory.claim(lane, most, lease).await
    }

    async fn renew(&self, rights: &[Right], lease: Duration) -> Result<Vec<bool>, StoreError> {
        if self.renew_hangs {
            std::future::pending::<()>().await;
        }
        self.memory.renew(rights, lease).await
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        may_panic(&self.save_panics);
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
