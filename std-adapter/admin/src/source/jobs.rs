//! Steps over any store, asked so that a slow or failed store holds up nothing else.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use atomic_breaker_steps::{
    Counts, Failed, Filter, Job, JobId, Steps, Store, StoreError, ask_store,
};
use serde_json::{Value, json};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::super::response::Problem;
use super::super::text;
use super::Named;
use super::job_counts::CountsAt;

/// How long a store may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many requests ask one store at the same time: a pool has four connections unless set, and workers keep two.
const AT_ONCE: usize = 2;
/// How many of them are reads under way, or next: a command waits for these, and not for all that came before.
const READS: usize = 2;
/// The most bytes of a store's error that are shown.
const ERROR: usize = 512;

/// Steps that are shown.
pub(crate) struct OfSteps {
    pub(crate) jobs: Arc<dyn Jobs>,
    /// Whether states are shown, or only their size.
    pub(crate) shows_states: bool,
    asks: Arc<Semaphore>,
    reads: Arc<Semaphore>,
    counted: Arc<Mutex<Option<CountsAt>>>,
    changes: AtomicU64,
}

impl OfSteps {
    pub(crate) fn new<D: Store>(steps: &Steps<D>, shows_states: bool) -> Self {
        Self {
            jobs: Arc::new(steps.clone()),
            shows_states,
            asks: Arc::new(Semaphore::new(AT_ONCE)),
            reads: Arc::new(Semaphore::new(READS)),
            counted: Arc::default(),
            changes: AtomicU64::new(0),
        }
    }

    /// How often something was changed here. A reader that sees a change counted, and then asks the store, sees its
    /// effect.
    fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }
}

impl Named<OfSteps> {
    /// What the status shows of them, without asking their store.
    pub(crate) fn head(&self) -> Value {
        json!({ "name": self.name, "kinds": self.it.jobs.kinds(), "shows_states": self.it.shows_states })
    }

    /// What the store returns, within a time limit, ahead of any read that is not under way.
    pub(crate) async fn ask_first<T: Send + 'static, F: Asked<T>>(
        &self,
        asked: impl FnOnce(Arc<dyn Jobs>) -> F,
    ) -> Result<T, Problem> {
        self.in_turn(Instant::now() + PATIENCE, None, asked).await
    }

    /// What the store returns, within a time limit.
    pub(crate) async fn read<T: Send + 'static, F: Asked<T>>(
        &self,
        asked: impl FnOnce(Arc<dyn Jobs>) -> F,
    ) -> Result<T, Problem> {
        self.read_until(Instant::now() + PATIENCE, asked).await
    }

    async fn read_until<T: Send + 'static, F: Asked<T>>(
        &self,
        until: Instant,
        asked: impl FnOnce(Arc<dyn Jobs>) -> F,
    ) -> Result<T, Problem> {
        let read = self.turn(&self.it.reads, until).await?;
        self.in_turn(until, Some(read), asked).await
    }

    /// How many jobs there are, by status and by lane.
    pub(crate) async fn counts(&self) -> Result<Value, Problem> {
        let until = Instant::now() + PATIENCE;
        // One request asks, and the others wait for its result.
        let kept = Arc::clone(&self.it.counted).lock_owned();
        let mut kept = timeout_at(until, kept).await.map_err(|_| self.is_late())?;
        let changes = self.it.changes();
        if let Some(counted) = kept.as_ref().filter(|counted| counted.serves(changes)) {
            return counted.shown().ok_or_else(|| self.is_late());
        }
        let shown = self.read_until(until, move |jobs| async move {
            let began = Instant::now();
            let counts = timeout_at(until, jobs.counts()).await;
            let (at, took) = (Instant::now(), began.elapsed());
            let counted = CountsAt {
                counts: counts.ok().transpose()?,
                at,
                took,
                changes,
            };
            Ok(kept.insert(counted).shown())
        });
        shown.await?.ok_or_else(|| self.is_late())
    }

    /// Once the store is asked, the turn ends with what it returns, even if the client is gone: a database goes on with
    /// queries that no client waits for.
    async fn in_turn<T: Send + 'static, F: Asked<T>>(
        &self,
        until: Instant,
        read: Option<OwnedSemaphorePermit>,
        asked: impl FnOnce(Arc<dyn Jobs>) -> F,
    ) -> Result<T, Problem> {
        let turn = self.turn(&self.it.asks, until).await?;
        let asked = asked(Arc::clone(&self.it.jobs));
        let returned = tokio::spawn(async move {
            let returned = timeout_at(until, asked).await;
            drop((turn, read));
            returned
        });
        // An error means that the runtime is shutting down.
        let returned = returned.await.map_err(|error| self.has_failed(&error))?;
        let returned = returned.map_err(|_| self.is_late())?;
        returned.map_err(|error| self.has_failed(&error))
    }

    async fn turn(
        &self,
        of: &Arc<Semaphore>,
        until: Instant,
    ) -> Result<OwnedSemaphorePermit, Problem> {
        let turn = timeout_at(until, Arc::clone(of).acquire_owned()).await;
        turn.ok().and_then(Result::ok).ok_or_else(|| self.is_late())
    }

    fn has_failed(&self, error: &dyn std::fmt::Display) -> Problem {
        let error = text::bounded(error, ERROR);
        let error = format!("the store of {:?} failed: {error}", &*self.name);
        Problem::unavailable(error)
    }

    fn is_late(&self) -> Problem {
        let name = &*self.name;
        let error = format!("the store of {name:?} did not respond within 5 s: it is slow or gone");
        Problem::unavailable(error)
    }
}

/// A question to a store.
pub(crate) trait Asked<T>: Future<Output = Result<T, StoreError>> + Send + 'static {}

impl<T, F: Future<Output = Result<T, StoreError>> + Send + 'static> Asked<T> for F {}

type Returned<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Steps with the type of their store erased.
pub(crate) trait Jobs: Send + Sync {
    fn kinds(&self) -> Vec<&'static str>;
    fn wake(&self, lane: &str);
    fn list<'a>(&'a self, filter: &'a Filter, most: u32) -> Returned<'a, Vec<Job>>;
    fn job(&self, id: JobId) -> Returned<'_, Option<Job>>;
    fn history(&self, id: JobId) -> Returned<'_, Vec<Failed>>;
    fn retry_now(&self, id: JobId) -> Returned<'_, bool>;
    fn cancel(&self, id: JobId) -> Returned<'_, bool>;
    fn counts(&self) -> Returned<'_, Counts>;
}

impl<D: Store> Jobs for Steps<D> {
    fn kinds(&self) -> Vec<&'static str> {
        self.kinds()
    }

    fn wake(&self, lane: &str) {
        self.wake(lane);
    }

    fn list<'a>(&'a self, filter: &'a Filter, most: u32) -> Returned<'a, Vec<Job>> {
        Box::pin(ask_store(move || self.store().list(filter, most)))
    }

    fn job(&self, id: JobId) -> Returned<'_, Option<Job>> {
        Box::pin(ask_store(move || self.store().job(id)))
    }

    fn history(&self, id: JobId) -> Returned<'_, Vec<Failed>> {
        Box::pin(ask_store(move || self.store().history(id)))
    }

    fn retry_now(&self, id: JobId) -> Returned<'_, bool> {
        Box::pin(ask_store(move || self.store().retry_now(id)))
    }

    fn cancel(&self, id: JobId) -> Returned<'_, bool> {
        Box::pin(ask_store(move || self.store().cancel(id)))
    }

    fn counts(&self) -> Returned<'_, Counts> {
        Box::pin(ask_store(move || self.store().counts()))
    }
}
