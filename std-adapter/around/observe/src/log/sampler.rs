// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choice of the events that are logged.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Selects the first events of each interval, which begins with the first of them. The others are counted, and the next
/// event states their number.
///
/// No other memory depends on these counters, so all orderings are relaxed.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    /// The time at which the interval began, in milliseconds, and in the upper half the number of events that were
    /// logged in it; 0 if none were.
    logged: AtomicU64,
    left_out: AtomicU64,
}

/// The count of one event in the upper half.
const ONE: u64 = 1 << 32;

/// Readings of two threads may cross, and clocks step back: a time that is no further behind is the same interval.
const CROSSED_MS: u32 = 60_000;

impl Sampler {
    pub(super) const fn new() -> Self {
        Self {
            logged: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
        }
    }

    /// If this event is to be logged, returns how many were left out since the last one.
    pub(super) fn take(&self, now_ms: u32, every_ms: u32, most: u64) -> Option<u64> {
        let next = |logged: u64| {
            if is_over(logged, now_ms, every_ms) {
                Some(ONE | u64::from(now_ms))
            } else {
                (logged / ONE < most).then_some(logged + ONE)
            }
        };
        let logged = self
            .logged
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        if logged.is_err() {
            self.leave_out(1);
            return None;
        }
        Some(self.take_left_out())
    }

    /// Notes that an open period begins, so that the next rejection is its first.
    pub(super) fn begin(&self) {
        self.logged.store(0, Ordering::Relaxed);
    }

    /// Takes the number that were left out and have not been stated yet.
    pub(super) fn take_left_out(&self) -> u64 {
        self.left_out.swap(0, Ordering::Relaxed)
    }

    pub(super) fn leave_out(&self, events: u64) {
        self.left_out.fetch_add(events, Ordering::Relaxed);
    }

    /// Returns whether none was logged for that long.
    pub(super) fn is_idle(&self, now_ms: u32, idle_ms: u32) -> bool {
        is_over(self.logged.load(Ordering::Relaxed), now_ms, idle_ms)
    }
}

fn is_over(logged: u64, now_ms: u32, every_ms: u32) -> bool {
    let passed_ms = now_ms.wrapping_sub(logged as u32);
    logged == 0 || every_ms == 0 || passed_ms >= every_ms && passed_ms < u32::MAX - CROSSED_MS
}

/// An interval in whole milliseconds, rounded up.
pub(super) fn whole_ms(interval: Duration) -> u32 {
    let ms = interval.as_nanos().div_ceil(1_000_000);
    u32::try_from(ms)
        .ok()
        .filter(|&ms| ms <= u32::MAX / 2)
        .expect("an interval of more than 24 days samples nothing: set a shorter one")
}
