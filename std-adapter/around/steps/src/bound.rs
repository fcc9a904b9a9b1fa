// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of requests that are kept, and of those under way that may be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::database::Database;
use crate::error::StoreError;
use crate::job::Status;
use crate::job_observer::Asked;
use crate::store::Store;

/// The time for which a count is considered current.
const COUNTED: Duration = Duration::from_secs(10);

/// Counts the jobs of a lane that are neither done nor cancelled: the store's count, plus those kept since. Jobs that
/// other processes keep meanwhile are not seen before the next count. Also counts requests under way that may become
/// jobs.
///
/// No other memory depends on the atomics.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    count: Mutex<Count>,
    jobs: AtomicUsize,
    /// Requests that go on without their callers.
    in_flight: Arc<AtomicUsize>,
    /// Requests of which it is not known yet whether they are kept.
    being_kept: Arc<AtomicUsize>,
}

/// The time at which the store was asked, and its answer, if it gave one.
#[derive(Debug, Default)]
struct Count {
    asked: Option<Instant>,
    answered: Option<Instant>,
    failed: Option<(Instant, Arc<StoreError>)>,
}

/// A slot of the bound; released on drop.
#[derive(Debug)]
pub(crate) struct BoundSlot(Arc<AtomicUsize>);

/// The slots of a request that is being kept: as such, and as one under way if it had none before.
pub(crate) type BeingKept = (BoundSlot, Option<BoundSlot>);

impl BoundSlot {
    /// Takes a slot if fewer than `most` are taken.
    fn begin(count: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let more = |count| (count < most).then_some(count + 1);
        let began = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        began.ok().map(|_| Self(Arc::clone(count)))
    }
}

impl Drop for BoundSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Bound {
    /// Takes a slot for a request that begins and may be kept: with the requests kept and the others under way, at most
    /// `most`.
    pub(crate) fn fly(&self, most: usize) -> Option<BoundSlot> {
        BoundSlot::begin(&self.in_flight, self.room(most))
    }

    fn room(&self, most: usize) -> usize {
        most.saturating_sub(self.jobs.load(Ordering::Relaxed))
    }

    /// Returns whether the last count found jobs, but so long ago that they may be done: no request is kept that would
    /// cause a count.
    pub(crate) fn is_old(&self) -> bool {
        let count = self.count.try_lock();
        self.jobs.load(Ordering::Relaxed) > 0 && count.is_ok_and(|count| is_old(count.asked))
    }

    pub(crate) async fn refresh<D: Store>(&self, database: &Database<D>, lane: &str) {
        let mut count = self.count.lock().await;
        if is_old(count.asked) {
            // The next request asks again.
            let _ = self.ask(&mut count, database, lane).await;
        }
    }

    /// Reserves room for a request that is about to be stored. A request without a task of its own, which does not
    /// [fly](Self::fly), does not take room from those with one.
    ///
    /// Two processes with the same `most` keep requests in one lane, and each has counted 90 of 100 jobs. While A stores
    /// its tenth new job, B does the same, as neither sees what the other has kept since. So each asks the store again
    /// when its count is 10 s old, and what is being stored meanwhile counts beside the store's answer, which may or may
    /// not contain it: within one process the bound is exact, and each other one may exceed it by what it kept since.
    pub(crate) async fn begin<D: Store>(
        &self,
        flies: bool,
        most: usize,
        database: &Database<D>,
        lane: &str,
    ) -> Result<Option<BeingKept>, Arc<StoreError>> {
        let came = Instant::now();
        let mut count = self.count.lock().await;
        if is_old(count.answered) {
            match &count.failed {
                // Callers that waited for an answer share it and do not ask again: they are many, and the store may be
                // slow to fail.
                Some((at, error)) if *at > came => return Err(Arc::clone(error)),
                _ => self.ask(&mut count, database, lane).await?,
            }
        }
        let room = self.room(most);
        let flight = (!flies).then(|| BoundSlot::begin(&self.in_flight, room));
        if let Some(None) = flight {
            return Ok(None);
        }
        let one = BoundSlot::begin(&self.being_kept, room);
        Ok(one.map(|one| (one, flight.flatten())))
    }

    /// The request whose slots these are has been kept.
    pub(crate) async fn end(&self, one: BeingKept) {
        // Nothing begins while it counts twice.
        let _count = self.count.lock().await;
        self.jobs.fetch_add(1, Ordering::Relaxed);
        drop(one);
    }

    async fn ask<D: Store>(
        &self,
        count: &mut Count,
        database: &Database<D>,
        lane: &str,
    ) -> Result<(), Arc<StoreError>> {
        count.asked = Some(Instant::now());
        let counts = database.ask(Asked::Counts, D::counts).await;
        let now = Instant::now();
        let counts = counts.map_err(|error| {
            let (_, error) = count.failed.insert((now, Arc::new(error)));
            Arc::clone(error)
        })?;
        let is_live = |status| !matches!(status, Status::Done | Status::Cancelled);
        let jobs = counts.jobs.iter();
        let live = jobs.filter(|(each, status, _)| each == lane && is_live(*status));
        let live: u64 = live.map(|(.., jobs)| jobs).sum();
        self.jobs.store(live as usize, Ordering::Relaxed);
        count.answered = Some(now);
        Ok(())
    }
}

fn is_old(at: Option<Instant>) -> bool {
    at.is_none_or(|at| at.elapsed() >= COUNTED)
}
