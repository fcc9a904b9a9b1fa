// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a step's try, and the fate of its job.

use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_server::{Outcome, Scope};
use tokio::time::sleep;

use super::error::Kind;
use super::inner::Inner;
use super::schedule::LONGEST;
use super::workflow::Plan;
use super::{
    Change, Claimed, HeldUp, Job, Ran, Schedule, Status, StepError, Store, Stuck, TryResult,
    redacted,
};

/// The longest pause of a job that breakers reject, before jitter: it may go on waiting this long after they admit.
const REJECTED: Duration = Duration::from_secs(5 * 60);

/// The longest pause of a job that this worker does not know, before jitter: others may know it.
const NOT_KNOWN: Duration = Duration::from_secs(60);

/// The time for which a job may be unknown to all workers that claim it before it is parked: longer than a rolling
/// deploy takes.
const UNKNOWN: Duration = Duration::from_secs(60 * 60);

const LOST: &str = "the worker that ran it was lost";

/// The end of a step's try.
pub(super) enum StepEnd {
    /// The step succeeded, with this state.
    Done(String),
    Failed(StepError),
    /// No worker can run it as it is.
    Unreadable(String),
    /// Another worker has the right, or will have it.
    Lost,
    /// The worker no longer waits for it.
    GivenUp,
}

impl StepEnd {
    /// The scope of the outcome if it failed.
    pub(super) const fn scope(&self) -> Scope {
        match self {
            Self::Failed(error) => error.scope,
            _ => Scope::Call,
        }
    }

    /// The result for observers, and for the breaker of the lane, within its [scope](Self::scope); `None` if no one knows it.
    pub(super) fn result(&self) -> Option<(TryResult, Outcome)> {
        Some(match self {
            Self::Done(_) => (TryResult::Success, Outcome::Success),
            Self::Failed(error) => {
                let result = match error.kind {
                    Kind::Failed(_) | Kind::Final => TryResult::Failure,
                    Kind::Rejected(_) => TryResult::Rejected,
                };
                (result, error.outcome)
            }
            Self::GivenUp => (TryResult::GivenBack, Outcome::Ignored),
            Self::Unreadable(_) | Self::Lost => return None,
        })
    }
}

/// The part of a job that a worker does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Its kind or its step.
    Step,
    /// The meaning of its state.
    State,
}

impl<D: Store> Inner<D> {
    /// The last step is done.
    pub(super) async fn done(&self, claimed: &Claimed, state: String) -> Ran<String> {
        let change = Change::done(state.clone());
        if !self.save(claimed, change).await.is_held {
            return Ran::later(&claimed.job);
        }
        self.observe(|it| it.ended(&claimed.job, Status::Done, ""));
        Ran::Done(state)
    }

    /// Returns the job unrun; not counted as a try.
    pub(super) async fn give_back(&self, claimed: &Claimed) -> Ran<String> {
        self.end(claimed, Change::back(Duration::ZERO)).await
    }

    /// The worker that had the job before did not save: that was a try.
    pub(super) async fn lapsed(&self, plan: &Plan, claimed: &Claimed) -> Ran<String> {
        self.observe(|it| it.tried(&claimed.job, TryResult::Lapsed));
        self.fail(plan, claimed, &LOST.into()).await
    }

    /// Other workers may know its kind, its step or its state, such as those of a newer release: the job is given back
    /// for them, and parked only after a while.
    pub(super) async fn unknown(
        &self,
        claimed: &Claimed,
        what: Unknown,
        why: String,
    ) -> Ran<String> {
        let job = &claimed.job;
        let HeldUp { time, unknown, .. } = job.held_up;
        // If it was parked before, a worker that knows its step has made it wait again since.
        let is_over = match what {
            Unknown::Step => unknown >= UNKNOWN && time >= UNKNOWN,
            Unknown::State => unknown >= UNKNOWN,
        };
        if is_over {
            return self.park(claimed, &why).await;
        }
        let due_in = Schedule::new().held_up(self.times.poll, job.held_up.times, NOT_KNOWN);
        let change = if claimed.is_lost {
            // A worker that knows it will end it if those were too many.
            self.observe(|it| it.tried(job, TryResult::Lapsed));
            Change::again(due_in, LOST.to_owned())
        } else {
            Change::held_up(due_in, false, why)
        };
        self.end(claimed, change).await
    }

    /// No worker can run the job as it is.
    pub(super) async fn park(&self, claimed: &Claimed, why: &str) -> Ran<String> {
        let change = Change::parked(redacted(why)).tell(true);
        self.end(claimed, change).await
    }

    /// A step did not succeed.
    pub(super) async fn fail(
        &self,
        plan: &Plan,
        claimed: &Claimed,
        failed: &StepError,
    ) -> Ran<String> {
        let job = &claimed.job;
        let (error, tell) = (failed.words(), plan.schedule.tells(job.age));
        let not_before = match failed.kind {
            Kind::Rejected(rejected) => {
                let retry_in = rejected.retry_in();
                let due_in = until_admitted(&plan.schedule, job, retry_in, self.times.poll);
                let change = Change::held_up(due_in, true, error).tell(tell);
                return self.end(claimed, change).await;
            }
            Kind::Final => None,
            Kind::Failed(not_before) => Some(not_before.unwrap_or_default()),
        };
        let pause = plan.schedule.draw(job.failures.saturating_add(1));
        let change = match not_before.zip(pause) {
            Some((not_before, pause)) => {
                Change::again(pause.max(not_before.min(LONGEST)), error).tell(tell)
            }
            None => Change::dead(error).tell(true),
        };
        self.end(claimed, change).await
    }

    /// Saves that the job makes no progress, and tells a person if that is wanted.
    async fn end(&self, claimed: &Claimed, mut change: Change) -> Ran<String> {
        let job = &claimed.job;
        // A worker that tells no person leaves that to one that does.
        change.tell &= self.notifier.is_some();
        let (status, error) = (change.status, change.error.clone().unwrap_or_default());
        let saved = self.save(claimed, change).await;
        if saved.is_held && status != Status::Waiting {
            self.observe(|it| it.ended(job, status, &error));
        }
        if saved.tell {
            let (job, error) = (job.clone(), error.clone());
            self.tell(Stuck { job, status, error });
        }
        if status == Status::Waiting || !saved.is_held {
            self.wake(&job.lane);
            return Ran::later(job);
        }
        let id = Some(job.id);
        Ran::Ended { id, error }
    }

    /// At most three times, and concurrently with everything else.
    fn tell(&self, stuck: Stuck) {
        let Some(notifier) = self.notifier.clone() else {
            return;
        };
        let database = Arc::clone(&self.database);
        drop(self.telling.begin().spawn(async move |_| {
            let mut told = notifier.notify(&stuck).await;
            for seconds in [1, 10] {
                if told.is_err() {
                    sleep(Duration::from_secs(seconds)).await;
                    told = notifier.notify(&stuck).await;
                }
            }
            let error = told.err().map(|error| redacted(&error.to_string()));
            let observers = &database.observers;
            observers.each(|it| it.told(&stuck, error.as_deref()));
        }));
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
