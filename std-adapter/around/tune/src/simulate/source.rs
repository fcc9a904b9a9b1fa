// SPDX-License-Identifier: MIT OR Apache-2.0
//! The source of a run's calls, such as callers that wait for their call before they make the next one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;

use super::call::PlannedCall;

/// The source of a run's calls, in the order of their start.
pub trait CallSource {
    /// The time at which the next call begins, in microseconds since the beginning: never before the time of the run.
    /// `None` if there is none, or if none is ready before a caller is [freed](Self::freed).
    fn next_start_us(&mut self) -> Option<u64>;

    /// Takes the call that was announced; `None` if its caller makes none any more.
    fn take(&mut self) -> Option<PlannedCall>;

    /// A caller is free at `at_us`: the call that it began at `began_us` has ended, or was rejected.
    #[inline]
    fn freed(&mut self, began_us: u64, at_us: u64) {
        let _ = (began_us, at_us);
    }
}

/// Calls at their times, whatever becomes of them.
impl<I: Iterator<Item = PlannedCall>> CallSource for Peekable<I> {
    #[inline]
    fn next_start_us(&mut self) -> Option<u64> {
        self.peek().map(|call| call.start_us)
    }

    #[inline]
    fn take(&mut self) -> Option<PlannedCall> {
        self.next()
    }
}

/// A number of callers. Each makes a call at every beat, unless it still waits for the one before: then as soon as that
/// has ended.
///
/// `F` says which call begins at a moment, in microseconds since the beginning; `None` if the run is over. Moments never go back.
#[derive(Debug)]
pub struct Callers<F> {
    /// The times at which callers that are free make their next calls.
    ready: BinaryHeap<Reverse<u64>>,
    every_us: u64,
    call_at: F,
}

impl<F: FnMut(u64) -> Option<PlannedCall>> Callers<F> {
    /// So many callers, each of whom makes a call every `every_us` microseconds, at least 1. Their first calls are spread evenly
    /// over the first beat.
    pub fn new(number: u32, every_us: u64, call_at: F) -> Self {
        let first =
            |caller| (u128::from(every_us) * u128::from(caller) / u128::from(number)) as u64;
        Self {
            ready: (0..number).map(|caller| Reverse(first(caller))).collect(),
            every_us: every_us.max(1),
            call_at,
        }
    }
}

impl<F: FnMut(u64) -> Option<PlannedCall>> CallSource for Callers<F> {
    fn next_start_us(&mut self) -> Option<u64> {
        self.ready.peek().map(|Reverse(at)| *at)
    }

    // Only now: a caller that is freed meanwhile may come first, and moments never go back.
    fn take(&mut self) -> Option<PlannedCall> {
        let Reverse(at) = self.ready.pop()?;
        (self.call_at)(at)
    }

    fn freed(&mut self, began_us: u64, at_us: u64) {
        let next = at_us.max(began_us.saturating_add(self.every_us));
        self.ready.push(Reverse(next));
    }
}
