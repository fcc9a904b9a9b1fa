//! How many jobs there are. A store may have to read all of them for that, so all pages share one result for a while.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_steps::{Counts, Status};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::super::response::Problem;
use super::jobs::PATIENCE;
use super::{Named, OfSteps};

/// For how long a result is used, at least.
const SERVES: Duration = Duration::from_secs(2);
/// A store spends at most one part in this many of its time on it.
const SHARE: u32 = 20;
/// After it took too long, it is left alone for this many times as long: it may recover soon.
const PEACE: u32 = 2;

/// What the store returned.
pub(crate) struct Counted {
    /// `None` if that took too long.
    counts: Option<Counts>,
    at: Instant,
    took: Duration,
    /// How many changes had been made when it was asked.
    changes: u64,
}

impl Named<OfSteps> {
    /// How many jobs there are, by status and by lane.
    pub(crate) async fn counts(&self) -> Result<Value, Problem> {
        let until = Instant::now() + PATIENCE;
        // One request asks, and the others wait for its result.
        let kept = Arc::clone(&self.it.counted).lock_owned();
        let mut kept = timeout_at(until, kept).await.map_err(|_| self.is_late())?;
        let changes = self.it.changes();
        if let Some(counted) = kept.as_ref().filter(|counted| counted.serves(changes)) {
            return counted.shown().ok_or_else(|| self.is_late());
        }
        let shown = self.read_until(until, move |jobs| async move {
            let began = Instant::now();
            let counts = timeout_at(until, jobs.counts()).await;
            let (at, took) = (Instant::now(), began.elapsed());
            let counted = Counted {
                counts: counts.ok().transpose()?,
                at,
                took,
                changes,
            };
            Ok(kept.insert(counted).shown())
        });
        shown.await?.ok_or_else(|| self.is_late())
    }
}

impl Counted {
    /// Whether the result is recent enough, so that the store need not be asked again.
    fn serves(&self, changes: u64) -> bool {
        let age = self.at.elapsed();
        match self.counts {
            Some(_) => self.changes == changes && age < SERVES.max(self.took * SHARE),
            None => age < self.took * PEACE,
        }
    }

    fn shown(&self) -> Option<Value> {
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
