// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counts of a run.

use crate::clock::{MS, SECOND, Time};
use crate::scenario::Plan;

/// The counts of one run or, added up, of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Calls that arrived while the promise of partial trouble applied.
    pub calls: u64,
    /// Those of them that were answered well.
    pub served: u64,
    /// Calls that a breaker rejected, at any time.
    pub rejected: u64,
    /// Those of them that would have been answered well.
    pub rejected_in_vain: u64,
    /// Calls that arrived while the resource was down.
    pub down: u64,
    /// Those of them that came before its failure could have lasted.
    pub early: u64,
    /// Calls of which at least one try was sent in vain while the resource was down.
    pub wasted: u64,
    /// Tries that were sent in vain while the resource was down.
    pub wasted_tries: u64,
    /// The time after the end of the outage at which the last call arrived that was not answered well; the longest of
    /// all runs.
    pub back: Time,
    /// The number of runs.
    pub runs: u64,
    /// Calls that were answered well, by the time that it took.
    pub(crate) latencies: Latencies,
}

/// The number of calls by duration, in steps of a twentieth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Latencies(Vec<u32>);

const STEPS: f64 = 20.0;

impl Latencies {
    fn note(&mut self, time: Time) {
        let ms = (time as f64 / MS as f64).max(1.0);
        let step = (ms.ln() * STEPS) as usize;
        if self.0.len() <= step {
            self.0.resize(step + 1, 0);
        }
        self.0[step] += 1;
    }

    fn percentile(&self, percent: f64) -> Option<f64> {
        let all: u64 = self.0.iter().map(|&count| u64::from(count)).sum();
        let limit = (all as f64 * percent / 100.0).ceil() as u64;
        let mut seen = 0;
        let step = self.0.iter().position(|&count| {
            seen += u64::from(count);
            seen >= limit && seen > 0
        })?;
        Some(((step as f64 + 0.5) / STEPS).exp())
    }

    fn add(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (sum, count) in self.0.iter_mut().zip(&other.0) {
            *sum += count;
        }
    }
}

impl Figures {
    /// A call that arrived then has ended now.
    pub fn note(&mut self, plan: &Plan, arrived: Time, now: Time, is_served: bool) {
        if plan.counted.contains(&arrived) {
            self.calls += 1;
            self.served += u64::from(is_served);
            if is_served {
                self.latencies.note(now - arrived);
            }
        }
        let Some(down) = &plan.down else { return };
        if down.contains(&arrived) {
            self.down += 1;
            self.early += u64::from(arrived < down.start + plan.notice);
        } else if arrived >= down.end && !is_served {
            self.back = self.back.max(arrived - down.end);
        }
    }

    /// Adds another run.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.served += other.served;
        self.rejected += other.rejected;
        self.rejected_in_vain += other.rejected_in_vain;
        self.down += other.down;
        self.early += other.early;
        self.wasted += other.wasted;
        self.wasted_tries += other.wasted_tries;
        self.back = self.back.max(other.back);
        self.runs += other.runs;
        self.latencies.add(&other.latencies);
    }

    /// The share of calls that were answered well, in percent.
    pub fn served_percent(&self) -> f64 {
        percent(self.served, self.calls)
    }

    /// The percentage of calls that were answered well, among those that `none` answered well. 100 if `none` answered
    /// none.
    pub fn against(&self, none: &Self) -> f64 {
        if none.served == 0 {
            return 100.0;
        }
        percent(self.served, none.served)
    }

    /// The share of calls of the outage that were wasted, in percent.
    pub fn wasted_percent(&self) -> f64 {
        percent(self.wasted, self.down)
    }

    /// The time until served again, in seconds.
    pub fn back_seconds(&self) -> f64 {
        self.back as f64 / SECOND as f64
    }

    /// The 99th percentile of the times of calls that were answered well, in milliseconds.
    pub fn p99_ms(&self) -> Option<f64> {
        self.latencies.percentile(99.0)
    }
}

/// A share in percent; 0 of none.
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 * 100.0 / whole as f64
}
