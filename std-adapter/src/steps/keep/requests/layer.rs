//! The layer above a breaker.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::Body;
use tower::util::Oneshot;
use tower_layer::Layer;
use tower_service::Service;

use super::super::super::engine::Inner;
use super::super::super::{Steps, Store, Workflow};
use super::bound::Bound;
use super::keeping::{Keeping, Sent};
use super::{Answer, KeepBody, KeepConfig, KeepConfigError, KeepError, KeptRequest, NotKept};

type BoxError = Box<dyn Error + Send + Sync>;

/// Keeps the requests that a breaker below rejects, or that fail for now, as jobs: made by
/// [`KeepConfig::layer`].
///
/// | the service below | the answer |
/// |---|---|
/// | a response that is no failure | [`Answer::Now`] |
/// | the rejection of a breaker, found in the chain of the error | [`Answer::Kept`]; that was no try |
/// | a response or an error that is a failure for now | [`Answer::Kept`]; that was the first try, due again by the schedule and not before its `Retry-After` |
/// | the same, of a request that may not be kept | unchanged |
/// | the same, of one that may be, but is too large, or one too many | unchanged, with a [`NotKept`] that names the limit: [`KeepError::not_kept`], or among the extensions of the response |
/// | another error | unchanged, within a [`KeepError`] |
///
/// A request that may be kept goes on in a task of its own from when its body was read, also when the caller has gone,
/// by a time-out above this layer say: it is done, or kept. So the service below needs a time limit.
///
/// The service must be `Clone`, as clients are: it is always ready, and the readiness of a clone is waited for. The
/// future of each request is boxed.
pub struct KeepLayer<D>(Arc<Shared<D>>);

pub(super) struct Shared<D> {
    pub(super) config: KeepConfig,
    pub(super) inner: Arc<Inner<D>>,
    pub(super) later: Workflow<KeptRequest>,
    pub(super) bound: Bound,
}

impl<D: Store> KeepLayer<D> {
    pub(super) fn new(
        config: KeepConfig,
        steps: &Steps<D>,
        later: &Workflow<KeptRequest>,
    ) -> Result<Self, KeepConfigError> {
        let kind = later.kind();
        if later.0.steps.len() != 1 {
            return Err(KeepConfigError::Steps(kind));
        }
        if !steps.0.workflows.contains_key(kind) {
            return Err(KeepConfigError::Unknown(kind));
        }
        let bound = Bound::new(config.most);
        Ok(Self(Arc::new(Shared {
            config,
            inner: Arc::clone(&steps.0),
            later: later.clone(),
            bound,
        })))
    }
}

impl<D> Clone for KeepLayer<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<D> fmt::Debug for KeepLayer<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepLayer")
            .field("config", &self.0.config)
            .field("later", &self.0.later)
            .finish_non_exhaustive()
    }
}

impl<S, D> Layer<S> for KeepLayer<D> {
    type Service = KeepService<S, D>;

    fn layer(&self, inner: S) -> Self::Service {
        KeepService {
            inner,
            shared: Arc::clone(&self.0),
        }
    }
}

/// The service of a [`KeepLayer`].
pub struct KeepService<S, D> {
    inner: S,
    shared: Arc<Shared<D>>,
}

impl<S: Clone, D> Clone for KeepService<S, D> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<S: fmt::Debug, D> fmt::Debug for KeepService<S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepService")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

type Answered<B> = Pin<Box<dyn Future<Output = Result<Answer<Response<B>>, KeepError>> + Send>>;

impl<S, D, Q, B> Service<Request<Q>> for KeepService<S, D>
where
    S: Service<Request<KeepBody<Q>>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    D: Store,
    Q: Body<Data: Send, Error: Send> + Unpin + Send + 'static,
    B: Send + 'static,
{
    type Response = Answer<Response<B>>;
    type Error = KeepError;
    type Future = Answered<B>;

    /// Always ready: a request that is rejected may be kept.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), KeepError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let shared = Arc::clone(&self.shared);
        let client = self.inner.clone();
        let (parts, body) = request.into_parts();
        if !(shared.config.may)(&parts) {
            let request = Request::from_parts(parts, KeepBody::unread(body));
            return Box::pin(async move {
                let answer = Oneshot::new(client, request).await;
                shared.config.unchanged(answer.map_err(Into::into), None)
            });
        }
        Box::pin(async move {
            let allowed = shared.config.allowed(&parts);
            let read = match allowed {
                Ok(headers) => KeepBody::read(body, shared.config.largest_body)
                    .await
                    .map(|body| (headers, body)),
                Err(why) => Err((why, KeepBody::unread(body))),
            };
            let (headers, body) = match read {
                Ok(whole) => whole,
                Err((why, body)) => {
                    let request = Request::from_parts(parts, body);
                    let answer = Oneshot::new(client, request).await;
                    return shared
                        .config
                        .unchanged(answer.map_err(Into::into), Some(why));
                }
            };
            let keeping = Keeping::new(&shared, &parts, headers, body.clone());
            let request = Request::from_parts(parts, KeepBody::whole(body));
            let sent: Sent<B> = Box::pin(async move {
                let answer = Oneshot::new(client, request).await;
                answer.map_err(Into::into)
            });
            keeping.send(shared, sent).await
        })
    }
}

impl KeepConfig {
    /// Neither kept nor to be kept.
    fn unchanged<B>(
        &self,
        answer: Result<Response<B>, BoxError>,
        why: Option<NotKept>,
    ) -> Result<Answer<Response<B>>, KeepError> {
        // Of what succeeded nothing was to be kept.
        let why = why.filter(|_| self.judge.undone(&answer).is_some());
        not_kept(answer, why)
    }
}

/// The answer as it is, with the reason why it is not kept.
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
