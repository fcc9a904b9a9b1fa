//! Work that was not done: kept at once, or later if no caller has heard of it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use tokio::runtime::Handle;

use crate::engine::{Inner, running};
use crate::error::Kind;
use crate::job_observer::text;
use crate::saver::Pauses;
use crate::store::{Put, Store, StoreError};
use crate::under_way::Part;
use crate::{JobId, NewJob, StepError};

/// A job that was not done, and is to be kept.
pub(super) struct Refused {
    pub(super) job: NewJob,
    pub(super) why: StepError,
    /// That was its first try; otherwise nothing was done.
    pub(super) is_try: bool,
}

type Keeping = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Work that is not kept while its caller can hear of it. If dropped because the caller has gone, it is kept after all.
pub(super) struct Unheard<D: Store> {
    inner: Arc<Inner<D>>,
    /// The part that the call belongs to.
    part: Part,
    runtime: Handle,
    refused: Option<Refused>,
    keep: Option<Box<dyn FnOnce(Refused) -> Keeping + Send>>,
}

impl<D: Store> Unheard<D> {
    /// Must be called within a runtime.
    pub(super) fn new<F>(
        inner: Arc<Inner<D>>,
        part: &Part,
        refused: Refused,
        keep: impl FnOnce(Refused) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self {
            inner,
            part: part.clone(),
            runtime: Handle::current(),
            refused: Some(refused),
            keep: Some(Box::new(|refused| Box::pin(keep(refused)))),
        }
    }

    pub(super) fn hear(mut self) -> StepError {
        self.refused.take().expect("heard once").why
    }
}

impl<D: Store> Drop for Unheard<D> {
    fn drop(&mut self) {
        if let (Some(refused), Some(keep)) = (self.refused.take(), self.keep.take()) {
            let under_way = self.inner.called.begin_in(&self.part);
            let keep = keep(refused);
            self.runtime.spawn(async move {
                keep.await;
                drop(under_way);
            });
        }
    }
}

impl<D: Store> Inner<D> {
    /// Whether another try is pointless.
    pub(super) fn ends(&self, refused: &Refused) -> bool {
        let plan = self.workflows.get(&*refused.job.kind);
        let has_no_tries = plan.is_none_or(|plan| plan.schedule.pause(1).is_none());
        match refused.why.kind {
            Kind::Failed(_) | Kind::NotBefore(_) => refused.is_try && has_no_tries,
            Kind::Final => refused.is_try,
            Kind::Rejected(_) => false,
        }
    }

    /// One write if it was not tried, otherwise one more for the result of the try.
    pub(super) async fn keep(&self, refused: &Refused) -> Result<Put, StoreError> {
        let Refused { job, why, is_try } = refused;
        let put = self.put(job, is_try.then_some(self.times.lease)).await?;
        if let Put::New(id, right) = put {
            if let (Some(right), Some(plan)) = (right, self.workflows.get(&*job.kind)) {
                self.fail(plan, right, &running(job, id), why).await;
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
                let (job, error) = (running(job, JobId::new(0)), text(error));
                return self.observe(|it| it.unkept(&job, &error));
            }
        }
    }
}
