// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of the tries that failed.

use std::iter::Sum;
use std::ops::Add;

use atomic_breaker::wait::RetryEvent;

/// What became of the tries that failed since the start, and how many retries the budget still allows: those of one
/// budget, or of several together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryCounts {
    counts: [u64; RetryEvent::ALL.len()],
    millitokens: u32,
}

impl RetryCounts {
    /// From what `count` says of each event, and the thousandths of tokens that are left.
    pub fn new(count: impl FnMut(RetryEvent) -> u64, millitokens: u32) -> Self {
        Self {
            counts: RetryEvent::ALL.map(count),
            millitokens,
        }
    }

    /// How often that happened: a counter.
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
