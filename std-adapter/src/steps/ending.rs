//! Jobs that do not go forward for now, or never will.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::engine::Inner;
use super::error::Kind;
use super::runner::Now;
use super::schedule::LONGEST;
use super::store::{Change, Saved, Store};
use super::workflow::AnyWorkflow;
use super::{Job, Right, Schedule, Status, StepError, Stuck};

impl<D: Store> Inner<D> {
    pub(super) async fn park(&self, right: Right, job: &Job, why: String) -> Now {
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
        let words = super::kept(&error.words());
        let schedule = workflow.schedule();
        let pause = match error.kind {
            Kind::Rejected(retry_in) => {
                // Unless somebody knows better.
                let due_in = retry_in.unwrap_or(self.times.poll);
                self.save(right, job, Change::Back { due_in }).await;
                self.wake(&job.lane);
                return Now::Later;
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

    /// Saves that it does not go forward, and tells somebody if that is wanted.
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
                    self.watch.ended(job, status, &error);
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

    /// Saves what came of a job; if the right to it is gone, nothing changes.
    pub(super) async fn save(&self, right: Right, job: &Job, change: Change) -> Option<Saved> {
        let saved = self.saver.save(right, change).await;
        if !saved.is_some_and(|saved| saved.is_held) {
            self.watch.lost(job);
        }
        saved
    }

    /// A job of this lane is due at another time than it was.
    pub(super) fn wake(&self, lane: &str) {
        if let Some(room) = self.lanes.get(lane) {
            room.came.notify_one();
        }
    }

    /// Three times at most, beside everything else.
    fn tell(&self, stuck: Stuck) {
        let Some(notifier) = self.notifier.clone() else {
            return;
        };
        let watch = Arc::clone(&self.watch);
        let telling = self.telling.begin();
        tokio::spawn(async move {
            let _telling = telling;
            for pause in [Some(1), Some(10), None] {
                let Err(error) = notifier.notify(&stuck).await else {
                    return watch.told(&stuck, None);
                };
                match pause {
                    Some(seconds) => sleep(Duration::from_secs(seconds)).await,
                    None => watch.told(&stuck, Some(&error)),
                }
            }
        });
    }
}

/// `None` if that was the last try.
fn due_in(schedule: &Schedule, job: &Job, not_before: Option<Duration>) -> Option<Duration> {
    let pause = schedule.draw(job.failures.saturating_add(1))?;
    Some(pause.max(not_before.unwrap_or(Duration::ZERO).min(LONGEST)))
}
