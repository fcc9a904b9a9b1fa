// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of keys that are called, where a share of them may be shut out.

use std::sync::atomic::{AtomicU32, Ordering};

/// The time for which calls are counted before the count begins anew.
const PERIOD_MS: u32 = 60_000;

/// The keys of a block of slots that are called: in this period, or in the one before if those were more. Each key is
/// counted with its first call in a period: when it gets its slot, or when its [turn](super::turn::Turn) says that none is
/// known.
#[derive(Debug, Default)]
pub(super) struct Called {
    keys: AtomicU32,
    before: AtomicU32,
    /// The time at which the period began. Only changed under the lock of the registry.
    since_ms: AtomicU32,
}

impl Called {
    pub(super) fn keys(&self) -> u32 {
        let before = self.before.load(Ordering::Relaxed);
        self.keys.load(Ordering::Relaxed).max(before)
    }

    /// Counts one more key that is called. Returns whether there are more now than in the period before.
    pub(super) fn add(&self) -> bool {
        self.keys.fetch_add(1, Ordering::Relaxed) >= self.before.load(Ordering::Relaxed)
    }

    /// A key that was called has lost its slot. Called under the lock of the registry.
    pub(super) fn remove(&self) {
        let _ = self
            .keys
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |keys| {
                keys.checked_sub(1)
            });
    }

    /// Returns whether it is time for the next period.
    pub(super) fn is_over(&self, now_ms: u32) -> bool {
        now_ms.wrapping_sub(self.since_ms.load(Ordering::Relaxed)) >= PERIOD_MS
    }

    /// Begins the next period. One that has lasted for longer than two says nothing of the present: keys count that have not
    /// been called for as long. Called under the lock of the registry.
    pub(super) fn begin(&self, now_ms: u32) {
        let lasted_ms = now_ms.wrapping_sub(self.since_ms.swap(now_ms, Ordering::Relaxed));
        let keys = self.keys.swap(0, Ordering::Relaxed);
        let before = if lasted_ms < 2 * PERIOD_MS { keys } else { 0 };
        self.before.store(before, Ordering::Relaxed);
    }
}
