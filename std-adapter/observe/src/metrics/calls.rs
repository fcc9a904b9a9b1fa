//! The counters of calls.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};

use atomic_breaker_registry::Outcome;

use super::lane;

/// How calls end. A slow one is a success that took too long, and counts as a failure.
pub(super) const ENDS: [&str; 5] = ["success", "failure", "slow", "ignored", "cancelled"];

/// The index of calls that were cancelled.
pub(super) const CANCELLED: usize = 4;

#[inline]
pub(super) const fn end_of(outcome: Outcome) -> usize {
    match outcome {
        Outcome::Success => 0,
        Outcome::Failure(failure) if failure.is_slow() => 2,
        Outcome::Failure(_) => 1,
        Outcome::Ignored => 3,
    }
}

/// How many calls ended in which way, by lane: a thread with a lane of its own adds with a load and a store, because no
/// other thread writes there. No other memory depends on these counts, so all orderings are relaxed.
pub(super) struct Calls {
    own: [Lane; lane::OWN],
    shared: Lane,
}

// As the documentation of `Metrics` says.
const _: () = assert!(size_of::<Calls>() <= 17_000);

/// Has cache lines of its own, in pairs, because that is how they are fetched.
#[derive(Default)]
#[repr(align(128))]
struct Lane([AtomicU64; ENDS.len()]);

impl Lane {
    /// Called by the only thread that writes here.
    #[inline]
    fn add(&self, end: usize) {
        let count = &self.0[end];
        let next = count.load(Ordering::Relaxed).wrapping_add(1);
        count.store(next, Ordering::Relaxed);
    }
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            own: array::from_fn(|_| Lane::default()),
            shared: Lane::default(),
        }
    }
}

impl Calls {
    #[inline]
    pub(super) fn add(&self, end: usize) {
        match self.own.get(lane::known()) {
            Some(lane) => lane.add(end),
            None => self.add_unknown(end),
        }
    }

    #[cold]
    fn add_unknown(&self, end: usize) {
        match self.own.get(lane::find()) {
            Some(lane) => lane.add(end),
            None => {
                self.shared.0[end].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The number of calls that ended in this way, in all lanes.
    pub(super) fn sum(&self, end: usize) -> u64 {
        let lanes = self.own.iter().chain([&self.shared]);
        lanes.map(|lane| lane.0[end].load(Ordering::Relaxed)).sum()
    }
}
