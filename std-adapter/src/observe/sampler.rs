//! Which rejections are logged.

use std::sync::atomic::{AtomicU64, Ordering};

/// Selects, from the rejections of one breaker, the first of each open period and then at most one per interval. The
/// others are counted, and the next event states their number.
///
/// No other memory depends on these counters, so all orderings are relaxed.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    /// When the last one was logged: the time in milliseconds, with a marker bit above it; 0 if none was logged in this
    /// open period.
    logged: AtomicU64,
    left_out: AtomicU64,
}

const IS_SET: u64 = 1 << 32;

impl Sampler {
    pub(super) const fn new() -> Self {
        Self {
            logged: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
        }
    }

    /// If this rejection is to be logged, returns how many were left out since the last event.
    pub(super) fn reject(&self, now_ms: u32, every_ms: u32) -> Option<u64> {
        let logged = self.logged.load(Ordering::Relaxed);
        if logged == 0 || is_over(logged as u32, now_ms, every_ms) {
            let next = IS_SET | u64::from(now_ms);
            // Only one of several that arrive at the same time is logged.
            let is_mine =
                self.logged
                    .compare_exchange(logged, next, Ordering::Relaxed, Ordering::Relaxed);
            if is_mine.is_ok() {
                return Some(self.take_left_out());
            }
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Notes that an open period begins, so that the next rejection is its first.
    pub(super) fn begin(&self) {
        self.logged.store(0, Ordering::Relaxed);
    }

    /// Takes the number that were left out and have not been stated yet.
    pub(super) fn take_left_out(&self) -> u64 {
        self.left_out.swap(0, Ordering::Relaxed)
    }

    /// Whether none was logged for that long.
    #[cfg(feature = "registry")]
    pub(super) fn is_idle(&self, now_ms: u32, idle_ms: u32) -> bool {
        let logged = self.logged.load(Ordering::Relaxed);
        logged == 0 || is_over(logged as u32, now_ms, idle_ms)
    }

    #[cfg(feature = "registry")]
    pub(super) fn leave_out(&self, rejections: u64) {
        self.left_out.fetch_add(rejections, Ordering::Relaxed);
    }
}

fn is_over(since_ms: u32, now_ms: u32, every_ms: u32) -> bool {
    let passed_ms = now_ms.wrapping_sub(since_ms);
    // More than half the range: the clock stepped back.
    passed_ms >= every_ms && passed_ms <= u32::MAX / 2
}

/// An interval in whole milliseconds, rounded up.
pub(super) fn whole_ms(interval: std::time::Duration) -> u32 {
    let ms = interval.as_nanos().div_ceil(1_000_000);
    u32::try_from(ms)
        .ok()
        .filter(|&ms| ms <= u32::MAX / 2)
        .expect("an interval of more than 24 days samples nothing: set a shorter one")
}
