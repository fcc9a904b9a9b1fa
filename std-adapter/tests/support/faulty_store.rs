//! A store that can be cut off, in front of one in memory.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_std::steps::{
    Claim, Counts, Failed, Filter, Job, JobId, MemoryStore, NewJob, Put, Right, Save, Saved, Store,
    StoreError,
};

/// How it answers.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// With this error.
    Error(String),
    /// Never.
    Silence,
    /// So much later.
    Slowly(Duration),
    /// It panics.
    Panic,
}

/// A clone is the same store.
#[derive(Clone, Default)]
pub(crate) struct FaultyStore {
    pub(crate) jobs: MemoryStore,
    fault: Arc<Mutex<Option<Fault>>>,
    /// How often it was asked anything.
    pub(crate) asked: Arc<AtomicU32>,
    /// How often it was asked how many jobs there are.
    pub(crate) counted: Arc<AtomicU32>,
}

impl FaultyStore {
    pub(crate) fn set(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }

    async fn answers(&self) -> Result<(), StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let fault = self.fault.lock().unwrap().clone();
        match fault {
            None => Ok(()),
            Some(Fault::Error(error)) => Err(StoreError::new(error)),
            Some(Fault::Silence) => std::future::pending().await,
            Some(Fault::Slowly(time)) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Some(Fault::Panic) => panic!("a fault of the store"),
        }
    }
}

impl Store for FaultyStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        self.answers().await?;
        self.jobs.put(job, lease).await
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        self.answers().await?;
        self.jobs.claim(lane, most, lease).await
    }

    async fn renew(&self, rights: &[Right], lease: Duration) -> Result<Vec<bool>, StoreError> {
        self.answers().await?;
        self.jobs.renew(rights, lease).await
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        self.answers().await?;
        self.jobs.save(saves).await
    }

    async fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        self.answers().await?;
        self.jobs.unpark(kind, steps, parked_before, most).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        self.answers().await?;
        self.jobs.job(id).await
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        self.answers().await?;
        self.jobs.list(filter, most).await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        self.answers().await?;
        self.jobs.history(id).await
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        self.answers().await?;
        self.jobs.retry_now(id).await
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        self.answers().await?;
        self.jobs.cancel(id).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.counted.fetch_add(1, Ordering::Relaxed);
        // As they are when it is asked.
        let counts = self.jobs.counts().await;
        self.answers().await?;
        counts
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        self.answers().await?;
        self.jobs.forget(ended_before, most).await
    }
}
