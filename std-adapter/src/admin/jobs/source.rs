//! Steps over whatever store, asked so that a store that is slow or gone holds up nobody.

use std::pin::Pin;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::super::answer::Problem;
use super::super::builder::Named;
use super::super::text;
use super::counts::Counted;
use crate::steps::{Counts, Failed, Filter, Job, JobId, Steps, Store, StoreError};

/// How long an answer of a store may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// How many requests ask one store at the same time.
const AT_ONCE: usize = 4;
/// The most bytes of a store's error that are shown.
const ERROR: usize = 512;

/// Steps that are shown.
pub(in crate::admin) struct OfSteps {
    pub(super) jobs: Box<dyn Jobs>,
    /// Whether states are shown, or how large they are alone.
    pub(super) shows_states: bool,
    asks: Semaphore,
    pub(super) counted: Mutex<Option<Counted>>,
}

impl OfSteps {
    pub(in crate::admin) fn new<D: Store>(steps: &Steps<D>, shows_states: bool) -> Self {
        Self {
            jobs: Box::new(steps.clone()),
            shows_states,
            asks: Semaphore::new(AT_ONCE),
            counted: Mutex::new(None),
        }
    }

    pub(super) fn kinds(&self) -> Vec<&'static str> {
        self.jobs.kinds()
    }
}

impl Named<OfSteps> {
    /// What the store answers, within a time.
    pub(super) async fn ask<T>(
        &self,
        asked: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, Problem> {
        self.ask_until(Instant::now() + PATIENCE, asked).await
    }

    pub(super) async fn ask_until<T>(
        &self,
        until: Instant,
        asked: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, Problem> {
        let answered = async {
            // Never closed.
            let _turn = self.it.asks.acquire().await;
            asked.await
        };
        match timeout_at(until, answered).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                let error = text::bounded(&error, ERROR);
                let error = format!("the store of {:?} failed: {error}", &*self.name);
                Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, error))
            }
            Err(_) => Err(self.is_late()),
        }
    }

    pub(super) fn is_late(&self) -> Problem {
        let name = &*self.name;
        let error =
            format!("the store of {name:?} has not answered within 5 s: it is slow or gone");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, error)
    }
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Steps whose store is not named.
pub(super) trait Jobs: Send + Sync {
    fn kinds(&self) -> Vec<&'static str>;
    fn wake(&self, lane: &str);
    fn list<'a>(&'a self, filter: &'a Filter, most: u32) -> Answer<'a, Vec<Job>>;
    fn job(&self, id: JobId) -> Answer<'_, Option<Job>>;
    fn history(&self, id: JobId) -> Answer<'_, Vec<Failed>>;
    fn retry_now(&self, id: JobId) -> Answer<'_, bool>;
    fn cancel(&self, id: JobId) -> Answer<'_, bool>;
    fn counts(&self) -> Answer<'_, Counts>;
}

impl<D: Store> Jobs for Steps<D> {
    fn kinds(&self) -> Vec<&'static str> {
        self.kinds()
    }

    fn wake(&self, lane: &str) {
        self.wake_lane(lane);
    }

    fn list<'a>(&'a self, filter: &'a Filter, most: u32) -> Answer<'a, Vec<Job>> {
        Box::pin(self.store().list(filter, most))
    }

    fn job(&self, id: JobId) -> Answer<'_, Option<Job>> {
        Box::pin(self.store().job(id))
    }

    fn history(&self, id: JobId) -> Answer<'_, Vec<Failed>> {
        Box::pin(self.store().history(id))
    }

    fn retry_now(&self, id: JobId) -> Answer<'_, bool> {
        Box::pin(self.store().retry_now(id))
    }

    fn cancel(&self, id: JobId) -> Answer<'_, bool> {
        Box::pin(self.store().cancel(id))
    }

    fn counts(&self) -> Answer<'_, Counts> {
        Box::pin(self.store().counts())
    }
}
