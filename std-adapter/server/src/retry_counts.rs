// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of the tries that failed.

use std::iter::Sum;
use std::ops::Add;

use atomic_breaker::wait::RetryEvent;

/// Counts of failed tries by outcome since the start, and the remaining retry budget: those of one budget, or of
/// several together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryCounts {
    counts: [u64; RetryEvent::ALL.len()],
    millitokens: u32,
}

impl RetryCounts {
    /// Made of the `count` of each event, and of the thousandths of tokens that are left.
    pub fn new(count: impl FnMut(RetryEvent) -> u64, millitokens: u32) -> Self {
        Self {
            counts: RetryEvent::ALL.map(count),
            millitokens,
        }
    }

    /// The number of times that the event happened: a counter.
    pub const fn of(&self, event: RetryEvent) -> u64 {
        self.counts[event as usize]
    }

    /// Thousandths of tokens that are left, of several budgets those of the emptiest.
    pub const fn millitokens(&self) -> u32 {
        self.millitokens
    }
}

/// Adds the counters, and takes the tokens of the emptier budget.
impl Add for RetryCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let millitokens = self.millitokens.min(other.millitokens);
        Self::new(
            |event| self.of(event).wrapping_add(other.of(event)),
            millitokens,
        )
    }
}

/// Adds all of them; without any, nothing has happened, and the number of tokens is the largest there is.
impl Sum for RetryCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::new(|_| 0, u32::MAX), Add::add)
    }
}
