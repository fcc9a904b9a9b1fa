// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of a tally, as the rules see it.

/// The memory that a [`Tally`](crate::Tally) offers the rules: made by the methods, read through the fields. Always the same
/// for one tally.
///
/// ```
/// use atomic_breaker::Memory;
///
/// const LAST_HUNDRED: Memory = Memory::NONE.max_calls(100);
/// assert_eq!(LAST_HUNDRED.max_calls, 100);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct Memory {
    /// The largest number of calls that it remembers, for a failure ratio [of the last calls](super::Ratio::of_last).
    pub max_calls: u32,
    /// The longest time in milliseconds for which it remembers calls, for a failure ratio [within a time](super::Ratio::within);
    /// 0 if it remembers no times.
    pub max_within_ms: u32,
    /// `true` if it may trip by a rule of its own, without a failure ratio in the rules.
    pub has_rule: bool,
    /// `true` if it counts slow calls apart from failures, for a [share of their own](super::Ratio::slow_percent).
    pub counts_slow: bool,
}

impl Memory {
    /// Nothing.
    pub const NONE: Self = Self {
        max_calls: 0,
        max_within_ms: 0,
        has_rule: false,
        counts_slow: false,
    };

    /// Sets the largest number of calls that it remembers.
    pub const fn max_calls(mut self, calls: u32) -> Self {
        self.max_calls = calls;
        self
    }

    /// Sets the longest time in milliseconds for which it remembers calls.
    pub const fn max_within_ms(mut self, ms: u32) -> Self {
        self.max_within_ms = ms;
        self
    }

    /// Says that it may trip by a rule of its own.
    pub const fn has_rule(mut self) -> Self {
        self.has_rule = true;
        self
    }

    /// Says that it counts slow calls apart from failures.
    pub const fn counts_slow(mut self) -> Self {
        self.counts_slow = true;
        self
    }
}
