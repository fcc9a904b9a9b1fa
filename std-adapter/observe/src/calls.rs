//! The counters of calls.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};

use atomic_breaker_std::Outcome;

use super::lane;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Success,
    Failure,
    /// A success that took too long, and counts as a failure.
    Slow,
    Ignored,
    Cancelled,
}

impl End {
    pub(super) const ALL: [Self; 5] = [
        Self::Success,
        Self::Failure,
        Self::Slow,
        Self::Ignored,
        Self::Cancelled,
    ];

    #[inline]
    pub(super) const fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Success => Self::Success,
            Outcome::Failure(failure) if failure.is_slow() => Self::Slow,
            Outcome::Failure(_) => Self::Failure,
            Outcome::Ignored => Self::Ignored,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Slow => "slow",
            Self::Ignored => "ignored",
            Self::Cancelled => "cancelled",
        }
    }
}

/// How many calls ended in which way, by lane: a thread with a lane of its own adds with a load and a store, because no
/// other thread writes there. No other memory depends on these counts, so all orderings are relaxed.
#[derive(Debug)]
pub(super) struct Calls {
    own: [Lane; lane::OWN],
    shared: Lane,
}

/// Has cache lines of its own, in pairs, because that is how they are fetched.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Lane([AtomicU64; End::ALL.len()]);

impl Lane {
    /// Called by the only thread that writes here.
    #[inline]
    fn add(&self, end: End) {
        let count = &self.0[end as usize];
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
    pub(super) fn add(&self, end: End) {
        match self.own.get(lane::known()) {
            Some(lane) => lane.add(end),
            None => self.add_unknown(end),
        }
    }

    #[cold]
    fn add_unknown(&self, end: End) {
        match self.own.get(lane::find()) {
            Some(lane) => lane.add(end),
            None => {
                self.shared.0[end as usize].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The number of calls that ended in this way, in all lanes.
    pub(super) fn sum(&self, end: End) -> u64 {
        let lanes = self.own.iter().chain([&self.shared]);
        lanes
            .map(|lane| lane.0[end as usize].load(Ordering::Relaxed))
            .sum()
    }
}
