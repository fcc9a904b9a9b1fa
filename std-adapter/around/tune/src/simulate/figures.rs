// SPDX-License-Identifier: MIT OR Apache-2.0
//! The costs of a run: calls that were wasted, and calls that were rejected though they would have been answered.

use std::ops::AddAssign;
use std::time::Duration;

use atomic_breaker::Outcome;

use super::call::{Completion, PlannedCall};

/// The counts of a run, or of a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Figures {
    /// Calls that callers wanted to make.
    pub calls: u64,
    /// Calls that breakers rejected.
    pub rejected: u64,
    /// Calls that were made and failed, hung until their caller left, or whose answer came too late to be useful.
    pub wasted: u64,
    /// The time that callers spent in wasted calls, in microseconds.
    pub wasted_us: u64,
    /// Calls that were rejected and would have had a useful answer.
    pub healthy_rejected: u64,
    /// Calls that breakers would have rejected after the last one of their key in a log, because they were still open. They
    /// are among none of the other counts; always 0 for a [`Scenario`](crate::Scenario), which plays until callers leave.
    pub rejected_after_end: u64,
    /// Calls that were made and had a useful answer.
    pub useful: u64,
}

impl Figures {
    /// The time that callers spent in wasted calls.
    pub const fn wasted_time(&self) -> Duration {
        Duration::from_micros(self.wasted_us)
    }

    /// Calls that were rejected and would have had a useful answer, in the log and after the end of its keys.
    pub const fn useful_rejected(&self) -> u64 {
        self.healthy_rejected + self.rejected_after_end
    }

    /// Calls that were rejected and would not have had a useful answer.
    pub const fn spared(&self) -> u64 {
        self.rejected - self.healthy_rejected
    }

    /// Counts a call and how it ended; `None` if it was rejected.
    #[inline]
    pub fn add(
        &mut self,
        call: &PlannedCall,
        completion: Option<Completion>,
        useful: UsefulWithin,
    ) {
        self.calls += 1;
        let Some(completion) = completion else {
            self.rejected += 1;
            self.healthy_rejected += u64::from(useful.worth(call.completion) == Usefulness::Useful);
            return;
        };
        match useful.worth(completion) {
            Usefulness::Useful => self.useful += 1,
            Usefulness::Wasted => {
                self.wasted += 1;
                self.wasted_us += u64::from(completion.duration_us);
            }
            Usefulness::Neither => {}
        }
    }
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.rejected += other.rejected;
        self.wasted += other.wasted;
        self.wasted_us += other.wasted_us;
        self.healthy_rejected += other.healthy_rejected;
        self.rejected_after_end += other.rejected_after_end;
        self.useful += other.useful;
    }
}

/// The worth of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usefulness {
    /// The call had a useful answer.
    Useful,
    /// The call failed, [hung](Completion::has_hung) until its caller left, or its answer came too late.
    Wasted,
    /// The call says nothing about the resource.
    Neither,
}

/// The time after which an answer is no longer useful.
#[derive(Clone, Copy, Debug)]
pub struct UsefulWithin {
    us: u32,
}

impl UsefulWithin {
    /// After this time; without a limit every answer is useful.
    pub fn new(limit: Option<Duration>) -> Self {
        let us = limit.map(|limit| u32::try_from(limit.as_micros()));
        Self {
            us: us.and_then(Result::ok).unwrap_or(u32::MAX),
        }
    }

    /// Judges whether a call that ends so is worth making.
    #[inline]
    pub const fn worth(self, completion: Completion) -> Usefulness {
        match completion.outcome {
            Outcome::Success if completion.duration_us <= self.us => Usefulness::Useful,
            Outcome::Ignored if !completion.has_hung() => Usefulness::Neither,
            _ => Usefulness::Wasted,
        }
    }
}
