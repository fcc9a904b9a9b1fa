//! How many requests are kept.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::super::super::caught::answer;
use super::super::super::{Status, Store, StoreError};

/// For how long a count is taken for right.
const COUNTED: Duration = Duration::from_secs(10);

/// Counts the jobs of a lane that are neither done nor cancelled: the store's count, and those that came since. What others
/// keep meanwhile is not seen before the next count.
#[derive(Debug)]
pub(super) struct Bound {
    most: u64,
    count: Mutex<Count>,
}

#[derive(Debug)]
struct Count {
    at: Option<Instant>,
    jobs: u64,
    /// Not known to be kept or not.
    under_way: u64,
}

impl Bound {
    pub(super) const fn new(most: u64) -> Self {
        Self {
            most,
            count: Mutex::const_new(Count {
                at: None,
                jobs: 0,
                under_way: 0,
            }),
        }
    }

    pub(super) const fn most(&self) -> u64 {
        self.most
    }

    /// Whether there is room for one more, which is then [ended](Self::end).
    pub(super) async fn begin(&self, store: &impl Store, lane: &str) -> Result<bool, StoreError> {
        let mut count = self.count.lock().await;
        if count.at.is_none_or(|at| at.elapsed() >= COUNTED) {
            count.jobs = live(store, lane).await?;
            count.at = Some(Instant::now());
        }
        let has_room = count.jobs + count.under_way < self.most;
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
