// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts that all clones of some [`Steps`](crate::Steps) share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::change::{Change, Saved};
use crate::database::Database;
use crate::error::StoreError;
use crate::in_progress::UnderWay;
use crate::job::{Claimed, Job, JobId, NewJob, Right};
use crate::job_observer::{Asked, JobObserver};
use crate::notifier::AnyNotifier;
use crate::room::Room;
use crate::row::JobRow;
use crate::saver::Saver;
use crate::store::{Put, Store};
use crate::watched::WatchedJobs;
use crate::workflow::Plan;

pub(crate) struct Inner<D> {
    pub(crate) database: Arc<Database<D>>,
    pub(crate) saver: Saver,
    pub(crate) lanes: HashMap<&'static str, Arc<Room>>,
    pub(crate) workflows: HashMap<&'static str, Plan>,
    pub(crate) notifier: Option<Arc<dyn AnyNotifier>>,
    pub(crate) times: Times,
    /// Work that was started at once.
    pub(crate) called: Arc<UnderWay>,
    /// Messages to a person that are being sent.
    pub(crate) telling: Arc<UnderWay>,
    pub(crate) watched: WatchedJobs,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) lease: Duration,
    pub(crate) limit: Duration,
    pub(crate) poll: Duration,
    pub(crate) retention: Duration,
    /// The interval at which a worker asks for the number of jobs.
    pub(crate) count: Option<Duration>,
}

impl Times {
    /// The time for which a claimed job waits for its turn: its lease must last until the step
    /// renews it.
    pub(crate) fn patience(&self) -> Duration {
        self.lease / 4
    }
}

impl<D> Inner<D> {
    pub(crate) fn observe(&self, notify: impl Fn(&dyn JobObserver)) {
        self.database.observers.each(notify);
    }

    /// A job of this lane is now due at another time.
    pub(crate) fn wake(&self, lane: &str) {
        if let Some(room) = self.lanes.get(lane) {
            room.came.notify_one();
        }
    }

    /// The step that is next, and the workflow it belongs to.
    pub(crate) fn step_of(&self, job: &Job) -> Result<(&Plan, usize), String> {
        let Some(plan) = self.workflows.get(&*job.kind) else {
            return Err(format!("no workflow {:?} is known here", job.kind));
        };
        let at = plan.steps.iter().position(|step| step.name == job.step);
        at.map(|at| (plan, at))
            .ok_or_else(|| format!("{:?} has no step {:?} here", job.kind, job.step))
    }

    /// Saves the result of running a job; if the right to it is gone, nothing changes.
    pub(crate) async fn save(&self, claimed: &Claimed, change: Change) -> Saved {
        let ends = change.status.is_final();
        let saved = self.saver.save(claimed.right, change).await;
        let saved = saved.unwrap_or_default();
        if !saved.is_held {
            self.observe(|it| it.lost(&claimed.job));
        } else if ends {
            self.watched.ended(claimed.right.id);
        }
        saved
    }
}

impl<D: Store> Inner<D> {
    pub(crate) async fn put(
        &self,
        job: &NewJob,
        lease: Option<Duration>,
    ) -> Result<Put, StoreError> {
        let put = self.database.ask(Asked::Put, |store| store.put(job, lease));
        put.await
    }
}

/// A new job that runs.
pub(crate) fn running(job: &NewJob, id: JobId) -> Job {
    let row = JobRow::new(job, Some(Duration::ZERO), 0);
    row.expect("a lease of 0 is not too long").job(id, 0)
}

/// A new job that was claimed when it was put.
pub(crate) fn claimed(job: &NewJob, right: Right) -> Claimed {
    Claimed {
        right,
        job: running(job, right.id),
        is_lost: false,
        fault: None,
    }
}
