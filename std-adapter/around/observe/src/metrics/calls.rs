// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counters of calls.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};

use atomic_breaker_server::Outcome;

use super::lane;

/// The ends of calls. A slow one is a success that took too long, and counts as a failure.
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

/// The number of calls that ended in each way, by lane: a thread with a lane of its own adds with a load and a store,
/// because no other thread writes there; the last lane is shared. No other memory depends on these counts, so all
/// orderings are relaxed.
pub(super) struct Calls([CountLane; lane::OWN + 1]);

// As the documentation of `Metrics` says.
const _: () = assert!(size_of::<Calls>() <= 17_000);

/// Has cache lines of its own, in pairs, because that is how they are fetched.
#[derive(Default)]
#[repr(align(128))]
struct CountLane([AtomicU64; ENDS.len()]);

impl Default for Calls {
    fn default() -> Self {
        Self(array::from_fn(|_| CountLane::default()))
    }
}

impl Calls {
    #[inline]
    pub(super) fn add(&self, end: usize) {
        let lane = lane::known();
        if lane < lane::OWN {
            self.add_alone(lane, end);
        } else {
            self.add_unknown(end);
        }
    }

    /// Called by the only thread that writes to this lane.
    #[inline]
    fn add_alone(&self, lane: usize, end: usize) {
        let count = &self.0[lane].0[end];
        let next = count.load(Ordering::Relaxed).wrapping_add(1);
        count.store(next, Ordering::Relaxed);
    }

    #[cold]
    fn add_unknown(&self, end: usize) {
        match lane::find() {
            lane::OWN => {
                self.0[lane::OWN].0[end].fetch_add(1, Ordering::Relaxed);
            }
            lane => self.add_alone(lane, end),
        }
    }

    /// The number of calls that ended in this way, in all lanes.
    pub(super) fn sum(&self, end: usize) -> u64 {
        let counts = self.0.iter().map(|lane| &lane.0[end]);
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }
}
