//! How many requests are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::super::super::caught::answer;
use super::super::super::{Status, Store, StoreError};

/// For how long a count is taken for right.
const COUNTED: Duration = Duration::from_secs(10);

/// Counts the jobs of a lane that are neither done nor cancelled: the store's count, and those that came since. What other
/// processes keep meanwhile is not seen before the next count.
#[derive(Debug, Default)]
pub(in super::super::super) struct Bound {
    count: Mutex<Count>,
    /// How often the store did not count.
    failures: AtomicU64,
}

#[derive(Debug, Default)]
struct Count {
    at: Option<Instant>,
    jobs: u64,
    /// Not known to be kept or not.
    under_way: u64,
    /// Why the store did not count the last time that it failed.
    failed: Option<Arc<StoreError>>,
}

impl Bound {
    /// Whether there is room for one more of so many, which is then [ended](Self::end).
    pub(super) async fn begin(
        &self,
        most: u64,
        store: &impl Store,
        lane: &str,
    ) -> Result<bool, Arc<StoreError>> {
        let failures = self.failures.load(Ordering::Relaxed);
        let mut count = self.count.lock().await;
        if count.at.is_none_or(|at| at.elapsed() >= COUNTED) {
            // Whoever waited for an answer has it, and asks no more: they are many, and the store may be slow to fail.
            if self.failures.load(Ordering::Relaxed) != failures {
                if let Some(failed) = &count.failed {
                    return Err(Arc::clone(failed));
                }
            }
            match live(store, lane).await {
                Ok(jobs) => (count.jobs, count.at) = (jobs, Some(Instant::now())),
                Err(error) => {
                    let failed = count.failed.insert(Arc::new(error));
                    self.failures.fetch_add(1, Ordering::Relaxed);
                    return Err(Arc::clone(failed));
                }
            }
        }
        let has_room = count.jobs + count.under_way < most;
        count.under_way += u64::from(has_room);
        Ok(has_room)
    }

    /// What was begun has been kept, or not.
    pub(super) async fn end(&self, is_kept: bool) {
        let mut count = self.count.lock().await;
        count.under_way -= 1;
        count.jobs += u64::from(is_kept);
    }
}

async fn live(store: &impl Store, lane: &str) -> Result<u64, StoreError> {
    let counts = answer(|| store.counts()).await?;
    let of_lane = counts.jobs.iter().filter(|(each, status, _)| {
        each == lane && !matches!(status, Status::Done | Status::Cancelled)
    });
    Ok(of_lane.map(|(.., jobs)| jobs).sum())
}
