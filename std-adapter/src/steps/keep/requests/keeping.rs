//! A request under way that is kept if it is not done.

use std::error::Error;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Response};

use super::super::super::{Job, JobError, Status, Store, StoreError};
use super::super::refused::{Kept, Refused};
use super::judge::Undone;
use super::layer::{Shared, not_kept};
use super::{Answer, KeepError, KeptRequest, NotKept};

type BoxError = Box<dyn Error + Send + Sync>;

/// The answer to a request that is sent.
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

    /// In a task of its own, which ends neither with the caller nor without an answer.
    pub(super) async fn send<D: Store, B: Send + 'static>(
        self,
        shared: Arc<Shared<D>>,
        sent: Sent<B>,
    ) -> Result<Answer<Response<B>>, KeepError> {
        let under_way = shared.inner.calls.begin();
        let task = tokio::spawn(async move {
            let _until_then = under_way;
            let answer = sent.await;
            let Some(undone) = shared.config.judge.undone(&answer) else {
                return not_kept(answer, None);
            };
            match self.keep(&shared, undone).await {
                Ok(answer) => Ok(answer),
                Err(why) => not_kept(answer, Some(why)),
            }
        });
        match task.await {
            Ok(answer) => answer,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(error) => Err(KeepError::new(error.into(), None)),
            },
        }
    }

    async fn keep<D: Store, B>(
        self,
        shared: &Shared<D>,
        undone: Undone,
    ) -> Result<Answer<Response<B>>, NotKept> {
        let job = shared.later.job(self.key, &self.kept);
        let job = job.map_err(|error| match error {
            JobError::Key(long) => NotKept::Key(long),
            JobError::Large(_) | JobError::State(_) => NotKept::Large(shared.config.largest_body),
        })?;
        let lane = job.lane.clone();
        let refused = match undone {
            Undone::Rejected(retry_in) => {
                let due_in = match shared.inner.lanes.get(&*lane) {
                    // It knows itself when it admits.
                    Some(room) if room.lane.is_guarded() => Duration::ZERO,
                    _ => retry_in.unwrap_or(shared.inner.times.poll),
                };
                Refused::not_tried(job, due_in, "rejected")
            }
            Undone::Failed(error) => Refused::failed(job, error),
        };
        if shared.inner.ends(&refused) {
            return Err(NotKept::NoTries);
        }
        let store = &*shared.inner.store;
        let failed = |error: StoreError| NotKept::Store(Arc::new(error));
        let has_room = shared.bound.begin(store, &lane).await.map_err(failed)?;
        if !has_room {
            return Err(NotKept::Full(shared.bound.most()));
        }
        let kept = shared.inner.keep(&refused).await;
        // Without an answer it may be.
        let is_new = !matches!(kept, Ok(Kept::Exists(_)));
        shared.bound.end(is_new).await;
        match kept.map_err(failed)? {
            Kept::New(id) => Ok(Answer::Kept(id)),
            Kept::Exists(job) => self.kept.is_that(&job).map(|()| Answer::Kept(job.id)),
        }
    }
}

impl KeptRequest {
    /// Whether a job of the same key is this request, and has not ended without success.
    fn is_that(&self, job: &Job) -> Result<(), NotKept> {
        let other = serde_json::from_str(&job.state);
        if !other.is_ok_and(|other| self.is_same(&other)) {
            return Err(NotKept::OtherRequest(job.id));
        }
        match job.status {
            Status::Waiting | Status::Running | Status::Done => Ok(()),
            status => Err(NotKept::Ended(job.id, status)),
        }
    }
}
