// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a stream owes an answer, and since when.

use core::sync::atomic::Ordering::Relaxed;

use atomic_breaker::word::AtomicU32;

/// Whether an answer is owed: from a write on, until something is read. Each `GuardedIo` has one of its own; the two halves of
/// one stream, in two guards, [share](super::GuardedIo::half_of) one, in a `static`.
#[derive(Debug)]
pub struct Exchange {
    /// The time of the write that is to be answered, in milliseconds, odd; 0 if nothing is owed.
    owed_since: AtomicU32,
    /// Whether somebody has begun to read since.
    is_read: AtomicU32,
}

impl Default for Exchange {
    fn default() -> Self {
        Self::new()
    }
}

impl Exchange {
    /// Nothing is owed.
    pub const fn new() -> Self {
        Self {
            owed_since: AtomicU32::new(0),
            is_read: AtomicU32::new(0),
        }
    }

    /// Something was written. What was written before is part of the same command, unless its answer is waited for already:
    /// commands that follow each other fast do not put off the end of the first one's limit.
    pub(super) fn owe(&self, now_ms: u32) {
        if !self.is_owed() || self.is_read.load(Relaxed) == 0 {
            self.owed_since.store(now_ms | 1, Relaxed);
            self.is_read.store(0, Relaxed);
        }
    }

    /// The command goes out only now.
    pub(super) fn flushed(&self, now_ms: u32) {
        if self.is_owed() {
            self.owe(now_ms);
        }
    }

    /// A read begins.
    pub(super) fn begin_read(&self) {
        self.is_read.store(1, Relaxed);
    }

    /// Something was read, or the answer is given up. Returns whether one was owed.
    pub(super) fn settle(&self) -> bool {
        let is_owed = self.is_owed();
        self.owed_since.store(0, Relaxed);
        self.is_read.store(0, Relaxed);
        is_owed
    }

    /// What is left of the limit; `None` if nothing is owed.
    pub(super) fn left_ms(&self, now_ms: u32, limit_ms: u64) -> Option<u64> {
        let since_ms = self.owed_since.load(Relaxed);
        // The time was made odd, so it may lie a millisecond ahead.
        let waited_ms = (now_ms | 1).wrapping_sub(since_ms);
        (since_ms != 0).then(|| limit_ms.saturating_sub(waited_ms.into()))
    }

    fn is_owed(&self) -> bool {
        self.owed_since.load(Relaxed) != 0
    }
}
