//! How many jobs there are. A store may have to read all of them for that, so an answer serves all pages for a while.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::super::answer::Problem;
use super::super::builder::Named;
use super::OfSteps;
use super::source::PATIENCE;
use crate::steps::{Counts, Status};

/// For how long an answer serves, at least.
const SERVES: Duration = Duration::from_secs(2);
/// A store is busy with it no more than one part in so many.
const SHARE: u32 = 20;

/// What the store answered.
pub(super) struct Counted {
    counts: Counts,
    at: Instant,
    took: Duration,
}

#[derive(Debug, Serialize)]
pub(super) struct Shown {
    statuses: Vec<OfStatus>,
    lanes: Vec<OfLane>,
    /// How many are due, of those that wait.
    due: u64,
    /// For how long the one that waits the longest has been due; null if none is.
    oldest_due_ms: Option<u64>,
    /// How old this answer is.
    counted_ms: u64,
}

#[derive(Debug, Serialize)]
struct OfStatus {
    status: &'static str,
    count: u64,
}

#[derive(Debug, Default, Serialize)]
struct OfLane {
    lane: String,
    due: u64,
    waiting: u64,
    running: u64,
    dead: u64,
    parked: u64,
    done: u64,
    cancelled: u64,
}

pub(super) async fn read(steps: &Named<OfSteps>) -> Result<Shown, Problem> {
    let until = Instant::now() + PATIENCE;
    // One asks, and the others wait for what it is told.
    let mut kept = timeout_at(until, steps.it.counted.lock())
        .await
        .map_err(|_| steps.is_late())?;
    if let Some(counted) = &*kept {
        if counted.at.elapsed() < SERVES.max(counted.took * SHARE) {
            return Ok(counted.shown());
        }
    }
    let began = Instant::now();
    let counts = steps.ask_until(until, steps.it.jobs.counts()).await?;
    let (at, took) = (Instant::now(), began.elapsed());
    Ok(kept.insert(Counted { counts, at, took }).shown())
}

/// Something was changed: the next one asks again.
pub(super) fn forget(steps: &Named<OfSteps>) {
    if let Ok(mut kept) = steps.it.counted.try_lock() {
        *kept = None;
    }
}

impl Counted {
    fn shown(&self) -> Shown {
        let mut lanes: BTreeMap<&str, OfLane> = BTreeMap::new();
        for (lane, status, count) in &self.counts.jobs {
            let of = lanes.entry(lane).or_default();
            *of.of(*status) += count;
        }
        for (lane, count) in &self.counts.due {
            lanes.entry(lane).or_default().due += count;
        }
        let oldest = self.counts.oldest_due;
        Shown {
            statuses: Status::ALL
                .into_iter()
                .map(|status| OfStatus {
                    status: status.name(),
                    count: self.counts.of(status),
                })
                .collect(),
            lanes: lanes
                .into_iter()
                .map(|(lane, of)| OfLane {
                    lane: lane.to_owned(),
                    ..of
                })
                .collect(),
            due: self.counts.due.iter().map(|(_, count)| count).sum(),
            oldest_due_ms: oldest.map(|time| time.as_millis() as u64),
            counted_ms: self.at.elapsed().as_millis() as u64,
        }
    }
}

impl OfLane {
    const fn of(&mut self, status: Status) -> &mut u64 {
        match status {
            Status::Waiting => &mut self.waiting,
            Status::Running => &mut self.running,
            Status::Done => &mut self.done,
            Status::Dead => &mut self.dead,
            Status::Parked => &mut self.parked,
            Status::Cancelled => &mut self.cancelled,
        }
    }
}
