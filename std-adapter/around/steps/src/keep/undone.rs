// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work that was not done: kept at once, or later if its caller has gone without the error.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use tokio::runtime::Handle;

use crate::database::Pauses;
use crate::error::{Kind, StepError, StoreError};
use crate::in_progress::Batch;
use crate::inner::{Inner, claimed, running};
use crate::job::{JobId, NewJob};
use crate::store::{Put, Store};
use crate::text::redacted;

/// A job that was not done, and is to be kept.
pub(super) struct Undone {
    pub(super) job: NewJob,
    pub(super) why: StepError,
    /// `true` if this was its first try; otherwise nothing was done.
    pub(super) is_try: bool,
}

type Storing = Pin<Box<dyn Future<Output = ()> + Send>>;
type Keep = Box<dyn FnOnce(Undone) -> Storing + Send>;

/// An undone job whose caller has not seen the error yet. If dropped unseen, the job is stored.
pub(super) struct Unreported<D: Store> {
    inner: Arc<Inner<D>>,
    batch: Batch,
    runtime: Handle,
    undone: Option<(Undone, Keep)>,
}

impl<D: Store> Unreported<D> {
    /// Must be called within a runtime.
    pub(super) fn new<F>(
        inner: Arc<Inner<D>>,
        batch: &Batch,
        undone: Undone,
        keep: impl FnOnce(Undone) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self {
            inner,
            batch: batch.clone(),
            runtime: Handle::current(),
            undone: Some((undone, Box::new(|undone| Box::pin(keep(undone))))),
        }
    }

    /// The caller sees the error.
    pub(super) fn report(mut self) -> StepError {
        self.undone.take().expect("reported once").0.why
    }
}

impl<D: Store> Drop for Unreported<D> {
    fn drop(&mut self) {
        if let Some((undone, keep)) = self.undone.take() {
            let in_progress = self.inner.called.begin_in(&self.batch);
            let keep = keep(undone);
            self.runtime.spawn(async move {
                keep.await;
                drop(in_progress);
            });
        }
    }
}

impl<D: Store> Inner<D> {
    /// Returns whether another try is pointless.
    pub(super) fn ends(&self, undone: &Undone) -> bool {
        let plan = self.workflows.get(&*undone.job.kind);
        let has_no_tries = plan.is_none_or(|plan| plan.schedule.pause(1).is_none());
        match undone.why.kind {
            Kind::Failed(_) => undone.is_try && has_no_tries,
            Kind::Final => undone.is_try,
            Kind::Rejected(_) => false,
        }
    }

    /// Stores the job: one write if it was not tried, otherwise one more for the result of the try.
    pub(super) async fn keep(&self, undone: &Undone) -> Result<Put, StoreError> {
        let Undone { job, why, is_try } = undone;
        let put = self.put(job, is_try.then_some(self.times.lease)).await?;
        if let Put::New(_, right) = put {
            if let (Some(right), Some(plan)) = (right, self.workflows.get(&*job.kind)) {
                self.fail(plan, &claimed(job, right), why).await;
            }
            self.wake(&job.lane);
        }
        Ok(put)
    }

    /// Tries until it is kept, or a lease is over.
    pub(super) async fn keep_at_last<F, T, E: fmt::Display>(
        &self,
        job: &NewJob,
        keep: impl Fn() -> F,
        may_be_kept_later: fn(&E) -> bool,
    ) where
        F: Future<Output = Result<T, E>>,
    {
        let mut pauses = Pauses::within(self.times.lease);
        while let Err(error) = keep().await {
            if !may_be_kept_later(&error) || !pauses.next().await {
                // It is neither done nor kept, and no caller knows.
                let (job, error) = (running(job, JobId::new(0)), redacted(&error.to_string()));
                return self.observe(|it| it.unkept(&job, &error));
            }
        }
    }
}
