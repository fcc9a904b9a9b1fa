// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of jobs. A store may have to read all of them for that, so all pages share one result for a while.

use std::collections::BTreeMap;
use std::time::Duration;

use atomic_breaker_steps::{Counts, Status};
use serde_json::{Value, json};
use tokio::time::Instant;

/// The least time for which a result is used.
const SERVES: Duration = Duration::from_secs(2);
/// A store spends at most one part in this many of its time on counting.
const SHARE: u32 = 20;
/// A store that took too long is left alone for this many times as long: it may recover soon.
const PEACE: u32 = 2;

/// The result of the store, and its time.
pub(super) struct CountsAt {
    /// `None` if that took too long.
    pub(super) counts: Option<Counts>,
    pub(super) at: Instant,
    pub(super) took: Duration,
    /// The number of changes that had been made when the store was asked.
    pub(super) changes: u64,
}

impl CountsAt {
    /// Returns whether the result is recent enough, so that the store need not be asked again.
    pub(super) fn serves(&self, changes: u64) -> bool {
        let age = self.at.elapsed();
        match self.counts {
            Some(_) => self.changes == changes && age < SERVES.max(self.took * SHARE),
            None => age < self.took * PEACE,
        }
    }

    pub(super) fn shown(&self) -> Option<Value> {
        let counts = self.counts.as_ref()?;
        // How many jobs of each lane have each status, and how many of those that wait are due.
        let mut lanes: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
        let jobs = counts.jobs.iter();
        let jobs = jobs.map(|(lane, status, count)| (lane, status.name(), count));
        let due = counts.due.iter().map(|(lane, count)| (lane, "due", count));
        for (lane, what, count) in jobs.chain(due) {
            let zero = || {
                let statuses = Status::ALL.map(Status::name).into_iter();
                statuses.chain(["due"]).map(|what| (what, 0)).collect()
            };
            let of = lanes.entry(lane).or_insert_with(zero);
            *of.entry(what).or_default() += count;
        }
        let lanes = lanes.into_iter().map(|(lane, counts)| {
            let mut shown = json!(counts);
            shown["lane"] = json!(lane);
            shown
        });
        let statuses = Status::ALL
            .map(|status| json!({ "status": status.name(), "count": counts.of(status) }));
        Some(json!({
            "statuses": statuses,
            "lanes": lanes.collect::<Vec<_>>(),
            "due": counts.due.iter().map(|(_, count)| count).sum::<u64>(),
            "oldest_due_ms": counts.oldest_due.map(|time| time.as_millis() as u64),
            // How old this result is.
            "counted_ms": self.at.elapsed().as_millis() as u64,
        }))
    }
}
