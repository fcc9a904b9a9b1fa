//! A request under way that is kept if it is not done.

use std::error::Error;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Response};
use tokio::time::timeout;

use super::super::refused::{Kept, Refused};
use super::super::unheard::{Keeper, Unheard};
use super::judge::Undone;
use super::layer::{Shared, not_kept};
use super::{Answer, KeepError, KeptRequest, NotKept};
use crate::bound::One;
use crate::caught::answer;
use crate::engine::Inner;
use crate::under_way::{self, until_given_up};
use crate::{Filter, Job, JobError, JobId, NewJob, Status, Store, StoreError};

type BoxError = Box<dyn Error + Send + Sync>;

/// The response to a request that is sent.
pub(super) type Sent<B> = Pin<Box<dyn Future<Output = Result<Response<B>, BoxError>> + Send>>;

/// What would be kept.
pub(super) struct Keeping {
    key: String,
    kept: KeptRequest,
}

impl Keeping {
    pub(super) fn new<D>(
        shared: &Shared<D>,
        parts: &Parts,
        headers: HeaderMap,
        body: Bytes,
    ) -> Self {
        Self {
            key: shared.config.key_of(parts),
            kept: KeptRequest::new(parts.method.clone(), &parts.uri, headers, body),
        }
    }

    /// Runs in a task of its own, which ends neither with the caller nor without an answer; where too many are under
    /// way already, in that of the caller.
    pub(super) async fn send<D: Store, B: Send + 'static>(
        self,
        shared: Arc<Shared<D>>,
        sent: Sent<B>,
    ) -> Result<Answer<Response<B>>, KeepError> {
        shared.count_if_old();
        let Some(flight) = shared.room.kept.fly(shared.config.most) else {
            let call = shared.inner.called.begin();
            return self.ask(shared, sent, call, None).await.hear();
        };
        let call = shared.inner.called.begin();
        // If the caller has gone the result is dropped, and `Unheard` and `Lost` notice.
        let task = tokio::spawn(self.ask(shared, sent, call, Some(flight)));
        match task.await {
            Ok(heard) => heard.hear(),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(error) => Err(KeepError::new(error.into(), None)),
            },
        }
    }

    async fn ask<D: Store, B>(
        self,
        shared: Arc<Shared<D>>,
        sent: Sent<B>,
        call: under_way::One,
        flight: Option<One>,
    ) -> Heard<D, B> {
        let mut order = call.order.clone();
        let limit = shared.inner.times.limit;
        let (answer, undone) = tokio::select! {
            biased;
            answer = timeout(limit, sent) => {
                let late = |_| Err(format!("not done within {limit:?}").into());
                let answer = answer.unwrap_or_else(late);
                let undone = shared.config.judge.undone(&answer);
                (answer, undone)
            }
            () = until_given_up(&mut order) => {
                let undone = Undone::Rejected(Some(Duration::ZERO));
                (Err("it was given up to stop".into()), Some(undone))
            }
        };
        let Some(undone) = undone else {
            return Heard(not_kept(answer, None), None, None);
        };
        let refused = match self.refused(&shared, undone) {
            Ok(refused) => refused,
            Err(why) => {
                let answer = not_kept(answer, Some(why.clone()));
                return Heard(answer, None, Some(self.lost(shared, why)));
            }
        };
        match shared.keep_if_it_goes_on(&refused, flight.is_some()).await {
            Ok(id) => Heard(Ok(Answer::Kept(id)), None, None),
            Err(why) => {
                let part = Arc::clone(&call.part);
                let held = flight.map(|flight| Box::new(flight) as Box<dyn Send>);
                let unheard = Unheard::new(shared, refused, part).holding(held);
                Heard(not_kept(answer, Some(why)), Some(unheard), None)
            }
        }
    }

    fn refused<D: Store>(&self, shared: &Shared<D>, undone: Undone) -> Result<Refused, NotKept> {
        let job = shared.later.job(&*self.key, &self.kept);
        let job = job.map_err(|error| match error {
            JobError::Key(long) => NotKept::Key(long),
            JobError::Large(_) | JobError::State(_) => NotKept::Large(shared.config.largest_body),
        })?;
        Ok(match undone {
            Undone::Rejected(retry_in) => {
                let due_in = if shared.room.lane.is_guarded() {
                    // The breaker itself knows when it admits.
                    Duration::ZERO
                } else {
                    retry_in.unwrap_or(shared.inner.times.poll)
                };
                Refused::not_tried(job, due_in, "rejected")
            }
            Undone::Failed(error) => Refused::failed(job, error),
        })
    }

    fn lost<D: Store>(self, shared: Arc<Shared<D>>, why: NotKept) -> Lost<D> {
        let step = &shared.later.0.steps[0];
        let job = NewJob {
            kind: shared.later.kind().to_owned(),
            key: self.key,
            step: step.name.to_owned(),
            lane: step.lane.to_owned(),
            state: String::new(),
            delay: Duration::ZERO,
        };
        Lost(Some((shared, job, why)))
    }
}

/// The answer, and what becomes of the request if the caller has gone.
struct Heard<D: Store, B>(
    Result<Answer<Response<B>>, KeepError>,
    Option<Unheard<Shared<D>>>,
    Option<Lost<D>>,
);

impl<D: Store, B> Heard<D, B> {
    fn hear(self) -> Result<Answer<Response<B>>, KeepError> {
        let Self(answer, unheard, lost) = self;
        unheard.map(Unheard::hear);
        if let Some(lost) = lost {
            lost.hear();
        }
        answer
    }
}

/// A request that cannot be made a job. If it is dropped because the caller has gone, an observer is notified.
struct Lost<D: Store>(Option<(Arc<Shared<D>>, NewJob, NotKept)>);

impl<D: Store> Lost<D> {
    fn hear(mut self) {
        self.0 = None;
    }
}

impl<D: Store> Drop for Lost<D> {
    fn drop(&mut self) {
        if let Some((shared, job, why)) = self.0.take() {
            shared.inner.unkept(&job, &why);
        }
    }
}

impl<D: Store> Shared<D> {
    /// Runs beside the request that begins: no call waits for the store.
    fn count_if_old(self: &Arc<Self>) {
        if self.room.kept.is_old() {
            let shared = Arc::clone(self);
            tokio::spawn(async move {
                let (store, lane) = (&*shared.inner.store, shared.room.lane.name);
                shared.room.kept.refresh(store, lane).await;
            });
        }
    }

    async fn keep_if_it_goes_on(&self, refused: &Refused, flies: bool) -> Result<JobId, NotKept> {
        if self.inner.ends(refused) {
            return Err(NotKept::NoTries);
        }
        self.keep(refused, flies).await
    }

    /// Keeps it, unless there are too many, or another one has its key.
    async fn keep(&self, refused: &Refused, flies: bool) -> Result<JobId, NotKept> {
        let (store, job) = (&*self.inner.store, &refused.job);
        let (bound, most) = (&self.room.kept, self.config.most);
        let one = bound.begin(flies, most, store, &job.lane).await;
        let Some(one) = one.map_err(NotKept::Store)? else {
            return match self.before(job).await? {
                Some(before) => is_that(job, &before),
                None => Err(NotKept::Full(most)),
            };
        };
        let kept = self.inner.keep(refused).await;
        // Without an answer it may have been kept.
        if !matches!(kept, Ok(Kept::Exists(_))) {
            bound.end(one).await;
        }
        match kept.map_err(failed)? {
            Kept::New(id) => Ok(id),
            Kept::Exists(before) => is_that(job, &before),
        }
    }

    /// The existing job of the same key.
    async fn before(&self, job: &NewJob) -> Result<Option<Job>, NotKept> {
        let filter = Filter {
            kind: Some(job.kind.clone()),
            key: Some(job.key.clone()),
            ..Filter::default()
        };
        let jobs = answer(|| self.inner.store.list(&filter, 1)).await;
        Ok(jobs.map_err(failed)?.pop())
    }
}

fn failed(error: StoreError) -> NotKept {
    NotKept::Store(Arc::new(error))
}

impl<D: Store> Keeper for Shared<D> {
    type Store = D;
    type Error = NotKept;

    fn inner(&self) -> &Inner<D> {
        &self.inner
    }

    async fn keep_unheard(&self, refused: &Refused) -> Result<(), NotKept> {
        // Others have no caller that could go.
        self.keep(refused, true).await.map(drop)
    }

    fn may_be_kept_later(error: &NotKept) -> bool {
        // Requests that the store did not take still count until the next count.
        matches!(error, NotKept::Store(_) | NotKept::Full(_))
    }
}

/// The existing job of the same key, if it is this request and has not ended without success.
fn is_that(new: &NewJob, before: &Job) -> Result<JobId, NotKept> {
    let read = |state: &str| serde_json::from_str::<KeptRequest>(state).ok();
    if !read(&new.state).is_some_and(|new| read(&before.state).is_some_and(|it| new.is_same(&it))) {
        return Err(NotKept::OtherRequest(before.id));
    }
    match before.status {
        Status::Waiting | Status::Running | Status::Done => Ok(before.id),
        status => Err(NotKept::Ended(before.id, status)),
    }
}
