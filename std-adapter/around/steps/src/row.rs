// SPDX-License-Identifier: MIT OR Apache-2.0
//! A job as a row, and its times.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Failed, HeldUp, Job, JobId, Right, Status, StoreError};

/// A job as a [`Store`](super::Store) may keep it, and what the calls do to it: with this a store is code that finds
/// rows, reads and writes them. The package in `std-adapter/around/steps/examples/file` is such a store.
///
/// Times are in microseconds by the clock of the store, counted from anywhere; each call takes the present one as
/// `now`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "columns of a table")]
pub struct JobRow {
    /// The name of its workflow.
    pub kind: String,
    /// The key that identifies the job among those of its kind.
    pub key: String,
    /// The step that is next, or under way.
    pub step: String,
    /// The resource of that step.
    pub lane: String,
    /// The state, as JSON.
    pub state: String,
    /// The status.
    pub status: Status,
    /// The number of times that this step has failed.
    pub failures: u32,
    /// The fence of the last right to it; 0 before the first.
    pub fence: i64,
    /// The time at which it is due; for a job that runs, at which its lease ends.
    pub due: i64,
    /// The time at which it was first due.
    pub first_due: i64,
    /// The time at which it ended; `None` for a job that waits or runs.
    pub ended: Option<i64>,
    /// `true` if a lease has run out, and none of its steps was done since.
    pub is_suspect: bool,
    /// `true` if it was claimed alone.
    pub is_alone: bool,
    /// `true` if a person was notified.
    pub is_told: bool,
    /// `true` if it was parked, waits again, and has not been tried since.
    #[serde(default)]
    pub is_unparked: bool,
    /// The number of times that it was [held up](Job::held_up).
    pub held_up: u32,
    /// The time since which it has been held up.
    pub held_since: Option<i64>,
    /// The time since which the workers that claim it have not known it.
    pub unknown_since: Option<i64>,
    /// The history. A store that keeps it elsewhere reads the row without, and adds the line that a call has left here;
    /// for a parked job only if there is none that is the same at another time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Line>,
    /// Values that no job can have, in words, found when it was read: such a job is parked.
    #[serde(skip)]
    pub faults: Vec<String>,
}

/// A failure in the history of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The step.
    pub step: String,
    /// The number of this failure of the step, counted from 1; 0 for an event that was no try.
    pub failures: u32,
    /// In words.
    pub error: String,
    /// The time of the event.
    pub at: i64,
}

impl Line {
    /// As [`Store::history`](super::Store::history) returns it.
    pub fn failed(self, now: i64) -> Failed {
        Failed {
            ago: since(now, self.at),
            step: self.step,
            failures: self.failures,
            error: self.error,
        }
    }
}

impl JobRow {
    /// A count in a table. One that no job can have is a fault of its row, and becomes the nearest possible one.
    pub fn count(column: &str, count: i64, faults: &mut Vec<String>) -> u32 {
        u32::try_from(count).unwrap_or_else(|_| {
            faults.push(format!("{column} {count}"));
            if count.is_negative() { 0 } else { u32::MAX }
        })
    }

    /// A status by its name in a table. An unknown one is a fault of its row, and becomes that of a job that no worker can
    /// run.
    pub fn status(name: &str, faults: &mut Vec<String>) -> Status {
        Status::from_name(name).unwrap_or_else(|| {
            faults.push(format!("status {name:?}"));
            Status::Parked
        })
    }

    /// The right to it, if it runs.
    pub fn right(&self, id: JobId) -> Option<Right> {
        let fence = self.fence;
        (self.status == Status::Running).then_some(Right { id, fence })
    }

    /// The status at this time: once its lease is over, a job that ran waits for another worker.
    pub(super) fn status_at(&self, now: i64) -> Status {
        match self.status {
            Status::Running if self.due <= now => Status::Waiting,
            status => status,
        }
    }

    /// The job.
    pub fn job(&self, id: JobId, now: i64) -> Job {
        let ago = |then: Option<i64>| then.map_or(Duration::ZERO, |then| since(now, then));
        Job {
            id,
            kind: self.kind.clone(),
            key: self.key.clone(),
            step: self.step.clone(),
            lane: self.lane.clone(),
            state: self.state.clone(),
            status: self.status_at(now),
            failures: self.failures,
            due_in_ms: self.due.saturating_sub(now).div_euclid(1_000),
            age: since(now, self.first_due),
            is_told: self.is_told,
            held_up: HeldUp {
                times: self.held_up,
                time: ago(self.held_since),
                unknown: ago(self.unknown_since),
            },
        }
    }

    /// The time until it may be claimed, if it ever may; 0 if it may now.
    pub fn due_in(&self, now: i64) -> Option<Duration> {
        self.ended.is_none().then(|| since(self.due, now))
    }
}

/// The longest time that databases can count.
const LONGEST: Duration = Duration::from_secs(100_000 * 365 * 24 * 60 * 60);

/// A time in microseconds, rounded up, so that nothing is early.
///
/// # Errors
/// The time is longer than 100,000 years.
pub fn micros(time: Duration) -> Result<i64, StoreError> {
    if time > LONGEST {
        let words = format!("{time:?} is longer than 100,000 years: use a shorter time");
        return Err(StoreError::new(words));
    }
    Ok(time.as_nanos().div_ceil(1_000) as i64)
}

/// The time since `then`, given two times in microseconds; 0 if the clock was set back since.
pub fn since(now: i64, then: i64) -> Duration {
    Duration::from_micros(u64::try_from(now.saturating_sub(then)).unwrap_or(0))
}

/// The time after `now`; one that is too long counts as the longest.
pub(super) fn after(now: i64, time: Duration) -> i64 {
    now.saturating_add(micros(time).unwrap_or(LONGEST.as_micros() as i64))
}
