//! What the store keeps, and what each change does to it.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use super::super::store::{Change, Claim, Put, Save, Saved, StoreError};
use super::super::{Claimed, HeldUp, Job, JobId, NewJob, Right, Status, kept};

/// As far as databases can count.
const LONGEST: Duration = Duration::from_secs(100_000 * 365 * 24 * 60 * 60);

pub(super) struct Rows {
    pub(super) began: Instant,
    pub(super) last: i64,
    pub(super) by_id: BTreeMap<i64, Row>,
    pub(super) by_key: HashMap<(String, String), i64>,
}

pub(super) struct Row {
    pub(super) job: NewJob,
    pub(super) status: Status,
    pub(super) failures: u32,
    pub(super) fence: i64,
    /// For a job that runs, when its lease is over.
    pub(super) due: Duration,
    /// When it was first to be due.
    pub(super) first_due: Duration,
    pub(super) ended: Duration,
    /// Its lease has run out, and none of its steps was done since.
    pub(super) is_suspect: bool,
    /// It was claimed alone.
    pub(super) is_alone: bool,
    pub(super) is_told: bool,
    pub(super) held_up: Held,
    pub(super) history: Vec<(String, u32, String, Duration)>,
}

/// It was claimed, and given back without a try.
#[derive(Clone, Copy, Default)]
pub(super) struct Held {
    pub(super) times: u32,
    pub(super) since: Option<Duration>,
    unknown_since: Option<Duration>,
}

impl Rows {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            last: 0,
            by_id: BTreeMap::new(),
            by_key: HashMap::new(),
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn put(&mut self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        let now = self.now();
        let delay = if lease.is_some() {
            Duration::ZERO
        } else {
            job.delay
        };
        if delay > LONGEST {
            let words = format!("{delay:?} is longer than 100,000 years: take a shorter time");
            return Err(StoreError::new(words));
        }
        let key = (job.kind.clone(), job.key.clone());
        if let Some(id) = self.by_key.get(&key) {
            return Ok(Put::Exists(self.by_id[id].job(*id, now)));
        }
        self.last += 1;
        self.by_key.insert(key, self.last);
        let mut row = Row {
            job: job.clone(),
            status: Status::Waiting,
            failures: 0,
            fence: 0,
            due: now + delay,
            first_due: now + delay,
            ended: now,
            is_suspect: false,
            is_alone: false,
            is_told: false,
            held_up: Held::default(),
            history: Vec::new(),
        };
        let right = lease.map(|lease| row.claim(self.last, now, lease, true).right);
        self.by_id.insert(self.last, row);
        Ok(Put::New(JobId::new(self.last), right))
    }

    pub(super) fn claim(&mut self, lane: &str, most: u32, lease: Duration) -> Claim {
        let now = self.now();
        let mut due: Vec<_> = self
            .by_id
            .iter()
            .filter(|(_, row)| row.job.lane == lane && row.may_be_claimed(now))
            .map(|(id, row)| {
                (
                    row.due,
                    *id,
                    row.is_suspect || row.status == Status::Running,
                )
            })
            .collect();
        due.sort_unstable();
        let alone = due.first().is_some_and(|(.., is_suspect)| *is_suspect);
        let among = due.iter().take_while(|(.., is_suspect)| !is_suspect);
        let count = if alone { 1 } else { among.count() };
        due.truncate(count.min(most as usize));
        let is_alone = due.len() == 1;
        let jobs: Vec<_> = due
            .into_iter()
            .filter_map(|(_, id, _)| {
                let row = self.by_id.get_mut(&id)?;
                Some(row.claim(id, now, lease, is_alone))
            })
            .collect();
        let next_due = if jobs.len() < most as usize {
            self.next_due(lane, now)
        } else {
            None
        };
        Claim { jobs, next_due }
    }

    fn next_due(&self, lane: &str, now: Duration) -> Option<Duration> {
        let rows = self.by_id.values().filter(|row| row.job.lane == lane);
        let live = rows.filter(|row| !row.status.is_final());
        let next = live.map(|row| row.due).min();
        next.map(|due| due.saturating_sub(now))
    }

    pub(super) fn held(&mut self, right: Right) -> Option<&mut Row> {
        let row = self.by_id.get_mut(&right.id.get())?;
        (row.status == Status::Running && row.fence == right.fence).then_some(row)
    }

    pub(super) fn save(&mut self, save: &Save) -> Saved {
        let now = self.now();
        let Some(row) = self.held(save.right) else {
            return Saved::NOT_HELD;
        };
        let mut tell = false;
        let held_up = std::mem::take(&mut row.held_up);
        match &save.change {
            Change::Next {
                step,
                lane,
                state,
                keep,
            } => {
                row.job.step.clone_from(step);
                row.job.lane.clone_from(lane);
                row.job.state.clone_from(state);
                row.failures = 0;
                row.is_suspect = false;
                row.due = now + keep.unwrap_or(Duration::ZERO);
                if keep.is_none() {
                    row.status = Status::Waiting;
                }
            }
            Change::Done { state } => {
                row.job.state.clone_from(state);
                row.end(Status::Done, now);
            }
            Change::Again {
                due_in,
                error,
                tell: wants,
            } => {
                row.failures += 1;
                row.note(error, row.failures, now);
                row.status = Status::Waiting;
                row.due = now + *due_in;
                tell = *wants;
            }
            Change::Back { due_in } => {
                row.status = Status::Waiting;
                row.due = now + *due_in;
                row.held_up = held_up;
            }
            Change::HeldUp {
                due_in,
                is_known,
                error,
                tell: wants,
            } => {
                row.status = Status::Waiting;
                row.due = now + *due_in;
                row.held_up = held_up.again(*is_known, now);
                tell = *wants;
                if tell && !row.is_told {
                    row.note(error, 0, now);
                }
            }
            Change::End {
                status,
                error,
                is_try,
                tell: wants,
            } => {
                row.failures += u32::from(*is_try);
                let failures = if *is_try { row.failures } else { 0 };
                if *status != Status::Parked || !row.has(error, failures) {
                    row.note(error, failures, now);
                }
                row.end(*status, now);
                if *status == Status::Parked {
                    row.held_up = held_up;
                }
                tell = *wants;
            }
        }
        tell &= !row.is_told;
        row.is_told |= tell;
        Saved {
            is_held: true,
            tell,
        }
    }
}

impl Row {
    pub(super) fn job(&self, id: i64, now: Duration) -> Job {
        let due = self.due.as_millis() as i64 - now.as_millis() as i64;
        Job {
            id: JobId::new(id),
            kind: self.job.kind.clone(),
            key: self.job.key.clone(),
            step: self.job.step.clone(),
            lane: self.job.lane.clone(),
            state: self.job.state.clone(),
            status: self.status,
            failures: self.failures,
            due_in_ms: due,
            age: now.saturating_sub(self.first_due),
            is_told: self.is_told,
            held_up: self.held_up.until(now),
        }
    }

    /// Since when it has been waiting and due.
    pub(super) fn due_since(&self, now: Duration) -> Option<Duration> {
        let due = (self.due <= now).then_some(self.due);
        let is_waiting = self.status == Status::Waiting;
        self.held_up.since.or(due).filter(|_| is_waiting)
    }

    fn may_be_claimed(&self, now: Duration) -> bool {
        !self.status.is_final() && self.due <= now
    }

    fn claim(&mut self, id: i64, now: Duration, lease: Duration, is_alone: bool) -> Claimed {
        let was_running = self.status == Status::Running;
        // Of several that were lost together, it is not known which one caused it.
        let is_lost = was_running && self.is_alone;
        self.is_suspect |= was_running;
        self.is_alone = is_alone;
        self.fence += 1;
        self.status = Status::Running;
        self.due = now + lease;
        Claimed {
            right: Right {
                id: JobId::new(id),
                fence: self.fence,
            },
            job: self.job(id, now),
            is_lost,
            fault: None,
        }
    }

    pub(super) fn end(&mut self, status: Status, now: Duration) {
        self.status = status;
        self.ended = now;
        self.is_suspect = false;
    }

    /// Whether the history of this step has this line.
    fn has(&self, error: &str, failures: u32) -> bool {
        let line = (&self.job.step, &failures, &kept(error));
        let mut history = self.history.iter();
        history.any(|(step, failures, error, _)| (step, failures, error) == line)
    }

    fn note(&mut self, error: &str, failures: u32, now: Duration) {
        let step = self.job.step.clone();
        self.history.push((step, failures, kept(error), now));
    }
}

impl Held {
    fn again(self, is_known: bool, now: Duration) -> Self {
        Self {
            times: self.times.saturating_add(1),
            since: self.since.or(Some(now)),
            unknown_since: (!is_known).then_some(self.unknown_since.unwrap_or(now)),
        }
    }

    /// It waits again; the next worker that claims it may or may not know it.
    pub(super) const fn unparked(self) -> Self {
        Self {
            times: 0,
            since: None,
            ..self
        }
    }

    fn until(self, now: Duration) -> HeldUp {
        let time = |since: Option<Duration>| {
            since.map_or(Duration::ZERO, |since| now.saturating_sub(since))
        };
        HeldUp {
            times: self.times,
            time: time(self.since),
            unknown: time(self.unknown_since),
        }
    }
}
