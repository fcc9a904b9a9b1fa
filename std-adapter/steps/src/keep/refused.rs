//! Work that was not done, and how it is kept.

use std::error::Error;
use std::time::Duration;

use crate::engine::{Inner, running};
use crate::error::Kind;
use crate::store::{Put, Store, StoreError};
use crate::{Job, JobId, NewJob, StepError, kept};

/// A job that was not done, and is to be kept.
pub(super) struct Refused {
    pub(super) job: NewJob,
    why: Why,
}

enum Why {
    /// Nothing was done.
    NotTried(Box<dyn Error + Send + Sync>),
    /// Its first try failed.
    Failed(StepError),
}

/// The result of keeping it.
pub(super) enum Kept {
    New(JobId),
    /// There already is one of that kind and key.
    Exists(Job),
}

impl Refused {
    /// It was not tried, and may be tried after this time.
    pub(super) fn not_tried(
        job: NewJob,
        due_in: Duration,
        why: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self {
            job: job.delay(due_in),
            why: Why::NotTried(why.into()),
        }
    }

    pub(super) fn given_up(job: NewJob) -> Self {
        Self::not_tried(job, Duration::ZERO, "it was given up to stop")
    }

    pub(super) const fn failed(job: NewJob, error: StepError) -> Self {
        Self {
            job,
            why: Why::Failed(error),
        }
    }

    pub(super) fn into_error(self) -> Box<dyn Error + Send + Sync> {
        match self.why {
            Why::NotTried(why) => why,
            Why::Failed(error) => error.into_error(),
        }
    }

    pub(super) fn words(&self) -> String {
        match &self.why {
            Why::NotTried(why) => kept(&why.to_string()),
            Why::Failed(error) => error.words(),
        }
    }
}

impl<D: Store> Inner<D> {
    /// Whether another try is pointless.
    pub(super) fn ends(&self, refused: &Refused) -> bool {
        let Why::Failed(error) = &refused.why else {
            return false;
        };
        let workflow = self.workflows.get(&*refused.job.kind);
        match error.kind {
            Kind::Failed(_) | Kind::NotBefore(_) => {
                workflow.is_none_or(|it| it.schedule().pause(1).is_none())
            }
            Kind::Final => true,
            Kind::Rejected(_) => false,
        }
    }

    /// One write if it was not tried, otherwise one more for the result of the try.
    pub(super) async fn keep(&self, refused: &Refused) -> Result<Kept, StoreError> {
        let Refused { job, why } = refused;
        let lease = matches!(why, Why::Failed(_)).then_some(self.times.lease);
        let (id, right) = match self.put(job, lease).await? {
            Put::New(id, right) => (id, right),
            Put::Exists(job) => return Ok(Kept::Exists(job)),
        };
        let workflow = self.workflows.get(&*job.kind);
        if let (Why::Failed(error), Some(right), Some(workflow)) = (why, right, workflow) {
            let job = running(job, id);
            self.fail(&**workflow, right, &job, error).await;
        }
        self.wake(&job.lane);
        Ok(Kept::New(id))
    }
}
