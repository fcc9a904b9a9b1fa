//! Jobs that make no progress for now, or never will.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::engine::Inner;
use super::error::Kind;
use super::job_observer::{Tried, text};
use super::runner::LOST;
use super::schedule::LONGEST;
use super::store::{Change, Saved, Store};
use super::workflow::Plan;
use super::{HeldUp, Job, Ran, Right, Schedule, Status, StepError, Stuck, kept};

/// The longest pause of a job that breakers reject, before jitter: it may go on waiting this long after they admit.
const REJECTED: Duration = Duration::from_secs(5 * 60);

/// The longest pause of a job that this worker does not know, before jitter: others may know it.
const NOT_KNOWN: Duration = Duration::from_secs(60);

/// How long a job may be unknown to all workers that claim it before it is parked: longer than a rolling deploy takes.
const UNKNOWN: Duration = Duration::from_secs(60 * 60);

/// What a worker does not know of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Its kind or its step.
    Step,
    /// What its state means.
    State,
}

impl<D: Store> Inner<D> {
    /// Other workers may know its kind, its step or its state, such as those of a newer release: it is given back for
    /// them, and parked only after a while.
    pub(super) async fn unknown(
        &self,
        right: Right,
        job: &Job,
        is_lost: bool,
        (what, why): (Unknown, String),
    ) -> Ran<String> {
        let HeldUp { time, unknown, .. } = job.held_up;
        // If it was parked before, a worker that knows its step has made it wait again since.
        let is_over = match what {
            Unknown::Step => unknown >= UNKNOWN && time >= UNKNOWN,
            Unknown::State => unknown >= UNKNOWN,
        };
        if is_over {
            return self.park(right, job, why).await;
        }
        let due_in = Schedule::new().held_up(self.times.poll, job.held_up.times, NOT_KNOWN);
        let change = if is_lost {
            // A worker that knows it will end it if those were too many.
            self.observe(|it| it.tried(job, Tried::Lapsed));
            Change::again(due_in, LOST.to_owned())
        } else {
            Change::held_up(due_in, false, why)
        };
        self.end(right, job, change).await
    }

    pub(super) async fn park(&self, right: Right, job: &Job, why: String) -> Ran<String> {
        let change = Change::parked(kept(&why)).tell(true);
        self.end(right, job, change).await
    }

    pub(super) async fn fail(
        &self,
        plan: &Plan,
        right: Right,
        job: &Job,
        failed: &StepError,
    ) -> Ran<String> {
        let (error, tell) = (failed.words(), plan.schedule.tells(job.age));
        let not_before = match failed.kind {
            Kind::Rejected(rejected) => {
                let retry_in = rejected.retry_in();
                let due_in = until_admitted(&plan.schedule, job, retry_in, self.times.poll);
                let change = Change::held_up(due_in, true, error).tell(tell);
                return self.end(right, job, change).await;
            }
            Kind::Final => None,
            Kind::Failed(not_before) => Some(not_before.unwrap_or_default()),
            Kind::NotBefore(not_before) => Some(not_before),
        };
        let pause = plan.schedule.draw(job.failures.saturating_add(1));
        let change = match not_before.zip(pause) {
            Some((not_before, pause)) => {
                Change::again(pause.max(not_before.min(LONGEST)), error).tell(tell)
            }
            None => Change::dead(error).tell(true),
        };
        self.end(right, job, change).await
    }

    /// Saves that it makes no progress, and tells a person if that is wanted.
    pub(super) async fn end(&self, right: Right, job: &Job, mut change: Change) -> Ran<String> {
        // A worker that tells no person leaves that to one that does.
        change.tell &= self.notifier.is_some();
        let (status, error) = (change.status, change.error.clone().unwrap_or_default());
        let saved = self.save(right, job, change).await;
        if saved.is_held && status != Status::Waiting {
            self.observe(|it| it.ended(job, status, &error));
        }
        if saved.tell {
            let (job, error) = (job.clone(), error.clone());
            self.tell(Stuck { job, status, error });
        }
        if status == Status::Waiting || !saved.is_held {
            self.wake(&job.lane);
            return Ran::Later(job.id);
        }
        let id = Some(job.id);
        Ran::Ended { id, error }
    }

    /// Saves the result of running a job; if the right to it is gone, nothing changes.
    pub(super) async fn save(&self, right: Right, job: &Job, change: Change) -> Saved {
        let saved = self.saver.save(right, change).await.unwrap_or_default();
        if !saved.is_held {
            self.observe(|it| it.lost(job));
        }
        saved
    }

    /// A job of this lane is now due at another time.
    pub(super) fn wake(&self, lane: &str) {
        if let Some(room) = self.lanes.get(lane) {
            room.came.notify_one();
        }
    }

    /// At most three times, and concurrently with everything else.
    fn tell(&self, stuck: Stuck) {
        let Some(notifier) = self.notifier.clone() else {
            return;
        };
        let (store, telling) = (Arc::clone(&self.store), self.telling.begin());
        tokio::spawn(async move {
            let mut told = notifier.notify(&stuck).await;
            for seconds in [1, 10] {
                if told.is_err() {
                    sleep(Duration::from_secs(seconds)).await;
                    told = notifier.notify(&stuck).await;
                }
            }
            let error = told.err().map(text);
            let observers = &store.observers;
            observers.each(|it| it.told(&stuck, error.as_deref()));
            drop(telling);
        });
    }
}

/// At first at the time its breaker said; if it is rejected then, too, later and later.
fn until_admitted(
    schedule: &Schedule,
    job: &Job,
    retry_in: Option<Duration>,
    poll: Duration,
) -> Duration {
    let retry_in = retry_in.map(|time| time.min(LONGEST));
    match (job.held_up.times, retry_in) {
        (0, Some(retry_in)) => retry_in,
        (times, _) => schedule
            .held_up(poll, times, REJECTED)
            .max(retry_in.unwrap_or_default()),
    }
}
