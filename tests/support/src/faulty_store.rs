// SPDX-License-Identifier: MIT OR Apache-2.0
//! A store that fails when a test tells it to, in front of one in memory.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use atomic_breaker_steps::{
    Claim, Counts, Failed, Filter, Job, JobId, MemoryStore, NewJob, Put, Right, Save, Saved, Store,
    StoreError,
};
use tokio::time::sleep;

/// The response of the store.
#[derive(Clone, Debug)]
pub enum Fault {
    /// With this error.
    Error(String),
    /// It never returns.
    Silence,
    /// It panics.
    Panic,
    /// It performs the request, and returns after this time.
    Late(Duration),
    /// It does nothing, and returns success after this time.
    Fails(Duration),
}

/// The kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Put,
    NextDue,
    Claim,
    Renew,
    Save,
    Unpark,
    Job,
    List,
    History,
    RetryNow,
    Cancel,
    Counts,
    Forget,
}

/// One process's access to the jobs. Clones are the same.
#[derive(Clone, Default)]
pub struct FaultyStore {
    pub jobs: MemoryStore,
    fault: Arc<Mutex<Option<Fault>>>,
    /// This many calls of one kind fail.
    next: Arc<Mutex<Vec<(Asked, Fault, u32)>>>,
    /// Saves with this job among them fail.
    refused: Arc<Mutex<Option<JobId>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl FaultyStore {
    /// Another access to the same jobs.
    pub fn to(jobs: &MemoryStore) -> Self {
        Self {
            jobs: jobs.clone(),
            ..Self::default()
        }
    }

    /// Sets the behaviour of all calls until it is set again.
    pub fn set(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }

    /// Sets the behaviour of the next calls of this kind.
    pub fn next(&self, asked: Asked, calls: u32, fault: Fault) {
        self.next.lock().unwrap().push((asked, fault, calls));
    }

    /// The number of those calls that are still to come.
    pub fn left(&self) -> u32 {
        let next = self.next.lock().unwrap();
        next.iter().map(|(.., left)| left).sum()
    }

    pub fn refuse(&self, job: JobId) {
        *self.refused.lock().unwrap() = Some(job);
    }

    /// The requests so far, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The number of times that the jobs were counted.
    pub fn counted(&self) -> usize {
        let asked = self.asked();
        asked.iter().filter(|each| **each == Asked::Counts).count()
    }

    fn fault(&self, asked: Asked) -> Option<Fault> {
        let mut next = self.next.lock().unwrap();
        let mut of = next
            .iter_mut()
            .filter(|(of, _, left)| *of == asked && *left > 0);
        if let Some((_, fault, left)) = of.next() {
            *left -= 1;
            return Some(fault.clone());
        }
        self.fault.lock().unwrap().clone()
    }

    /// A panic is immediate, and does not wait until the future is polled.
    fn answer<T: Send>(
        &self,
        asked: Asked,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> impl Future<Output = Result<T, StoreError>> + Send {
        self.asked.lock().unwrap().push(asked);
        let fault = self.fault(asked);
        assert!(!matches!(fault, Some(Fault::Panic)), "a bug");
        async move {
            match fault {
                None | Some(Fault::Panic) => answer.await,
                Some(Fault::Error(error)) => Err(StoreError::new(error)),
                Some(Fault::Silence) => std::future::pending().await,
                Some(Fault::Fails(time)) => {
                    sleep(time).await;
                    Err(StoreError::new("no answer"))
                }
                Some(Fault::Late(time)) => {
                    let answer = answer.await;
                    sleep(time).await;
                    answer
                }
            }
        }
    }
}

impl Store for FaultyStore {
    fn put(
        &self,
        job: &NewJob,
        lease: Option<Duration>,
    ) -> impl Future<Output = Result<Put, StoreError>> + Send {
        let put = self.jobs.put(job, lease);
        self.answer(Asked::Put, put)
    }

    async fn next_due(&self, lane: &str) -> Result<Option<Duration>, StoreError> {
        self.answer(Asked::NextDue, self.jobs.next_due(lane)).await
    }

    fn claim(
        &self,
        lane: &str,
        most: u32,
        lease: Duration,
    ) -> impl Future<Output = Result<Claim, StoreError>> + Send {
        let claim = self.jobs.claim(lane, most, lease);
        self.answer(Asked::Claim, claim)
    }

    fn renew(
        &self,
        right: Right,
        lease: Duration,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send {
        let renew = self.jobs.renew(right, lease);
        self.answer(Asked::Renew, renew)
    }

    fn save(&self, saves: &[Save]) -> impl Future<Output = Result<Vec<Saved>, StoreError>> + Send {
        let refused = *self.refused.lock().unwrap();
        let is_refused = saves.iter().any(|save| Some(save.right.id) == refused);
        self.answer(Asked::Save, async move {
            if is_refused {
                return Err(StoreError::new("refused"));
            }
            self.jobs.save(saves).await
        })
    }

    async fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        let unpark = self.jobs.unpark(kind, steps, parked_before, most);
        self.answer(Asked::Unpark, unpark).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        self.answer(Asked::Job, self.jobs.job(id)).await
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        self.answer(Asked::List, self.jobs.list(filter, most)).await
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        self.answer(Asked::History, self.jobs.history(id)).await
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        self.answer(Asked::RetryNow, self.jobs.retry_now(id)).await
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        self.answer(Asked::Cancel, self.jobs.cancel(id)).await
    }

    fn counts(&self) -> impl Future<Output = Result<Counts, StoreError>> + Send {
        self.answer(Asked::Counts, self.jobs.counts())
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        let forget = self.jobs.forget(ended_before, most);
        self.answer(Asked::Forget, forget).await
    }
}
