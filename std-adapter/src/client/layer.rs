//! What goes around a client.

use std::fmt;

use atomic_breaker::Clock;
use http::Request;
use tower::retry::Retry;
use tower::util::MapErr;
use tower_layer::Layer;

use super::{ClientGuard, Hosts, RequestError};
use crate::http::{HttpClassifier, Origin};
use crate::registry::{ByKey, KeyedObserver};
use crate::retry::{HttpRetryPolicy, RetryLayer, RetryPolicy};
use crate::tower::{BreakerLayer, BreakerService, TimeLimitLayer, TimeLimitService};
use crate::{ServiceError, StdClock, Timed};

/// The layer of a [`ClientGuard`]: deadline, retry, breaker of the host, limit of a try. `B` is the body of
/// requests, which must be `Clone` to be sent again.
pub struct ClientLayer<B, C: 'static = StdClock, O: 'static = ()> {
    guard: &'static ClientGuard<C, O>,
    key: fn(&Request<B>) -> Origin,
}

type OfHost<B, C, O> = ByKey<&'static Hosts<C, O>, fn(&Request<B>) -> Origin>;
type Guarded<S, B, C, O> = BreakerService<TimeLimitService<S>, OfHost<B, C, O>, HttpClassifier>;
type Retried<S, B, C, O> = TimeLimitService<Retry<HttpRetryPolicy, Guarded<S, B, C, O>>>;
type Flatten<E> = fn(Timed<ServiceError<Timed<E>>>) -> RequestError<E>;

/// The service of a [`ClientLayer`]; `E` is the error of the client.
pub type ClientService<S, E, B, C = StdClock, O = ()> = MapErr<Retried<S, B, C, O>, Flatten<E>>;

impl<B, C, O> ClientLayer<B, C, O>
where
    C: Clock + Default,
    O: KeyedObserver<Origin>,
{
    pub(super) fn new(guard: &'static ClientGuard<C, O>) -> Self {
        Self {
            guard,
            key: Origin::of_request::<B>,
        }
    }
}

impl<S, B, C, O> Layer<S> for ClientLayer<B, C, O>
where
    S: tower_service::Service<Request<B>>,
    C: Clock + Default,
    O: KeyedObserver<Origin>,
{
    type Service = ClientService<S, S::Error, B, C, O>;

    fn layer(&self, client: S) -> Self::Service {
        let guard = self.guard;
        let config = guard.config();
        let by_host = ByKey::new(guard.hosts(), self.key);
        let retry = RetryPolicy::http(config.retry(), guard.budget());
        let service = TimeLimitLayer::new(config.try_limit).layer(client);
        let service = BreakerLayer::new(by_host)
            .report(HttpClassifier::new())
            .layer(service);
        let service = RetryLayer::new(retry).layer(service);
        let service = TimeLimitLayer::new(config.deadline).layer(service);
        MapErr::new(service, RequestError::flatten)
    }
}

impl<B, C, O> Clone for ClientLayer<B, C, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B, C, O> Copy for ClientLayer<B, C, O> {}

impl<B, C, O> fmt::Debug for ClientLayer<B, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientLayer")
            .field("guard", self.guard)
            .finish_non_exhaustive()
    }
}
