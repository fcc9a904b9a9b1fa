//! How many requests are kept, and how many under way may be.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::caught::answer;
use crate::{Status, Store, StoreError};

/// For how long a count is considered current.
const COUNTED: Duration = Duration::from_secs(10);

/// Counts the jobs of a lane that are neither done nor cancelled: the store's count, plus those kept since. Jobs that
/// other processes keep meanwhile are not seen before the next count. Also counts requests under way that may become
/// jobs.
///
/// No other memory depends on the atomics.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    count: Mutex<Count>,
    /// How often the store failed to count.
    failures: AtomicU64,
    /// The jobs of the last count.
    jobs: AtomicU64,
    /// Requests that go on without their callers.
    in_flight: Arc<AtomicU64>,
    /// Those that may or may not be kept yet.
    being_kept: Arc<AtomicU64>,
}

/// One of those that are counted, until it is dropped.
#[derive(Debug)]
pub(crate) struct One(Arc<AtomicU64>);

impl One {
    /// Adds one if there are fewer than `most`.
    fn begin(count: &Arc<AtomicU64>, most: u64) -> Option<Self> {
        let more = |count: u64| (count < most).then_some(count + 1);
        let began = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        began.ok().map(|_| Self(Arc::clone(count)))
    }
}

/// One of those that are being kept, until it is dropped.
#[derive(Debug)]
pub(crate) struct BeingKept(
    #[expect(dead_code, reason = "dropped")] One,
    #[expect(dead_code, reason = "dropped")] Option<One>,
);

impl Drop for One {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct Count {
    at: Option<Instant>,
    jobs: u64,
    /// When the store was last asked alongside a request that began.
    refreshed: Option<Instant>,
    /// The last error of the store when counting.
    failed: Option<Arc<StoreError>>,
}

impl Bound {
    /// For a request that begins and may be kept: with the requests kept and the others under way, at most `most`.
    pub(crate) fn fly(&self, most: u64) -> Option<One> {
        let jobs = self.jobs.load(Ordering::Relaxed);
        One::begin(&self.in_flight, most.saturating_sub(jobs))
    }

    /// Whether the last count found jobs, but so long ago that they may be done: no request is kept that would cause a
    /// count.
    pub(crate) fn is_old(&self) -> bool {
        self.jobs.load(Ordering::Relaxed) > 0
            && self.count.try_lock().is_ok_and(|count| count.is_old())
    }

    pub(crate) async fn refresh(&self, store: &impl Store, lane: &str) {
        let mut count = self.count.lock().await;
        if count.is_old() {
            count.refreshed = Some(Instant::now());
            if let Ok(jobs) = live(store, lane).await {
                (count.jobs, count.at) = (jobs, Some(Instant::now()));
                self.jobs.store(jobs, Ordering::Relaxed);
            }
        }
    }

    /// One that is being kept, if there is room for it. One that does not [fly](Self::fly) takes no room from those
    /// that do.
    pub(crate) async fn begin(
        &self,
        flies: bool,
        most: u64,
        store: &impl Store,
        lane: &str,
    ) -> Result<Option<BeingKept>, Arc<StoreError>> {
        let failures = self.failures.load(Ordering::Relaxed);
        let mut count = self.count.lock().await;
        if count.at.is_none_or(|at| at.elapsed() >= COUNTED) {
            // Callers that waited for an answer share it and do not ask again: they are many, and the store may be slow
            // to fail.
            if self.failures.load(Ordering::Relaxed) != failures {
                if let Some(failed) = &count.failed {
                    return Err(Arc::clone(failed));
                }
            }
            match live(store, lane).await {
                Ok(jobs) => {
                    (count.jobs, count.at) = (jobs, Some(Instant::now()));
                    self.jobs.store(jobs, Ordering::Relaxed);
                }
                Err(error) => {
                    let failed = count.failed.insert(Arc::new(error));
                    self.failures.fetch_add(1, Ordering::Relaxed);
                    return Err(Arc::clone(failed));
                }
            }
        }
        let room = most.saturating_sub(count.jobs);
        let flight = (!flies).then(|| One::begin(&self.in_flight, room));
        if let Some(None) = flight {
            return Ok(None);
        }
        let one = One::begin(&self.being_kept, room);
        Ok(one.map(|one| BeingKept(one, flight.flatten())))
    }

    /// The one that was begun has been kept.
    pub(crate) async fn end(&self, one: BeingKept) {
        let mut count = self.count.lock().await;
        count.jobs += 1;
        self.jobs.store(count.jobs, Ordering::Relaxed);
        drop(one);
    }
}

impl Count {
    fn is_old(&self) -> bool {
        let is_old = |at: Option<Instant>| at.is_none_or(|at| at.elapsed() >= COUNTED);
        is_old(self.at) && is_old(self.refreshed)
    }
}

async fn live(store: &impl Store, lane: &str) -> Result<u64, StoreError> {
    let counts = answer(|| store.counts()).await?;
    let of_lane = counts.jobs.iter().filter(|(each, status, _)| {
        each == lane && !matches!(status, Status::Done | Status::Cancelled)
    });
    Ok(of_lane.map(|(.., jobs)| jobs).sum())
}
