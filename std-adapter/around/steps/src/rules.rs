// SPDX-License-Identifier: MIT OR Apache-2.0
//! The effect of each call of a store on a job.

use std::borrow::BorrowMut;
use std::time::Duration;

use super::row::{after, micros, since};
use super::{
    Change, Claimed, CountsAs, JobId, JobRow, Line, NewJob, Right, Saved, Status, StoreError,
    redacted,
};

/// The last fence that a row may have.
const LAST_FENCE: i64 = i64::MAX - 1;
/// The first one that a claim cannot raise.
const LAST_CLAIMED: i64 = LAST_FENCE - 1;

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
        // Greater than all before it, and than the right after the last one, so that none is taken for it. One that cannot
        // grow is replaced by the time, which no count comes near.
        self.fence = match self.fence {
            fence @ 0..LAST_CLAIMED => fence + 2,
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
            return Saved {
                is_held: self.is_saved(right, change),
                tell: false,
            };
        }
        if change.status == Status::Running {
            self.fence = right.after_step().fence.min(LAST_FENCE);
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

    /// Returns whether this change that keeps its right is the last one that was saved: its sender has had no answer
    /// and asks again, or it was delivered twice.
    fn is_saved(&self, right: Right, change: &Change) -> bool {
        let is_next = (change.next.as_ref()).is_some_and(|(step, _)| *step == self.step);
        let is_held = self.right(right.id) == Some(right.after_step());
        change.status == Status::Running && is_next && is_held
    }

    /// Returns whether a person is to be notified: of a delay once, and of the end, unless it is that of a job which
    /// was parked before and could not be tried since.
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

    /// Returns whether it may be [forgotten](super::Store::forget).
    pub fn is_over(&self, ended_before: Duration, now: i64) -> bool {
        let is_over = matches!(self.status, Status::Done | Status::Cancelled);
        is_over && self.has_ended_before(ended_before, now)
    }

    fn has_ended_before(&self, before: Duration, now: i64) -> bool {
        self.ended.is_some_and(|ended| since(now, ended) >= before)
    }
}
