//! The layer above a breaker.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::Body;
use tower::util::Oneshot;
use tower_layer::Layer;
use tower_service::Service;

use super::keeping::{Keeping, Sent};
use super::{Answer, KeepBody, KeepConfig, KeepConfigError, KeepError, KeptRequest, NotKept};
use crate::engine::Inner;
use crate::room::Room;
use crate::{Steps, Store, Workflow};

type BoxError = Box<dyn Error + Send + Sync>;

/// Keeps the requests that a breaker below rejects, or that fail temporarily, as jobs: made by [`KeepConfig::layer`].
///
/// | the service below | returned |
/// |---|---|
/// | a response that is not a failure | [`Answer::Now`] |
/// | the rejection of a breaker, found in the chain of the error | [`Answer::Kept`]; that was no try, unless a retry below had made some |
/// | a response or an error that is a temporary failure | [`Answer::Kept`]; that was the first try, due again by the schedule and not before its `Retry-After` |
/// | the same, of a request that may not be kept | unchanged |
/// | the same, of one that may be kept, but is too large, or one too many | unchanged, with a [`NotKept`] that names the limit: [`KeepError::not_kept`], or among the extensions of the response |
/// | another error | unchanged, within a [`KeepError`] |
///
/// From the moment its body has been read, a request that may be kept goes on in a task of its own, even if the caller
/// has gone, for example because of a timeout above this layer: it is done, or kept. No more than [may be
/// kept](KeepConfig::most) do so. If the store fails then, or has no room for it, it is asked again until a
/// [lease](crate::StepsBuilder::lease) is over; the
/// [observer](crate::JobObserver::unkept) is notified of what cannot be kept by then. If the schedule has
/// no second try, a person is told. A [worker that stops](crate::Worker::stop) waits for it, and keeps
/// what does not end within its time.
///
/// A request that is not done within the [time limit](crate::StepsBuilder::time_limit) of the steps, 10
/// min unless set, is aborted, and counts as a temporary failure. A shorter limit belongs below the breaker, where it
/// counts.
///
/// The service must be `Clone`, as clients are: the layer is always ready, and waits until a clone is. The future of
/// each request is boxed.
///
/// `Q` is the body type of the requests.
pub struct KeepLayer<D, Q>(Arc<Shared<D>>, PhantomData<fn(Q)>);

pub(super) struct Shared<D> {
    pub(super) config: KeepConfig,
    pub(super) inner: Arc<Inner<D>>,
    /// The lane of the only step.
    pub(super) room: Arc<Room>,
    pub(super) later: Workflow<KeptRequest>,
}

impl<D: Store, Q> KeepLayer<D, Q> {
    pub(super) fn new(
        config: KeepConfig,
        steps: &Steps<D>,
        later: &Workflow<KeptRequest>,
    ) -> Result<Self, KeepConfigError> {
        let kind = later.kind();
        if later.0.steps.len() != 1 {
            return Err(KeepConfigError::new(format!(
                "workflow {kind:?} does not have one step: take it as `replay` made it"
            )));
        }
        let room = steps.0.lanes.get(later.0.steps[0].lane);
        let (true, Some(room)) = (steps.0.workflows.contains_key(kind), room) else {
            return Err(KeepConfigError::new(format!(
                "workflow {kind:?} is not known here: give it to the builder of the steps"
            )));
        };
        let shared = Shared {
            config,
            room: Arc::clone(room),
            inner: Arc::clone(&steps.0),
            later: later.clone(),
        };
        Ok(Self(Arc::new(shared), PhantomData))
    }
}

impl<D, Q> Clone for KeepLayer<D, Q> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0), PhantomData)
    }
}

impl<D, Q> fmt::Debug for KeepLayer<D, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepLayer")
            .field("config", &self.0.config)
            .field("later", &self.0.later)
            .finish_non_exhaustive()
    }
}

impl<S, D, Q, B> Layer<S> for KeepLayer<D, Q>
where
    S: Service<Request<KeepBody<Q>>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    Q: Body<Data: Send, Error: Send> + Unpin + Send + 'static,
    B: Send + 'static,
{
    type Service = KeepService<D, Q, B>;

    fn layer(&self, inner: S) -> Self::Service {
        let inner = Mutex::new(inner);
        KeepService {
            client: Arc::new(move |request| {
                let client = inner.lock().unwrap_or_else(PoisonError::into_inner);
                let answer = Oneshot::new(client.clone(), request);
                Box::pin(async move { answer.await.map_err(Into::into) })
            }),
            shared: Arc::clone(&self.0),
        }
    }
}

/// The type is erased, so that its requests can be made in tasks whatever it holds.
type Client<Q, B> = dyn Fn(Request<KeepBody<Q>>) -> Sent<B> + Send + Sync;

/// The service of a [`KeepLayer`].
pub struct KeepService<D, Q: Body, B> {
    client: Arc<Client<Q, B>>,
    shared: Arc<Shared<D>>,
}

impl<D, Q: Body, B> Clone for KeepService<D, Q, B> {
    fn clone(&self) -> Self {
        Self {
            client: Arc::clone(&self.client),
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<D, Q: Body, B> fmt::Debug for KeepService<D, Q, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepService")
            .field("config", &self.shared.config)
            .finish_non_exhaustive()
    }
}

type Answered<B> = Pin<Box<dyn Future<Output = Result<Answer<Response<B>>, KeepError>> + Send>>;

impl<D, Q, B> Service<Request<Q>> for KeepService<D, Q, B>
where
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
        let client = Arc::clone(&self.client);
        let (parts, body) = request.into_parts();
        if !(shared.config.may)(&parts) {
            let request = Request::from_parts(parts, KeepBody::unread(body));
            return Box::pin(async move {
                let answer = client(request).await;
                shared.config.unchanged(answer, None)
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
                    let answer = client(request).await;
                    return shared.config.unchanged(answer, Some(why));
                }
            };
            let keeping = Keeping::new(&shared, &parts, headers, body.clone());
            let request = Request::from_parts(parts, KeepBody::whole(body));
            let sent = client(request);
            keeping.send(shared, sent).await
        })
    }
}

impl KeepConfig {
    /// Neither kept nor meant to be.
    fn unchanged<B>(
        &self,
        answer: Result<Response<B>, BoxError>,
        why: Option<NotKept>,
    ) -> Result<Answer<Response<B>>, KeepError> {
        // A request that succeeded was not meant to be kept.
        let why = why.filter(|_| self.judge.undone(&answer).is_some());
        not_kept(answer, why)
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
