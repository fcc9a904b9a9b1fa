//! Jobs that do not go forward for now, or never will.

use std::time::Duration;

use tokio::time::sleep;

use super::engine::Inner;
use super::error::Kind;
use super::runner::Now;
use super::schedule::LONGEST;
use super::store::{Change, Store};
use super::workflow::AnyWorkflow;
use super::{Job, Right, Status, StepError, Stuck};

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
        error: StepError,
    ) -> Now {
        let words = super::kept(&error.words());
        let schedule = workflow.schedule();
        let pause = match error.kind {
            Kind::Rejected(retry_in) => {
                // Unless somebody knows better.
                let due_in = retry_in.unwrap_or(self.times.poll);
                self.saver.save(right, Change::Back { due_in }).await;
                self.wake(&job.lane);
                return Now::Later;
            }
            Kind::Final => None,
            Kind::Failed(not_before) => {
                let pause = schedule.draw(job.failures.saturating_add(1));
                pause.map(|pause| pause.max(not_before.unwrap_or(Duration::ZERO).min(LONGEST)))
            }
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
        match self.saver.save(right, change).await {
            Some(saved) if saved.is_held => {
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
        let telling = self.telling.begin();
        tokio::spawn(async move {
            let _telling = telling;
            for pause in [Some(1), Some(10), None] {
                if notifier.notify(&stuck).await.is_ok() {
                    return;
                }
                if let Some(seconds) = pause {
                    sleep(Duration::from_secs(seconds)).await;
                }
            }
        });
    }
}
