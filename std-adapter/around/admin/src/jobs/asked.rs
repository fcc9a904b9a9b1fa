// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps over any store, asked so that a slow or failed store holds up nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use atomic_breaker_steps::{Steps, Store, StoreError, ask_store};
use serde_json::Value;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::super::response::Problem;
use super::super::text;
use super::counts::CountsAt;

/// The time limit of a store.
const PATIENCE: Duration = Duration::from_secs(5);
/// The number of requests that ask one store at the same time: a pool has four connections unless set, and workers keep
/// two.
const AT_ONCE: usize = 2;
/// The number of reads among these that have begun, or are next: a command waits for them, and not for all that came
/// before.
const READS: usize = 2;
/// The most bytes of a store's error that are shown.
const ERROR: usize = 512;

/// Steps that are shown.
pub(crate) struct OfSteps<D> {
    pub(crate) name: Arc<str>,
    pub(crate) steps: Steps<D>,
    /// `true` if states are shown, not only their size.
    pub(crate) shows_states: bool,
    asks: Arc<Semaphore>,
    reads: Arc<Semaphore>,
    counted: Arc<Mutex<Option<CountsAt>>>,
    /// The number of changes that were made here. A reader that sees a change counted, and then asks the store, sees
    /// its effect.
    changes: AtomicU64,
}

/// The order in which a store is asked.
pub(super) enum StoreTurn {
    /// After the reads that came before.
    Read,
    /// Ahead of any read that has not begun.
    First,
}

/// The time limit of what is asked now.
pub(super) fn limit() -> Instant {
    Instant::now() + PATIENCE
}

impl<D: Store> OfSteps<D> {
    pub(crate) fn new(name: Arc<str>, steps: &Steps<D>, shows_states: bool) -> Self {
        Self {
            name,
            steps: steps.clone(),
            shows_states,
            asks: Arc::new(Semaphore::new(AT_ONCE)),
            reads: Arc::new(Semaphore::new(READS)),
            counted: Arc::default(),
            changes: AtomicU64::new(0),
        }
    }

    pub(super) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Returns the number of jobs by status and by lane.
    pub(super) async fn counts(&self) -> Result<Value, Problem> {
        let until = limit();
        // One request asks, and the others wait for its result.
        let kept = Arc::clone(&self.counted).lock_owned();
        let mut kept = timeout_at(until, kept).await.map_err(|_| self.is_late())?;
        let changes = self.changes.load(Ordering::Acquire);
        if let Some(counted) = kept.as_ref().filter(|counted| counted.serves(changes)) {
            return counted.shown().ok_or_else(|| self.is_late());
        }
        let shown = self.ask(StoreTurn::Read, until, move |steps| async move {
            let began = Instant::now();
            let counts = timeout_at(until, steps.store().counts()).await;
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

    /// Asks the store, within the time limit. Once it is asked, the turn ends with what it returns, even if the client
    /// is gone: a database goes on with queries that no client waits for.
    pub(super) async fn ask<T: Send + 'static, F>(
        &self,
        turn: StoreTurn,
        until: Instant,
        asked: impl FnOnce(Steps<D>) -> F + Send + 'static,
    ) -> Result<T, Problem>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let read = match turn {
            StoreTurn::Read => Some(self.turn(&self.reads, until).await?),
            StoreTurn::First => None,
        };
        let turn = self.turn(&self.asks, until).await?;
        let steps = self.steps.clone();
        let returned = tokio::spawn(async move {
            let returned = timeout_at(until, ask_store(|| asked(steps))).await;
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
