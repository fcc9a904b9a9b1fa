//! Runs the steps of a job that was claimed, as far as it goes.

use std::pin::pin;
use std::time::Duration;

use atomic_breaker_server::{Failure, Outcome};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};

use super::caught::words_of;
use super::ending::Unknown;
use super::engine::Inner;
use super::error::Kind;
use super::job::unreadable;
use super::job_observer::{Asked, Tried};
use super::room::{Place, Room, Start};
use super::store::{Change, Store};
use super::under_way::Part;
use super::workflow::{Plan, Step, StepContext};
use super::{Claimed, HeldUp, Job, Ran, Right, Status, StepError};

/// How often a probe reports that it is still under way: more often than any probe lease runs out.
const PROBES: Duration = Duration::from_secs(1);

pub(super) const LOST: &str = "the worker that ran it was lost";

/// Ticks after each interval, not at once.
fn interval(time: Duration) -> Interval {
    let mut interval = interval_at(Instant::now() + time, time);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// How a step ended.
pub(super) enum Ended {
    /// It succeeded, with this state.
    Done(String),
    Failed(StepError),
    /// No worker can run it as it is.
    Unreadable(String),
    /// Another worker has the right, or will have it.
    Lost,
    /// The worker no longer waits for it.
    GivenUp,
}

impl<D: Store> Inner<D> {
    /// The right to run a job that is claimed, in this place.
    pub(super) async fn begin(&self, room: &Room, place: Place, part: &Part) -> Option<Start> {
        let begin = room.begin(place);
        room.begin_soon(begin, self.times.patience(), part).await
    }

    /// Without a start there is no longer room for it.
    pub(super) async fn run(
        &self,
        start: Option<Start>,
        claimed: Claimed,
        part: &Part,
    ) -> Ran<String> {
        let (right, mut job) = (claimed.right, claimed.job);
        if let Some(fault) = claimed.fault {
            return self.park(right, &job, fault).await;
        }
        let (plan, mut at) = match self.step_of(&job) {
            Ok(found) => found,
            Err(why) => {
                let what = (Unknown::Step, why);
                return self.unknown(right, &job, claimed.is_lost, what).await;
            }
        };
        if claimed.is_lost {
            self.observe(|it| it.tried(&job, Tried::Lapsed));
            return self.fail(plan, right, &job, &LOST.into()).await;
        }
        let Some(mut start) = start else {
            return self.give_back(right, &job).await;
        };
        loop {
            let step = &plan.steps[at];
            let state = match self.step(step, Some(right), &job, &mut start, part).await {
                Ended::Done(state) => state,
                Ended::Failed(error) => return self.fail(plan, right, &job, &error).await,
                Ended::Unreadable(why) => {
                    let what = (Unknown::State, why);
                    return self.unknown(right, &job, false, what).await;
                }
                Ended::Lost => return Ran::Later(job.id),
                Ended::GivenUp => return self.give_back(right, &job).await,
            };
            at += 1;
            let Some(next) = plan.steps.get(at) else {
                return self.done(right, &job, state).await;
            };
            next.name.clone_into(&mut job.step);
            next.lane.clone_into(&mut job.lane);
            job.failures = 0;
            job.held_up = HeldUp::default();
            job.state.clone_from(&state);
            // Always found, as all lanes of all steps are checked.
            let Some(room) = self.lanes.get(next.lane) else {
                return Ran::Later(job.id);
            };
            let place = room.place_after(start).filter(|_| room.would_admit());
            let keep = place.is_some().then_some(self.times.lease);
            let change = Change::next(next.name, next.lane, state, keep);
            let saved = self.save(right, &job, change).await;
            let Some(place) = place.filter(|_| saved.is_held) else {
                room.came.notify_one();
                return Ran::Later(job.id);
            };
            match self.begin(room, place, part).await {
                Some(next) => start = next,
                None => return self.give_back(right, &job).await,
            }
        }
    }

    /// The step that is next, and the workflow it belongs to.
    pub(super) fn step_of(&self, job: &Job) -> Result<(&Plan, usize), String> {
        let Some(plan) = self.workflows.get(&*job.kind) else {
            return Err(format!("no workflow {:?} is known here", job.kind));
        };
        let at = plan.steps.iter().position(|step| step.name == job.step);
        at.map(|at| (plan, at))
            .ok_or_else(|| format!("{:?} has no step {:?} here", job.kind, job.step))
    }

    /// That is no try.
    async fn give_back(&self, right: Right, job: &Job) -> Ran<String> {
        let due_in = Duration::ZERO;
        self.end(right, job, Change::back(due_in)).await
    }

    async fn done(&self, right: Right, job: &Job, state: String) -> Ran<String> {
        let change = Change::done(state.clone());
        if !self.save(right, job, change).await.is_held {
            return Ran::Later(job.id);
        }
        self.observe(|it| it.ended(job, Status::Done, ""));
        Ran::Done(state)
    }

    /// Runs one step, and tells its breaker and the observers how it ended.
    pub(super) async fn step(
        &self,
        step: &Step,
        right: Option<Right>,
        job: &Job,
        start: &mut Start,
        part: &Part,
    ) -> Ended {
        let mut ended = self.ended(step, right, job, start, part).await;
        if let Ended::Failed(error) = &ended {
            if start.admitted.may_be_why(error) {
                self.observe(|it| it.in_its_own_way(job));
                // Nothing was done, and the call is the probe now.
                start.admitted.give_back();
                ended = self.ended(step, right, job, start, part).await;
            }
        }
        let (how, outcome) = match &ended {
            Ended::Done(_) => (Tried::Success, Outcome::Success),
            Ended::Failed(error) => match error.kind {
                Kind::Failed(Some(time)) => (Tried::Failure, Failure::retry_after(time).into()),
                Kind::Failed(None) | Kind::NotBefore(_) => (Tried::Failure, Failure::new().into()),
                // Not the resource's fault, or nothing was done.
                Kind::Final => (Tried::Failure, Outcome::Ignored),
                Kind::Rejected(_) => (Tried::Rejected, Outcome::Ignored),
            },
            Ended::GivenUp => (Tried::GivenBack, Outcome::Ignored),
            Ended::Unreadable(_) => return ended,
            Ended::Lost => {
                self.observe(|it| it.lost(job));
                return ended;
            }
        };
        self.observe(|it| it.tried(job, how));
        let why = match &ended {
            Ended::Failed(error) => error.words(),
            _ => String::new(),
        };
        start.admitted.report(outcome, &why);
        ended
    }

    /// Renews the lease meanwhile, if the job is kept.
    async fn ended(
        &self,
        step: &Step,
        right: Option<Right>,
        job: &Job,
        start: &mut Start,
        part: &Part,
    ) -> Ended {
        let context = StepContext {
            id: right.map(|right| right.id),
            key: job.key.clone(),
            failures: job.failures,
        };
        let step = match (step.run)(&job.state, context) {
            Ok(step) => step,
            Err(error) => {
                let why = format!("{:?} cannot go on: {}", job.kind, unreadable(&error));
                return Ended::Unreadable(why);
            }
        };
        start.admitted.begin();
        let limit = self.times.limit;
        // In a task of its own, which is aborted when this ends.
        let mut task = JoinSet::new();
        task.spawn(timeout(limit, step));
        let mut lost = pin!(self.until_lost(right));
        let mut probes = interval(PROBES);
        let came = loop {
            tokio::select! {
                Some(came) = task.join_next() => break came,
                _ = probes.tick() => start.admitted.renew_probe(),
                () = &mut lost => return Ended::Lost,
                () = part.given_up() => return Ended::GivenUp,
            }
        };
        match came {
            Ok(Ok(Ok(state))) => Ended::Done(state),
            Ok(Ok(Err(error))) => Ended::Failed(error),
            Ok(Err(_)) => Ended::Failed(format!("not done within {limit:?}").into()),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => Ended::Failed(format!("panicked: {}", words_of(&*panic)).into()),
                // The runtime is being shut down.
                Err(_) => Ended::Lost,
            },
        }
    }

    /// Renews the lease until another worker has the right; forever, if the job is not kept. Without an answer it may
    /// still hold, and a save without the right changes nothing.
    async fn until_lost(&self, right: Option<Right>) {
        let Some(right) = right else {
            return std::future::pending().await;
        };
        let lease = self.times.lease;
        let mut renews = interval(lease / 3);
        loop {
            renews.tick().await;
            let store = &self.store;
            let held = store.ask_within(lease / 3, Asked::Renew, |it| it.renew(right, lease));
            if held.await.is_ok_and(|is_held| !is_held) {
                return;
            }
        }
    }
}
