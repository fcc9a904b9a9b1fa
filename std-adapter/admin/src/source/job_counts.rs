//! How many jobs there are. A store may have to read all of them for that, so all pages share one result for a while.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_steps::{Counts, Status};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::super::named::Named;
use super::super::response::Problem;
use super::OfSteps;
use super::jobs::PATIENCE;

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

#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    statuses: Vec<OfStatus>,
    lanes: Vec<OfLane>,
    /// How many of the waiting jobs are due.
    due: u64,
    /// For how long the job that has waited longest has been due; null if none is.
    oldest_due_ms: Option<u64>,
    /// How old this result is.
    counted_ms: u64,
}

#[derive(Debug, Serialize)]
struct OfStatus {
    status: &'static str,
    count: u64,
}

#[derive(Debug, Serialize)]
struct OfLane {
    lane: String,
    due: u64,
    /// How many jobs have each status.
    #[serde(flatten)]
    statuses: BTreeMap<&'static str, u64>,
}

impl OfLane {
    fn new(lane: &str) -> Self {
        Self {
            lane: lane.to_owned(),
            due: 0,
            statuses: BTreeMap::from(Status::ALL.map(|status| (status.name(), 0))),
        }
    }
}

pub(crate) async fn read(steps: &Named<OfSteps>) -> Result<Shown, Problem> {
    let until = Instant::now() + PATIENCE;
    // One request asks, and the others wait for its result.
    let kept = Arc::clone(&steps.it.counted).lock_owned();
    let mut kept = timeout_at(until, kept).await.map_err(|_| steps.is_late())?;
    let changes = steps.it.changes();
    if let Some(counted) = kept.as_ref().filter(|counted| counted.serves(changes)) {
        return counted.shown().ok_or_else(|| steps.is_late());
    }
    let shown = steps.ask_until(until, move |jobs| async move {
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
    shown.await?.ok_or_else(|| steps.is_late())
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

    fn shown(&self) -> Option<Shown> {
        let counts = self.counts.as_ref()?;
        let mut lanes: BTreeMap<&str, OfLane> = BTreeMap::new();
        for (lane, status, count) in &counts.jobs {
            let of = lanes.entry(lane).or_insert_with(|| OfLane::new(lane));
            *of.statuses.entry(status.name()).or_default() += count;
        }
        for (lane, count) in &counts.due {
            let of = lanes.entry(lane).or_insert_with(|| OfLane::new(lane));
            of.due += count;
        }
        let oldest = counts.oldest_due;
        Some(Shown {
            statuses: Status::ALL
                .into_iter()
                .map(|status| OfStatus {
                    status: status.name(),
                    count: counts.of(status),
                })
                .collect(),
            lanes: lanes.into_values().collect(),
            due: counts.due.iter().map(|(_, count)| count).sum(),
            oldest_due_ms: oldest.map(|time| time.as_millis() as u64),
            counted_ms: self.at.elapsed().as_millis() as u64,
        })
    }
}
