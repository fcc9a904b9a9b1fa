// SPDX-License-Identifier: MIT OR Apache-2.0
//! The jobs that a store keeps.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::named::named;
use super::{JobError, LARGEST_STATE, LONGEST_KEY};

/// The number of a job: the same for as long as its store keeps the job, and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(i64);

impl JobId {
    /// An id that a store uses.
    pub const fn new(id: i64) -> Self {
        Self(id)
    }

    /// The number.
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A job that is to be kept: made by a [`Workflow`](super::Workflow).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewJob {
    /// The work to be done: the name of its workflow.
    pub kind: String,
    /// Identifies the job: there is one job of each kind and key.
    pub key: String,
    /// The first step.
    pub step: String,
    /// The resource of that step.
    pub lane: String,
    /// The state, as JSON.
    pub state: String,
    /// The time for which it waits until it is due.
    pub delay: Duration,
}

impl NewJob {
    pub(super) fn check(&self) -> Result<(), JobError> {
        let (key, state) = (&self.key, self.state.len());
        if !(1..=LONGEST_KEY).contains(&key.len()) || key.contains('\0') {
            return Err(JobError::Key(key.len()));
        }
        if state > LARGEST_STATE {
            return Err(JobError::Large(state));
        }
        Ok(())
    }

    /// Makes it due only after this time.
    #[must_use]
    pub const fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

named! {
    /// The status of a job.
    #[derive(
        Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
    )]
    #[serde(rename_all = "lowercase")]
    #[non_exhaustive]
    pub enum Status {
        /// Due now or later; also when its worker was lost, once its lease is over.
        #[default]
        Waiting = "waiting",
        /// A worker has the right to it, for as long as the lease lasts.
        Running = "running",
        /// All steps are done.
        Done = "done",
        /// Given up: tried as often as the schedule allows, or ended by an error.
        Dead = "dead",
        /// No worker can run it as it is: its state is not readable, or its kind or step is unknown.
        Parked = "parked",
        /// An operator cancelled it.
        Cancelled = "cancelled",
    }
}

impl Status {
    /// The status with this [name](Self::name), if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Returns whether it neither waits nor runs: it stays as it is unless an operator, or a worker that resumes it,
    /// changes that.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

/// The right to run a job and to save the result. A later right to the same job has a greater fence, and ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Right {
    /// The job it is for.
    pub id: JobId,
    /// Greater with each right to the job.
    pub fence: i64,
}

impl Right {
    /// The right after a step was saved that [keeps](crate::Change::next) it: with the next fence, so that what was sent
    /// before and arrives late changes nothing.
    #[must_use]
    pub const fn after_step(self) -> Self {
        Self {
            fence: self.fence.saturating_add(1),
            ..self
        }
    }
}

/// A job as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Job {
    /// The id.
    pub id: JobId,
    /// The name of its workflow.
    pub kind: String,
    /// The key that identifies the job among those of its kind.
    pub key: String,
    /// The step that is next, or under way; for a job that has ended, its last.
    pub step: String,
    /// The resource of that step.
    pub lane: String,
    /// The state after the steps that are done, as JSON.
    pub state: String,
    /// The status.
    pub status: Status,
    /// The number of times that this step has failed.
    pub failures: u32,
    /// The time at which it is due, or, if it runs, at which its lease ends: milliseconds from now by the store's
    /// clock, negative if it has been due since.
    pub due_in_ms: i64,
    /// The time since it was first due, whether or not it was claimed then; 0 before.
    pub age: Duration,
    /// `true` if a person was notified since it was last tried again on command or taken up after it was parked.
    pub is_told: bool,
    /// The times that it was given back without a try: their number, and the time since the first.
    pub held_up: HeldUp,
}

/// The delays of a job that was due and not tried, in a row: a breaker within its step rejected it, or the worker that
/// claimed it did not know how to run it. All 0 once it is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldUp {
    /// The number of times.
    pub times: u32,
    /// The time since the first one.
    pub time: Duration,
    /// The time for which it has not been claimed by any worker that knows its kind and step, and can read its state; 0
    /// if the last one did.
    pub unknown: Duration,
}

/// A job that a worker has the right to run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claimed {
    /// The right.
    pub right: Right,
    /// The job as it was found.
    pub job: Job,
    /// `true` if the previous worker began the step, and has neither saved nor renewed its lease since.
    pub is_lost: bool,
    /// Values in its row that no job can have, in words: it is to be parked. Another program wrote to the database.
    pub fault: Option<String>,
}

/// A failure, and when it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failed {
    /// The step.
    pub step: String,
    /// The number of this failure of the step, counted from 1; 0 for an event that was no try.
    pub failures: u32,
    /// In words, at most [`LONGEST_ERROR`](crate::LONGEST_ERROR) bytes of them, without NUL.
    pub error: String,
    /// The time since then.
    pub ago: Duration,
}
