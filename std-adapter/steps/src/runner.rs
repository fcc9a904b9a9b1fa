//! Runs the steps of a job that was claimed, as far as it goes.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_resource::Outcome;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};

use super::caught::{answer, words_of};
use super::ending::Unknown;
use super::engine::Inner;
use super::error::Kind;
use super::job_observer::{Asked, JobObserver, Tried, text};
use super::lane::failed;
use super::room::Start;
use super::store::{Change, Store};
use super::under_way::until_given_up;
use super::workflow::{AnyWorkflow, Came, StepContext};
use super::{Claimed, HeldUp, Job, Right, Status, StepError};

/// How often a probe reports that it is still under way: more often than any probe lease runs out.
const PROBES: Duration = Duration::from_secs(1);

pub(super) const LOST: &str = "the worker that ran it was lost";

/// Ticks after each interval, not at once.
fn interval(time: Duration) -> Interval {
    let mut interval = interval_at(Instant::now() + time, time);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// What became of a job for now.
pub(super) enum Now {
    Done(String),
    /// It goes on later, or elsewhere.
    Later,
    Ended(String),
}

/// How a step ended.
pub(super) enum Ended {
    Came(Came),
    /// Another worker has the right, or will have it.
    Lost,
    /// The worker no longer waits for it.
    GivenUp,
}

/// A step in its own task, which ends when this is dropped.
struct Abort<T>(JoinHandle<T>);

impl<T> Drop for Abort<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<D: Store> Inner<D> {
    pub(super) async fn run(
        self: Arc<Self>,
        mut start: Start,
        claimed: Claimed,
        gives_up: watch::Receiver<bool>,
    ) -> Now {
        let Claimed {
            right,
            mut job,
            is_lost,
            fault,
        } = claimed;
        if let Some(fault) = fault {
            return self.park(right, &job, fault).await;
        }
        let workflow = match self.workflow_of(&job) {
            Ok(workflow) => Arc::clone(workflow),
            Err(why) => {
                let what = (Unknown::Step, why);
                return self.unknown(right, &job, is_lost, what).await;
            }
        };
        if is_lost {
            return self.lapsed(&*workflow, right, &job).await;
        }
        loop {
            let step = self.step(&*workflow, Some(right), &job, &mut start, gives_up.clone());
            let came = match step.await {
                Ended::Came(came) => came,
                Ended::Lost => {
                    self.observer.lost(&job);
                    return Now::Later;
                }
                Ended::GivenUp => {
                    let due_in = Duration::ZERO;
                    self.observer.tried(&job, Tried::GivenBack);
                    self.save(right, &job, Change::Back { due_in }).await;
                    return Now::Later;
                }
            };
            let change = match came {
                Came::Unreadable(why) => {
                    let what = (Unknown::State, why);
                    return self.unknown(right, &job, false, what).await;
                }
                Came::Failed(error) => {
                    self.observer.tried(&job, tried(error.kind));
                    start
                        .admitted
                        .report(outcome_of(error.kind), &error.words());
                    return self.fail(&*workflow, right, &job, &error).await;
                }
                Came::Done(state) => {
                    self.observer.tried(&job, Tried::Success);
                    start.admitted.report(Outcome::Success, "");
                    let change = Change::Done {
                        state: state.clone(),
                    };
                    let saved = self.save(right, &job, change).await;
                    return match saved {
                        Some(saved) if saved.is_held => {
                            self.observer.ended(&job, Status::Done, "");
                            Now::Done(state)
                        }
                        _ => Now::Later,
                    };
                }
                Came::Next { step, lane, state } => {
                    self.observer.tried(&job, Tried::Success);
                    start.admitted.report(Outcome::Success, "");
                    step.clone_into(&mut job.step);
                    lane.clone_into(&mut job.lane);
                    job.failures = 0;
                    job.held_up = HeldUp::default();
                    job.state.clone_from(&state);
                    (step, lane, state)
                }
            };
            let (step, lane, state) = change;
            // Always found, as all lanes of all steps are checked.
            let Some(room) = self.lanes.get(lane) else {
                return Now::Later;
            };
            let next = room.start_after(start);
            let change = Change::Next {
                step: step.to_owned(),
                lane: lane.to_owned(),
                state,
                keep: next.is_ok().then_some(self.times.lease),
            };
            let saved = self.save(right, &job, change).await;
            match next {
                Ok(next) if saved.is_some_and(|saved| saved.is_held) => start = next,
                _ => {
                    room.came.notify_one();
                    return Now::Later;
                }
            }
        }
    }

    /// The workflow of its kind, if that has its step.
    fn workflow_of(&self, job: &Job) -> Result<&Arc<dyn AnyWorkflow>, String> {
        let Some(workflow) = self.workflows.get(&*job.kind) else {
            return Err(format!("no workflow {:?} is known here", job.kind));
        };
        if workflow.steps().iter().any(|(step, _)| *step == job.step) {
            Ok(workflow)
        } else {
            Err(format!("{:?} has no step {:?} here", job.kind, job.step))
        }
    }

    /// It was claimed, and there is no longer room for it. That is no try.
    pub(super) async fn give_back(&self, claimed: Claimed) {
        let Claimed {
            right,
            job,
            is_lost,
            fault,
        } = claimed;
        if let Some(fault) = fault {
            self.park(right, &job, fault).await;
            return;
        }
        match self.workflows.get(&*job.kind) {
            Some(workflow) if is_lost => {
                self.lapsed(&**workflow, right, &job).await;
            }
            _ => {
                let due_in = Duration::ZERO;
                self.save(right, &job, Change::Back { due_in }).await;
                self.wake(&job.lane);
            }
        }
    }

    /// The previous worker let its lease run out.
    async fn lapsed(&self, workflow: &dyn AnyWorkflow, right: Right, job: &Job) -> Now {
        self.observer.tried(job, Tried::Lapsed);
        let lost = StepError::from(LOST);
        self.fail(workflow, right, job, &lost).await
    }

    /// Runs one step, and renews the lease meanwhile, if the job is kept.
    pub(super) async fn step(
        &self,
        workflow: &dyn AnyWorkflow,
        right: Option<Right>,
        job: &Job,
        start: &mut Start,
        mut gives_up: watch::Receiver<bool>,
    ) -> Ended {
        let context = StepContext {
            id: right.map(|right| right.id),
            key: job.key.clone(),
            failures: job.failures,
        };
        let step = workflow.run(&job.step, &job.state, context);
        start.admitted.begin();
        let mut step = Abort(tokio::spawn(timeout(self.times.limit, step)));
        let mut lost = pin!(self.until_lost(right));
        let mut probes = interval(PROBES);
        let came = loop {
            tokio::select! {
                came = &mut step.0 => break came,
                _ = probes.tick() => start.admitted.renew_probe(),
                () = &mut lost => return Ended::Lost,
                () = until_given_up(&mut gives_up) => return Ended::GivenUp,
            }
        };
        let failed = match came {
            Ok(Ok(Came::Failed(error))) if start.admitted.may_be_why(&error) => {
                self.observer.in_its_own_way(job);
                // Nothing was done, and the call is the probe now.
                start.admitted.give_back();
                return Box::pin(self.step(workflow, right, job, start, gives_up)).await;
            }
            Ok(Ok(came)) => return Ended::Came(came),
            Ok(Err(_)) => format!("not done within {:?}", self.times.limit),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => format!("panicked: {}", words_of(&*panic)),
                // The runtime is being shut down.
                Err(_) => return Ended::Lost,
            },
        };
        Ended::Came(Came::Failed(StepError::from(failed)))
    }

    /// Renews the lease until another worker has the right; forever, if the job is not kept.
    async fn until_lost(&self, right: Option<Right>) {
        let Some(right) = right else {
            return std::future::pending().await;
        };
        let mut renews = interval(self.times.lease / 3);
        loop {
            renews.tick().await;
            if self.is_lost(right).await {
                return;
            }
        }
    }

    /// Renews the lease. Without an answer it may still hold, and a save without the right changes nothing.
    async fn is_lost(&self, right: Right) -> bool {
        let rights = [right];
        let renewed = answer(|| self.store.renew(&rights, self.times.lease));
        match timeout(self.times.lease / 3, renewed).await {
            Ok(Ok(held)) => return held == [false],
            Ok(Err(error)) => self.observer.store_failed(Asked::Renew, &text(error)),
            Err(_) => self
                .observer
                .store_failed(Asked::Renew, "no answer within a third of the lease"),
        }
        false
    }
}

pub(super) const fn tried(kind: Kind) -> Tried {
    match kind {
        Kind::Failed(_) | Kind::NotBefore(_) | Kind::Final => Tried::Failure,
        Kind::Rejected(_) => Tried::Rejected,
    }
}

pub(super) fn outcome_of(kind: Kind) -> Outcome {
    match kind {
        Kind::Failed(retry_after) => failed(retry_after),
        Kind::NotBefore(_) => failed(None),
        // Not the resource's fault, or nothing was done.
        Kind::Final | Kind::Rejected(_) => Outcome::Ignored,
    }
}
