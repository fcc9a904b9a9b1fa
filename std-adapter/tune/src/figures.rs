//! What a run costs: calls that were wasted, and calls that were rejected though they would have been answered.

use std::ops::AddAssign;
use std::time::Duration;

use crate::call::{Call, Ending, Met};
use crate::engine::Watch;

/// The counts of a run, or of a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "replay", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Figures {
    /// Calls that callers wanted to make.
    pub calls: u64,
    /// Those of them that breakers rejected.
    pub rejected: u64,
    /// Calls that were made and failed, or whose answer came too late to be useful.
    pub wasted: u64,
    /// The time that callers spent in wasted calls, in microseconds.
    pub wasted_us: u64,
    /// Calls that were rejected and would have had a useful answer.
    pub healthy_rejected: u64,
    /// Calls that breakers would have rejected after the last one of their key, because they were still open: as many as the
    /// key usually has in that time, and taken to be useful. They are among none of the other counts; 0 for a
    /// [stream](crate::Replay::stream), which does not know when a key has no more calls.
    pub rejected_after_end: u64,
    /// The longest call that was made, in microseconds.
    pub longest_us: u32,
}

impl Figures {
    /// The time that callers spent in wasted calls.
    pub const fn wasted_time(&self) -> Duration {
        Duration::from_micros(self.wasted_us)
    }

    /// The longest call that was made.
    pub const fn longest_call(&self) -> Duration {
        Duration::from_micros(self.longest_us as u64)
    }

    /// The sum of so many runs as their mean, rounded.
    #[cfg(feature = "replay")]
    pub(crate) fn mean_of(self, runs: u64) -> Self {
        let mean = |sum: u64| (sum + runs / 2) / runs;
        Self {
            calls: mean(self.calls),
            rejected: mean(self.rejected),
            wasted: mean(self.wasted),
            wasted_us: mean(self.wasted_us),
            healthy_rejected: mean(self.healthy_rejected),
            rejected_after_end: mean(self.rejected_after_end),
            longest_us: self.longest_us,
        }
    }

    /// Calls that were rejected and would have had a useful answer, in the log and after the end of its keys.
    pub const fn useful_rejected(&self) -> u64 {
        self.healthy_rejected + self.rejected_after_end
    }

    /// Calls that were rejected and would have been wasted.
    pub const fn spared(&self) -> u64 {
        self.rejected - self.healthy_rejected
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
        self.longest_us = self.longest_us.max(other.longest_us);
    }
}

/// A number of calls, for a cost or a share.
#[expect(clippy::cast_precision_loss, reason = "no log has 2⁵³ calls")]
pub(crate) fn count(calls: u64) -> f64 {
    calls as f64
}

/// Whether a call was worth making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    Useful,
    Wasted,
    /// It says nothing about the resource.
    Neither,
}

/// After how many microseconds an answer comes too late to be useful: `u32::MAX` for never.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsefulWithin(pub(crate) u32);

impl UsefulWithin {
    pub(crate) const fn worth(self, ending: Ending) -> Worth {
        match ending.met {
            Met::Success if ending.duration_us <= self.0 => Worth::Useful,
            Met::Success | Met::Failure => Worth::Wasted,
            Met::Ignored => Worth::Neither,
        }
    }
}

/// Counts by part of the log.
pub(crate) struct Score {
    pub(crate) parts: Vec<Figures>,
    useful: UsefulWithin,
}

impl Score {
    /// Of a log with that many parts, at least 1.
    pub(crate) fn new(parts: usize, useful: UsefulWithin) -> Self {
        Self {
            parts: vec![Figures::default(); parts],
            useful,
        }
    }

    pub(crate) fn total(&self) -> Figures {
        let mut total = Figures::default();
        for part in &self.parts {
            total += *part;
        }
        total
    }
}

impl Watch for Score {
    #[inline]
    fn rejected(&mut self, call: &Call) {
        let part = &mut self.parts[call.part()];
        part.calls += 1;
        part.rejected += 1;
        part.healthy_rejected += u64::from(self.useful.worth(call.ending()) == Worth::Useful);
    }

    #[inline]
    fn made(&mut self, call: &Call, ending: Ending) {
        let part = &mut self.parts[call.part()];
        part.calls += 1;
        part.longest_us = part.longest_us.max(ending.duration_us);
        if self.useful.worth(ending) == Worth::Wasted {
            part.wasted += 1;
            part.wasted_us += u64::from(ending.duration_us);
        }
    }
}
