// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the steps of a job that was claimed, as far as it goes.

use std::pin::pin;
use std::time::Duration;

use atomic_breaker_server::{Outcome, Scope};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};

use super::caught::{caught_now, words_of};
use super::ending::{StepEnd, Unknown};
use super::error::Kind;
use super::in_progress::Batch;
use super::inner::Inner;
use super::room::{Place, Room, Start};
use super::workflow::Step;
use super::{Asked, Change, Claimed, HeldUp, Job, Ran, Right, StepContext, StepError, Store};

/// The interval at which a probe reports that it is still under way: more often than any probe lease runs out.
const PROBES: Duration = Duration::from_secs(1);

/// Ticks after each interval, not at once.
fn interval(time: Duration) -> Interval {
    let mut interval = interval_at(Instant::now() + time, time);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

impl<D: Store> Inner<D> {
    /// Waits for a permit to run a claimed job.
    pub(super) async fn begin(&self, room: &Room, place: Place, batch: &Batch) -> Option<Start> {
        let begin = room.begin(place);
        room.begin_soon(begin, self.times.patience(), batch).await
    }

    /// Runs a job. `start` is the right to do so: `None` if the lane filled up since the claim. It is given back before
    /// the store learns that a job is not run: no permit waits for a store.
    pub(super) async fn run(
        &self,
        mut start: Option<Start>,
        mut claimed: Claimed,
        batch: &Batch,
    ) -> Ran<String> {
        let found = self.step_of(&claimed.job);
        if claimed.fault.is_some() || found.is_err() || claimed.is_lost {
            // The place stays taken until the store has answered.
            if let Some(start) = &mut start {
                start.permit.give_back();
            }
        }
        if let Some(fault) = &claimed.fault {
            return self.park(&claimed, fault).await;
        }
        let (plan, mut at) = match found {
            Ok(found) => found,
            Err(why) => return self.unknown(&claimed, Unknown::Step, why).await,
        };
        if claimed.is_lost {
            return self.lapsed(plan, &claimed).await;
        }
        let Some(mut start) = start else {
            return self.give_back(&claimed).await;
        };
        loop {
            let (step, right) = (&plan.steps[at], Some(claimed.right));
            let ended = self.step(step, right, &claimed.job, &mut start, batch);
            let state = match ended.await {
                StepEnd::Done(state) => state,
                StepEnd::Failed(error) => return self.fail(plan, &claimed, &error).await,
                StepEnd::Unreadable(why) => {
                    start.permit.give_back();
                    return self.unknown(&claimed, Unknown::State, why).await;
                }
                StepEnd::Lost => return Ran::later(&claimed.job),
                StepEnd::GivenUp => return self.give_back(&claimed).await,
            };
            at += 1;
            let Some(next) = plan.steps.get(at) else {
                return self.done(&claimed, state).await;
            };
            let job = &mut claimed.job;
            next.name.clone_into(&mut job.step);
            next.lane.clone_into(&mut job.lane);
            job.failures = 0;
            job.held_up = HeldUp::default();
            job.state.clone_from(&state);
            // Always found, as all lanes of all steps are checked.
            let Some(room) = self.lanes.get(next.lane) else {
                return Ran::later(job);
            };
            let place = room.place_after(start).filter(|_| room.would_admit());
            let keep = place.is_some().then_some(self.times.lease);
            let change = Change::next(next.name, next.lane, state, keep);
            let saved = self.save(&claimed, change).await;
            let Some(place) = place.filter(|_| saved.is_held) else {
                room.came.notify_one();
                return Ran::later(&claimed.job);
            };
            claimed.right = claimed.right.after_step();
            match self.begin(room, place, batch).await {
                Some(next) => start = next,
                None => return self.give_back(&claimed).await,
            }
        }
    }

    /// Tries one step, and tells its breaker and the observers how it ended.
    ///
    /// A lane that should be `guarded_within` is merely `guarded`: while its breaker is half-open, the step itself holds
    /// the only slot for a probe, and the call within it is rejected because of that, each time, so that the breaker
    /// never closes. Nothing was done then: the step gives its permit back and is tried a second time, in which its call
    /// is the probe.
    pub(super) async fn step(
        &self,
        step: &Step,
        right: Option<Right>,
        job: &Job,
        start: &mut Start,
        batch: &Batch,
    ) -> StepEnd {
        let mut ended = self.ended(step, right, job, start, batch).await;
        if let StepEnd::Failed(error) = &ended {
            if start.permit.is_probe() && error.is_half_open() {
                self.observe(|it| it.probe_blocked_by_itself(job));
                start.permit.give_back();
                ended = self.ended(step, right, job, start, batch).await;
            }
        }
        match ended.result() {
            Some((how, outcome)) => {
                self.observe(|it| it.tried(job, how));
                let why = match &ended {
                    StepEnd::Failed(error) => error.words(),
                    _ => String::new(),
                };
                start.permit.report(outcome, ended.scope(), &why);
            }
            None if matches!(ended, StepEnd::Lost) => self.observe(|it| it.lost(job)),
            None => {}
        }
        ended
    }

    /// Runs one step, and renews the lease meanwhile, if the job is kept.
    async fn ended(
        &self,
        step: &Step,
        right: Option<Right>,
        job: &Job,
        start: &mut Start,
        batch: &Batch,
    ) -> StepEnd {
        let context = StepContext {
            id: right.map(|right| right.id),
            key: job.key.clone(),
            failures: job.failures,
        };
        let step = match caught_now(|| (step.run)(&job.state, context)) {
            Ok(Ok(step)) => step,
            // The type of the state, as it was read: the resource was not asked.
            Err(words) => {
                let failed = StepError::new(Kind::Failed(None), format!("panicked: {words}"));
                return StepEnd::Failed(failed.judged((Outcome::Ignored, Scope::Call)));
            }
            Ok(Err(error)) => {
                let why = format!("{:?} cannot go on: {error}", job.kind);
                return StepEnd::Unreadable(why);
            }
        };
        start.permit.begin();
        let limit = self.times.limit;
        // In a task of its own, which is aborted when this ends.
        let mut task = JoinSet::new();
        task.spawn(timeout(limit, step));
        let mut lost = pin!(self.until_lost(right));
        let mut probes = interval(PROBES);
        let came = loop {
            tokio::select! {
                Some(came) = task.join_next() => break came,
                _ = probes.tick() => start.permit.renew_probe(),
                () = &mut lost => return StepEnd::Lost,
                () = batch.given_up() => return StepEnd::GivenUp,
            }
        };
        match came {
            Ok(Ok(Ok(state))) => StepEnd::Done(state),
            Ok(Ok(Err(error))) => StepEnd::Failed(error),
            Ok(Err(_)) => StepEnd::Failed(format!("not done within {limit:?}").into()),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => StepEnd::Failed(format!("panicked: {}", words_of(&*panic)).into()),
                // The runtime is being shut down.
                Err(_) => StepEnd::Lost,
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
            let database = &self.database;
            let held = database.ask_within(lease / 3, Asked::Renew, |it| it.renew(right, lease));
            if held.await.is_ok_and(|is_held| !is_held) {
                return;
            }
        }
    }
}
