// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of the tries that failed.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

/// What followed when a try of a request had failed and a retry was considered. Each failed try leads to one of these,
/// except [`Recovered`](Self::Recovered), which comes in addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryEvent {
    /// The request was sent again.
    Sent,
    /// A request succeeded at a retry: retries that were worth it.
    Recovered,
    /// The budget had no token left.
    NoToken,
    /// The pause would not have ended before the deadline.
    NoTime,
    /// The try was the last one that is allowed.
    NoTryLeft,
    /// The request may not be sent twice.
    NotRepeatable,
    /// The breaker rejected the retry.
    Rejected,
    /// The caller left before the retry was sent; or, with a `ClientGuard`, before a try that went on without it had failed.
    Cancelled,
}

impl RetryEvent {
    /// Every event, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Sent,
        Self::Recovered,
        Self::NoToken,
        Self::NoTime,
        Self::NoTryLeft,
        Self::NotRepeatable,
        Self::Rejected,
        Self::Cancelled,
    ];

    /// The name in metrics: `sent`, `recovered`, `no_token`, `no_time`, `no_try_left`, `not_repeatable`, `rejected`,
    /// `cancelled`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Recovered => "recovered",
            Self::NoToken => "no_token",
            Self::NoTime => "no_time",
            Self::NoTryLeft => "no_try_left",
            Self::NotRepeatable => "not_repeatable",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for RetryEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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
