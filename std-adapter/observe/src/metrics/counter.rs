//! The counter of a series.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counts for the life of the program. No other memory depends on it, so all orderings are relaxed.
pub(super) struct Counter {
    total: AtomicU64,
    /// When it was first published, as zero, if a reader has to see it rise.
    rises: Option<OnceLock<Instant>>,
}

impl Counter {
    pub(super) fn new(rises: bool) -> Self {
        Self {
            total: AtomicU64::new(0),
            rises: rises.then(OnceLock::new),
        }
    }

    pub(super) fn add(&self) {
        self.total.fetch_add(1, Ordering::Relaxed);
    }

    /// What is published: zero for that long, if a reader has to see it rise.
    pub(super) fn value(&self, at_zero_for: Duration) -> u64 {
        if let Some(since) = &self.rises {
            let mut is_first = false;
            let since = since.get_or_init(|| {
                is_first = true;
                Instant::now()
            });
            if is_first || since.elapsed() < at_zero_for {
                return 0;
            }
        }
        self.total.load(Ordering::Relaxed)
    }
}
