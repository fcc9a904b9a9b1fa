//! A job as a row, and what each call of a store does to it.

use std::borrow::BorrowMut;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::micros::{after, micros, since};
use super::{
    Change, Claimed, CountsAs, Failed, HeldUp, Job, JobId, NewJob, Right, Saved, Status,
    StoreError, redacted,
};

/// The last fence that a row may have.
const LAST_FENCE: i64 = i64::MAX - 1;

/// A job as a [`Store`](super::Store) may keep it, and what the calls do to it: with this a store is code that finds
/// rows, reads and writes them. The package in `std-adapter/steps/examples/file` is such a store.
///
/// Times are in microseconds by the clock of the store, counted from anywhere; each call takes the present one as
/// `now`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "columns of a table")]
pub struct JobRow {
    /// The name of its workflow.
    pub kind: String,
    /// What identifies it among jobs of its kind.
    pub key: String,
    /// The step that is next, or under way.
    pub step: String,
    /// The resource of that step.
    pub lane: String,
    /// The state, as JSON.
    pub state: String,
    /// Its status.
    pub status: Status,
    /// How often this step has failed.
    pub failures: u32,
    /// The fence of the last right to it; 0 before the first.
    pub fence: i64,
    /// When it is due; for a job that runs, when its lease ends.
    pub due: i64,
    /// When it was first due.
    pub first_due: i64,
    /// When it ended; `None` for a job that waits or runs.
    pub ended: Option<i64>,
    /// Whether a lease has run out, and none of its steps was done since.
    pub is_suspect: bool,
    /// Whether it was claimed alone.
    pub is_alone: bool,
    /// Whether a person was told.
    pub is_told: bool,
    /// Whether it was parked, waits again, and has not been tried since.
    #[serde(default)]
    pub is_unparked: bool,
    /// How often it was [held up](Job::held_up).
    pub held_up: u32,
    /// Since when it was held up.
    pub held_since: Option<i64>,
    /// Since when the workers that claim it do not know it.
    pub unknown_since: Option<i64>,
    /// Its history. A store that keeps it elsewhere reads the row without, and adds the line that a call has left here;
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
    /// Which failure of this step it was, counted from 1; 0 for an event that was no try.
    pub failures: u32,
    /// In words.
    pub error: String,
    /// When.
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
    /// A new job; claimed at once if there is a lease.
    ///
    /// # Errors
    /// The delay is longer than 100,000 years.
    pub fn new(job: &NewJob, lease: Option<Duration>, now: i64) -> Result<Self, StoreError> {
        let delay = lease.map_or(job.delay, |_| Duration::ZERO);
        let due = now.saturating_add(micros(delay)?);
        let mut row = Self {
            kind: job.kind.clone(),
            key: job.key.clone(),
            step: job.step.clone(),
            lane: job.lane.clone(),
            state: job.state.clone(),
            due,
            first_due: due,
            ..Self::default()
        };
        if let Some(lease) = lease {
            row.claim_one(JobId::new(0), lease, now, true);
        }
        Ok(row)
    }

    /// The right to it, if it runs.
    pub fn right(&self, id: JobId) -> Option<Right> {
        let fence = self.fence;
        (self.status == Status::Running).then_some(Right { id, fence })
    }

    /// Its status: once its lease is over, a job that ran waits for another worker.
    pub fn status_at(&self, now: i64) -> Status {
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

    /// How long until it may be claimed, if it ever may; 0 if it may now.
    pub fn due_in(&self, now: i64) -> Option<Duration> {
        self.ended.is_none().then(|| since(self.due, now))
    }

    /// Claims jobs of a lane: given up to as many as are wanted, all of them due, in the order in which they are due.
    /// Removes those that are not claimed.
    pub fn claim<R: BorrowMut<Self>>(
        due: &mut Vec<(JobId, R)>,
        lease: Duration,
        now: i64,
    ) -> Vec<Claimed> {
        let rows = due.iter().map(|(_, row)| row.borrow());
        let together = rows.take_while(|row| !row.is_suspect && row.status != Status::Running);
        let together = together.count();
        due.truncate(together.max(1));
        let is_alone = due.len() == 1;
        let rows = due.iter_mut();
        rows.map(|(id, row)| row.borrow_mut().claim_one(*id, lease, now, is_alone))
            .collect()
    }

    fn claim_one(&mut self, id: JobId, lease: Duration, now: i64, is_alone: bool) -> Claimed {
        if self.status.is_final() {
            let status = self.status.name();
            let fault = format!("status {status:?} of one that has not ended");
            self.faults.push(fault);
        }
        let was_running = self.status == Status::Running;
        // Of several that were lost together, it is not known which one caused it.
        let is_lost = was_running && self.is_alone;
        self.is_suspect |= was_running;
        self.is_alone = is_alone;
        // Greater than all before it. One that cannot grow is replaced by the time, which no count comes near.
        self.fence = match self.fence {
            fence @ 0..LAST_FENCE => fence + 1,
            fence => {
                self.faults.push(format!("fence {fence}"));
                now
            }
        };
        self.status = Status::Running;
        self.due = after(now, lease);
        let faults = self.faults.join(", ");
        let fence = self.fence;
        Claimed {
            right: Right { id, fence },
            job: self.job(id, now),
            is_lost,
            fault: (!faults.is_empty())
                .then(|| format!("no job can have what is in its row: {faults}")),
        }
    }

    /// Renews a lease. Returns `false` if the right is gone.
    pub fn renew(&mut self, right: Right, lease: Duration, now: i64) -> bool {
        let is_held = self.right(right.id) == Some(right);
        if is_held {
            self.due = after(now, lease);
        }
        is_held
    }

    /// Saves the result of running it.
    pub fn save(&mut self, right: Right, change: &Change, now: i64) -> Saved {
        if self.right(right.id) != Some(right) {
            return Saved::default();
        }
        if let Some((step, lane)) = &change.next {
            self.step.clone_from(step);
            self.lane.clone_from(lane);
            self.failures = 0;
            self.is_suspect = false;
        }
        if let Some(state) = &change.state {
            self.state.clone_from(state);
        }
        self.set(change.status, change.due_in, now);
        let tell = self.tells(change);
        self.is_told |= tell;
        let (mut failures, mut has_line) = (0, true);
        match change.counts_as {
            CountsAs::Succeeded => self.go_on(),
            CountsAs::Failed => {
                self.failures = self.failures.saturating_add(1);
                failures = self.failures;
                self.go_on();
            }
            CountsAs::Nothing => {}
            CountsAs::Rejected | CountsAs::Unknown => {
                has_line = tell;
                self.held_up = self.held_up.saturating_add(1);
                self.held_since.get_or_insert(now);
                let is_unknown = change.counts_as == CountsAs::Unknown;
                self.unknown_since = is_unknown.then_some(self.unknown_since.unwrap_or(now));
            }
        }
        if let Some(error) = change.error.as_deref().filter(|_| has_line) {
            let (step, error) = (self.step.clone(), redacted(error));
            let is_same =
                |line: &Line| (line.failures, &line.step, &line.error) == (failures, &step, &error);
            if self.status != Status::Parked || !self.history.iter().any(is_same) {
                self.history.push(Line {
                    step,
                    failures,
                    error,
                    at: now,
                });
            }
        }
        Saved {
            is_held: true,
            tell,
        }
    }

    /// Whether a person is to be told: of a delay once, and of the end, unless it is that of a job which was parked
    /// before and could not be tried since.
    fn tells(&mut self, change: &Change) -> bool {
        if self.is_unparked && !matches!(change.counts_as, CountsAs::Nothing | CountsAs::Unknown) {
            (self.is_told, self.is_unparked) = (false, false);
        }
        let ends = change.status.is_final() && !self.is_unparked;
        change.tell && (ends || !self.is_told)
    }

    /// Sets status and time; a job that is never due has ended.
    fn set(&mut self, status: Status, due_in: Option<Duration>, now: i64) {
        self.status = status;
        if let Some(due_in) = due_in {
            self.due = after(now, due_in);
            self.ended = None;
        } else {
            self.ended = Some(now);
            self.is_suspect = false;
        }
    }

    /// Marks that it is no longer held up.
    fn go_on(&mut self) {
        (self.held_up, self.held_since, self.unknown_since) = (0, None, None);
    }

    /// Makes it wait again if it is a parked job of this kind, at one of these steps, and was parked that long ago.
    /// Returns whether it was.
    pub fn unpark<S: AsRef<str>>(
        &mut self,
        kind: &str,
        steps: &[S],
        parked_before: Duration,
        now: i64,
    ) -> bool {
        let is_known = self.kind == kind && steps.iter().any(|step| step.as_ref() == self.step);
        let is_old = self.has_ended_before(parked_before, now);
        let may = self.status == Status::Parked && is_known && is_old;
        if may {
            (self.held_up, self.held_since) = (0, None);
            self.is_unparked = true;
            self.set(Status::Waiting, Some(Duration::ZERO), now);
        }
        may
    }

    /// Makes it due now, with as many tries as a new one. Returns whether that is possible.
    pub fn retry_now(&mut self, now: i64) -> bool {
        let may = matches!(self.status, Status::Waiting | Status::Dead | Status::Parked);
        if may {
            self.failures = 0;
            self.is_suspect = false;
            (self.is_told, self.is_unparked) = (false, false);
            self.go_on();
            self.set(Status::Waiting, Some(Duration::ZERO), now);
        }
        may
    }

    /// Ends it. Returns whether that is possible.
    pub fn cancel(&mut self, now: i64) -> bool {
        let may = !matches!(self.status, Status::Done | Status::Cancelled);
        if may {
            self.fence = self.fence.min(LAST_FENCE - 1) + 1;
            self.set(Status::Cancelled, None, now);
        }
        may
    }

    /// Whether it may be [forgotten](super::Store::forget).
    pub fn is_over(&self, ended_before: Duration, now: i64) -> bool {
        let is_over = matches!(self.status, Status::Done | Status::Cancelled);
        is_over && self.has_ended_before(ended_before, now)
    }

    fn has_ended_before(&self, before: Duration, now: i64) -> bool {
        self.ended.is_some_and(|ended| since(now, ended) >= before)
    }
}
