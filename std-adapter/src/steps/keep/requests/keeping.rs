//! A request under way that is kept if it is not done.

use std::error::Error;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Response};

use super::super::super::engine::Inner;
use super::super::super::under_way::until_given_up;
use super::super::super::{Job, JobError, Status, Store, StoreError};
use super::super::refused::{Kept, Refused};
use super::super::unheard::{Keeper, Unheard};
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
        let call = shared.inner.called.begin();
        let task = tokio::spawn(async move {
            let mut order = call.order.clone();
            let (answer, undone) = tokio::select! {
                biased;
                answer = sent => {
                    let undone = shared.config.judge.undone(&answer);
                    (answer, undone)
                }
                () = until_given_up(&mut order) => {
                    let undone = Undone::Rejected(Some(Duration::ZERO));
                    (Err("it was given up to stop".into()), Some(undone))
                }
            };
            let Some(undone) = undone else {
                return (not_kept(answer, None), None);
            };
            match self.keep(&shared, undone).await {
                Ok(answer) => (Ok(answer), None),
                Err((why, refused)) => {
                    let part = Arc::clone(&call.part);
                    let unheard = refused.map(|refused| Unheard::new(shared, refused, part));
                    (not_kept(answer, Some(why)), unheard)
                }
            }
        });
        match task.await {
            Ok((answer, unheard)) => {
                unheard.map(Unheard::hear);
                answer
            }
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(error) => Err(KeepError::new(error.into(), None)),
            },
        }
    }

    /// If it is not kept: why, and what is to be kept if nobody hears of it.
    async fn keep<D: Store, B>(
        self,
        shared: &Shared<D>,
        undone: Undone,
    ) -> Result<Answer<Response<B>>, (NotKept, Option<Refused>)> {
        let refused = match self.refused(shared, undone) {
            Ok(refused) => refused,
            Err(why) => return Err((why, None)),
        };
        if shared.inner.ends(&refused) {
            return Err((NotKept::NoTries, Some(refused)));
        }
        match shared.keep(&refused).await {
            Ok(Some(Kept::New(id))) => Ok(Answer::Kept(id)),
            Ok(Some(Kept::Exists(job))) => match self.kept.is_that(&job) {
                Ok(()) => Ok(Answer::Kept(job.id)),
                Err(why) => Err((why, None)),
            },
            Ok(None) => Err((NotKept::Full(shared.bound.most()), None)),
            Err(error) => Err((NotKept::Store(Arc::new(error)), Some(refused))),
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
                let due_in = match shared.inner.lanes.get(&*job.lane) {
                    // It knows itself when it admits.
                    Some(room) if room.lane.is_guarded() => Duration::ZERO,
                    _ => retry_in.unwrap_or(shared.inner.times.poll),
                };
                Refused::not_tried(job, due_in, "rejected")
            }
            Undone::Failed(error) => Refused::failed(job, error),
        })
    }
}

impl<D: Store> Shared<D> {
    /// `None` if as many are kept as may be.
    async fn keep(&self, refused: &Refused) -> Result<Option<Kept>, StoreError> {
        let store = &*self.inner.store;
        if !self.bound.begin(store, &refused.job.lane).await? {
            return Ok(None);
        }
        let kept = self.inner.keep(refused).await;
        // Without an answer it may be.
        let is_new = !matches!(kept, Ok(Kept::Exists(_)));
        self.bound.end(is_new).await;
        kept.map(Some)
    }
}

impl<D: Store> Keeper for Shared<D> {
    type Store = D;

    fn inner(&self) -> &Inner<D> {
        &self.inner
    }

    async fn keep_unheard(&self, refused: &Refused) -> Result<(), StoreError> {
        match self.keep(refused).await? {
            Some(_) => Ok(()),
            // Those that the store did not take count until the next count.
            None => Err(StoreError::new(NotKept::Full(self.bound.most()))),
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
