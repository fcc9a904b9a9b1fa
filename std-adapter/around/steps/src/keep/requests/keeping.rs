// SPDX-License-Identifier: MIT OR Apache-2.0
//! A request under way that is kept if it is not done.

use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName};
use http::request::Parts;
use http::{Request, Response};
use tokio::time::timeout;

use super::super::undone::{Undone, Unreported};
use super::{Answer, KeepConfig, KeepError, KeptRequest, NotKept};
use crate::bound::BoundSlot;
use crate::database::ask_store;
use crate::error::{BoxError, JobError, Kind, StepError, StoreError};
use crate::in_progress::Batch;
use crate::inner::Inner;
use crate::job::{Job, JobId, NewJob, Status};
use crate::room::Room;
use crate::store::{Filter, Put, Store};
use crate::workflow::Workflow;

/// The response to a request that is sent.
pub(super) type Sent<B> = Pin<Box<dyn Future<Output = Result<Response<B>, BoxError>> + Send>>;

/// The answer, and what becomes of the request if the caller has gone.
type SentOrKept<D, B> = (
    Result<Answer<Response<B>>, KeepError>,
    Option<Unreported<D>>,
);

/// Keeps requests as jobs: what a layer and its services share.
pub(super) struct Keeper<D> {
    pub(super) config: KeepConfig,
    pub(super) inner: Arc<Inner<D>>,
    /// The lane of the only step.
    pub(super) room: Arc<Room>,
    pub(super) later: Workflow<KeptRequest>,
}

/// The parts of a request that would be kept.
pub(super) struct Keepable {
    key: String,
    kept: KeptRequest,
}

impl Keepable {
    pub(super) fn new(config: &KeepConfig, parts: &Parts, headers: HeaderMap, body: Bytes) -> Self {
        let mut request = Request::new(body);
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = parts.uri.clone();
        *request.headers_mut() = headers;
        Self {
            key: (config.key)(parts),
            kept: KeptRequest::new(request),
        }
    }

    /// Not checked yet.
    fn job<D>(self, keeper: &Keeper<D>, why: &StepError) -> NewJob {
        let state = serde_json::to_string(&self.kept).expect("texts and numbers");
        let job = keeper.later.plan.job(self.key, state);
        match why.kind {
            // A breaker of the lane itself knows when it admits.
            Kind::Rejected(rejected) if !keeper.room.lane.is_guarded() => {
                job.delay(rejected.retry_in().unwrap_or(keeper.inner.times.poll))
            }
            _ => job,
        }
    }
}

impl KeepConfig {
    /// The headers that are kept, for a request that [may be](Self::keep_if).
    pub(super) fn allowed(&self, parts: &Parts) -> Result<HeaderMap, NotKept> {
        if let (Some(names), Some(query)) = (&self.queries, parts.uri.query()) {
            let name = |pair: &str| {
                pair.split('=')
                    .next()
                    .is_some_and(|name| names.iter().any(|each| each == name))
            };
            if !query.split('&').filter(|pair| !pair.is_empty()).all(name) {
                return Err(NotKept::Query);
            }
        }
        let mut kept = HeaderMap::new();
        for (name, is_secret) in &self.headers {
            // Checked before, so it is valid; and not parsed twice.
            let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
                continue;
            };
            if kept.contains_key(&name) {
                continue;
            }
            for value in parts.headers.get_all(&name) {
                if value.is_sensitive() && !is_secret {
                    return Err(NotKept::Sensitive(name));
                }
                kept.append(name.clone(), value.clone());
            }
        }
        Ok(kept)
    }

    /// Describes a request that is not done, but may be later, and whether that was a try.
    pub(super) fn undone<B>(
        &self,
        answer: &Result<Response<B>, BoxError>,
    ) -> Option<(StepError, bool)> {
        let why = self.judge.result(answer).err()?;
        match why.kind {
            Kind::Final => None,
            Kind::Rejected(_) => Some((why, false)),
            Kind::Failed(_) => Some((why, true)),
        }
    }
}

impl<D: Store> Keeper<D> {
    /// Runs in a task of its own, which ends neither with the caller nor without an answer; where too many are under
    /// way already, in that of the caller.
    pub(super) async fn send<B: Send + 'static>(
        self: Arc<Self>,
        request: Keepable,
        sent: Sent<B>,
    ) -> Result<Answer<Response<B>>, KeepError> {
        self.count_if_old();
        let flight = self.room.kept.fly(self.config.most);
        let flies = flight.is_some();
        let call = self.inner.called.begin();
        let (answer, unreported) = if flies {
            // If the caller has gone the result is dropped, and `Unreported` notices.
            let asked = call.spawn(|batch| self.ask(request, sent, batch, flight));
            match asked.await {
                Ok(reply) => reply,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    Err(error) => return Err(KeepError::new(error.into(), None)),
                },
            }
        } else {
            self.ask(request, sent, call.batch.clone(), flight).await
        };
        unreported.map(Unreported::report);
        answer
    }

    async fn ask<B>(
        self: Arc<Self>,
        request: Keepable,
        sent: Sent<B>,
        batch: Batch,
        flight: Option<BoundSlot>,
    ) -> SentOrKept<D, B> {
        let limit = self.inner.times.limit;
        let (answer, why) = tokio::select! {
            biased;
            answer = timeout(limit, sent) => {
                let late = |_| Err(format!("not done within {limit:?}").into());
                let answer = answer.unwrap_or_else(late);
                let why = self.config.undone(&answer);
                (answer, why)
            }
            () = batch.given_up() => {
                let why = "it was given up to stop";
                (Err(why.into()), Some((why.into(), false)))
            }
        };
        let Some((why, is_try)) = why else {
            return (not_kept(answer, None), None);
        };
        let job = request.job(&self, &why);
        let undone = Undone { job, why, is_try };
        let kept = if self.inner.ends(&undone) {
            Err(NotKept::NoTries)
        } else {
            self.keep(&undone, flight.is_some()).await
        };
        let why = match kept {
            Ok(id) => return (Ok(Answer::Kept(id)), None),
            Err(why) => why,
        };
        let inner = Arc::clone(&self.inner);
        let unreported = Unreported::new(inner, &batch, undone, move |undone| async move {
            // Requests that the store did not take still count until the next count.
            let later = |why: &NotKept| matches!(why, NotKept::Store(_) | NotKept::Full(_));
            // Others have no caller that could go.
            let keep = || self.keep(&undone, true);
            self.inner.keep_at_last(&undone.job, keep, later).await;
            drop(flight);
        });
        (not_kept(answer, Some(why)), Some(unreported))
    }

    /// Runs beside the request that begins: no call waits for the store.
    fn count_if_old(self: &Arc<Self>) {
        if self.room.kept.is_old() {
            let keeper = Arc::clone(self);
            tokio::spawn(async move {
                let (database, lane) = (&keeper.inner.database, keeper.room.lane.name);
                keeper.room.kept.refresh(database, lane).await;
            });
        }
    }

    /// Keeps it, unless there are too many, or another one has its key.
    async fn keep(&self, undone: &Undone, flies: bool) -> Result<JobId, NotKept> {
        let job = &undone.job;
        job.check().map_err(|error| match error {
            JobError::Key(long) => NotKept::Key(long),
            JobError::Large(_)
            | JobError::State(_)
            | JobError::Unreadable(_)
            | JobError::Lost(_) => NotKept::Large(self.config.largest_body),
        })?;
        let (bound, most) = (&self.room.kept, self.config.most);
        let one = bound.begin(flies, most, &self.inner.database, &job.lane);
        let Some(one) = one.await.map_err(NotKept::Store)? else {
            return match self.before(job).await? {
                Some(before) => is_that(job, &before),
                None => Err(NotKept::Full(most)),
            };
        };
        let kept = self.inner.keep(undone).await;
        // Without an answer it may have been kept.
        if !matches!(kept, Ok(Put::Exists(_))) {
            bound.end(one).await;
        }
        match kept.map_err(failed)? {
            Put::New(id, _) => Ok(id),
            Put::Exists(before) => is_that(job, &before),
        }
    }

    /// The existing job of the same key.
    async fn before(&self, job: &NewJob) -> Result<Option<Job>, NotKept> {
        let filter = Filter::new().kind(&job.kind).key(&job.key);
        let jobs = ask_store(|| self.inner.database.store.list(&filter, 1)).await;
        Ok(jobs.map_err(failed)?.pop())
    }
}

fn failed(error: StoreError) -> NotKept {
    NotKept::Store(Arc::new(error))
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

/// The answer unchanged, with the reason why it is not kept.
pub(super) fn not_kept<B>(
    answer: Result<Response<B>, BoxError>,
    why: Option<NotKept>,
) -> Result<Answer<Response<B>>, KeepError> {
    match answer {
        Ok(mut response) => {
            if let Some(why) = why {
                response.extensions_mut().insert(why);
            }
            Ok(Answer::Now(response))
        }
        Err(error) => Err(KeepError::new(error, why)),
    }
}
