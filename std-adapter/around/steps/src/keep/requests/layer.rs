// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layer above a breaker.

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

use super::keeping::{Keepable, Keeper, Sent, not_kept};
use super::{Answer, KeepBody, KeepConfig, KeepError, KeptRequest};
use crate::error::{BoxError, StepsError, wrong};
use crate::steps::Steps;
use crate::store::Store;
use crate::workflow::Workflow;

/// Keeps the requests that a breaker below rejects, or that fail temporarily, as jobs: made by [`KeepConfig::layer`].
///
/// | the service below | returned |
/// |---|---|
/// | a response that is not a failure | [`Answer::Now`] |
/// | the rejection of a breaker, found in the chain of the error | [`Answer::Kept`]; that was no try, unless a retry below had made some |
/// | a response or an error that is a temporary failure | [`Answer::Kept`]; that was the first try, due again by the schedule and not before its `Retry-After` |
/// | the same, of a request that may not be kept | unchanged |
/// | the same, of one that may be kept, but is too large, or one too many | unchanged, with a [`NotKept`](super::NotKept) that names the limit: [`KeepError::not_kept`], or among the extensions of the response |
/// | another error | unchanged, within a [`KeepError`] |
///
/// From the moment its body has been read, a request that may be kept goes on without its caller as a
/// [call](crate::Steps::call_or_keep) does: it is done, or kept, and a store that has no room for it then is asked
/// again like one that fails. No more than [may be kept](KeepConfig::most) do so. If the schedule has no second try, a
/// person is notified.
///
/// A request that is not done within the [time limit](crate::StepsBuilder::time_limit) of the steps, 10
/// min unless set, is aborted, and counts as a temporary failure. A shorter limit belongs below the breaker, where it
/// counts.
///
/// The service must be `Clone`, as clients are: the layer is always ready, and waits until a clone is. The future of
/// each request is boxed.
///
/// `Q` is the body type of the requests.
pub struct KeepLayer<D, Q>(Arc<Keeper<D>>, PhantomData<fn(Q)>);

impl KeepConfig {
    /// The layer above a breaker: keeps requests as jobs of this workflow, which [`replay`](Self::replay) made.
    ///
    /// # Errors
    /// [`StepsError`] says what is wrong.
    pub fn layer<D: Store, Q>(
        &self,
        steps: &Steps<D>,
        later: &Workflow<KeptRequest>,
    ) -> Result<KeepLayer<D, Q>, StepsError> {
        self.check()?;
        let (kind, inner) = (later.kind(), &steps.0);
        let [step] = &later.plan.steps[..] else {
            let fix = "take it as `replay` made it";
            return wrong(format!("workflow {kind:?} does not have one step: {fix}"));
        };
        let room = inner.lanes.get(step.lane);
        let (true, Some(room)) = (inner.workflows.contains_key(kind), room) else {
            let fix = "give it to the builder of the steps";
            return wrong(format!("workflow {kind:?} is not known here: {fix}"));
        };
        let keeper = Keeper {
            config: self.clone(),
            room: Arc::clone(room),
            inner: Arc::clone(inner),
            later: later.clone(),
        };
        Ok(KeepLayer(Arc::new(keeper), PhantomData))
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

    fn layer(&self, client: S) -> Self::Service {
        let client = Mutex::new(client);
        let client = move |request| -> Sent<B> {
            let client = client.lock().unwrap_or_else(PoisonError::into_inner);
            let sent = Oneshot::new(client.clone(), request);
            Box::pin(async move { sent.await.map_err(Into::into) })
        };
        KeepService {
            client: Arc::new(client),
            layer: self.clone(),
        }
    }
}

/// The type is erased, so that its requests can be made in tasks whatever it holds.
type Client<Q, B> = dyn Fn(Request<KeepBody<Q>>) -> Sent<B> + Send + Sync;

/// The service of a [`KeepLayer`].
pub struct KeepService<D, Q: Body, B> {
    client: Arc<Client<Q, B>>,
    layer: KeepLayer<D, Q>,
}

impl<D, Q: Body, B> Clone for KeepService<D, Q, B> {
    fn clone(&self) -> Self {
        Self {
            client: Arc::clone(&self.client),
            layer: self.layer.clone(),
        }
    }
}

impl<D, Q: Body, B> fmt::Debug for KeepService<D, Q, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeepService").field(&self.layer).finish()
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
        let keeper = Arc::clone(&self.layer.0);
        let client = Arc::clone(&self.client);
        let ask = move |parts, body| client(Request::from_parts(parts, body));
        let (parts, body) = request.into_parts();
        Box::pin(async move {
            let config = &keeper.config;
            if !(config.may)(&parts) {
                return not_kept(ask(parts, KeepBody::unread(body)).await, None);
            }
            let read = match config.allowed(&parts) {
                Ok(headers) => KeepBody::read(body, config.largest_body)
                    .await
                    .map(|body| (headers, body)),
                Err(why) => Err((why, KeepBody::unread(body))),
            };
            match read {
                Ok((headers, body)) => {
                    let request = Keepable::new(config, &parts, headers, body.clone());
                    let sent = ask(parts, KeepBody::whole(body));
                    keeper.send(request, sent).await
                }
                Err((why, body)) => {
                    let answer = ask(parts, body).await;
                    // A request that succeeded was not meant to be kept.
                    let is_undone = config.undone(&answer).is_some();
                    not_kept(answer, is_undone.then_some(why))
                }
            }
        })
    }
}
