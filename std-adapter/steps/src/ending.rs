//! Jobs that make no progress for now, or never will.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::engine::Inner;
use super::error::Kind;
use super::job_observer::{JobObserver, Tried, text};
use super::runner::{LOST, Now};
use super::schedule::LONGEST;
use super::store::{Change, Saved, Store};
use super::workflow::AnyWorkflow;
use super::{HeldUp, Job, Right, Schedule, Status, StepError, Stuck, kept};

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
    ) -> Now {
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
            self.observer.tried(job, Tried::Lapsed);
            let error = LOST.to_owned();
            Change::Again {
                due_in,
                error,
                tell: false,
            }
        } else {
            Change::HeldUp {
                due_in,
                is_known: false,
                error: why.clone(),
                tell: false,
            }
        };
        self.end(right, job, Status::Waiting, change, why).await
    }

    pub(super) async fn park(&self, right: Right, job: &Job, why: String) -> Now {
        let why = kept(&why);
        let change = Change::End {
            status: Status::Parked,
            error: why.clone(),
            is_try: false,
            tell: true,
        };
        self.end(right, job, Status::Parked, change, why).await
    }

    pub(super) async fn fail(
        &self,
        workflow: &dyn AnyWorkflow,
        right: Right,
        job: &Job,
        error: &StepError,
    ) -> Now {
        let words = error.words();
        let schedule = workflow.schedule();
        let pause = match error.kind {
            Kind::Rejected(retry_in) => {
                let change = Change::HeldUp {
                    due_in: rejected(schedule, job, retry_in, self.times.poll),
                    is_known: true,
                    error: words.clone(),
                    tell: schedule.tells(job.age),
                };
                return self.end(right, job, Status::Waiting, change, words).await;
            }
            Kind::Final => None,
            Kind::Failed(not_before) => due_in(schedule, job, not_before),
            Kind::NotBefore(not_before) => due_in(schedule, job, Some(not_before)),
        };
        if let Some(due_in) = pause {
            let change = Change::Again {
                due_in,
                error: words.clone(),
                tell: schedule.tells(job.age),
            };
            return self.end(right, job, Status::Waiting, change, words).await;
        }
        let change = Change::End {
            status: Status::Dead,
            error: words.clone(),
            is_try: true,
            tell: true,
        };
        self.end(right, job, Status::Dead, change, words).await
    }

    /// Saves that it makes no progress, and tells a person if wanted.
    async fn end(
        &self,
        right: Right,
        job: &Job,
        status: Status,
        change: Change,
        error: String,
    ) -> Now {
        match self.save(right, job, change).await {
            Some(saved) if saved.is_held => {
                if status != Status::Waiting {
                    self.observer.ended(job, status, &error);
                }
                if saved.tell {
                    self.tell(Stuck {
                        job: job.clone(),
                        status,
                        error: error.clone(),
                    });
                }
                if status == Status::Waiting {
                    self.wake(&job.lane);
                    Now::Later
                } else {
                    Now::Ended(error)
                }
            }
            _ => Now::Later,
        }
    }

    /// Saves the result of running a job; if the right to it is gone, nothing changes.
    pub(super) async fn save(&self, right: Right, job: &Job, change: Change) -> Option<Saved> {
        let saved = self.saver.save(right, change).await;
        if !saved.is_some_and(|saved| saved.is_held) {
            self.observer.lost(job);
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
        let observer = Arc::clone(&self.observer);
        let telling = self.telling.begin();
        tokio::spawn(async move {
            let _telling = telling;
            for pause in [Some(1), Some(10), None] {
                let Err(error) = notifier.notify(&stuck).await else {
                    return observer.told(&stuck, None);
                };
                match pause {
                    Some(seconds) => sleep(Duration::from_secs(seconds)).await,
                    None => observer.told(&stuck, Some(&text(&error))),
                }
            }
        });
    }
}

/// At first at the time its breaker said; if it is rejected then, too, later and later.
fn rejected(
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

/// `None` if that was the last try.
fn due_in(schedule: &Schedule, job: &Job, not_before: Option<Duration>) -> Option<Duration> {
    let pause = schedule.draw(job.failures.saturating_add(1))?;
    Some(pause.max(not_before.unwrap_or(Duration::ZERO).min(LONGEST)))
}
