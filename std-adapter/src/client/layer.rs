//! What goes around a client.

use std::error::Error;
use std::fmt;

use atomic_breaker::{Clock, Outcome};
use http::Request;
use tower::retry::Retry;
use tower::util::MapErr;
use tower_layer::Layer;

use super::{AtHead, ClientGuard, Ending, Hosts, RequestError, Tried};
use crate::http::{HttpClassifier, Origin, UsualErrors, UsualStatuses, WithCauses};
use crate::registry::{ByKey, KeyedObserver};
use crate::retry::{ByMethod, RetryBudget, RetryLayer, RetryPolicy};
use crate::tower::{BreakerLayer, BreakerService, TimeLimitLayer, TimeLimitService};
use crate::{ServiceError, StdClock, Timed};

/// The layer of a [`ClientGuard`]: deadline, retry, breaker of the host, limit of a try. `B` is the body of
/// requests, which must be `Clone` to be sent again; `X` says what the errors of the client are.
///
/// The error of the client must be an [`Error`], so that the last failure beside a rejection names its causes; a boxed
/// one becomes one by `.map_err(std::io::Error::other)` below this layer.
pub struct ClientLayer<
    B,
    C: 'static = StdClock,
    O: 'static = (),
    R: 'static = AtHead,
    X = UsualErrors,
> {
    guard: &'static ClientGuard<C, O, R>,
    key: fn(&Request<B>) -> Origin,
    errors: X,
}

type OfHost<B, C, O> = ByKey<&'static Hosts<C, O>, fn(&Request<B>) -> Origin>;
type Tries<S, E> = TimeLimitService<MapErr<S, fn(E) -> WithCauses<E>>>;
type Guarded<S, E, B, C, O, R, X> =
    BreakerService<Tries<S, E>, OfHost<B, C, O>, <R as Ending>::Report<X>>;
type Http<X> = HttpClassifier<UsualStatuses, Tried<X>>;
type Policy<X> = RetryPolicy<&'static RetryBudget, ByMethod, Http<X>, HttpClassifier>;
type Retried<S, E, B, C, O, R, X> =
    TimeLimitService<Retry<Policy<X>, Guarded<S, E, B, C, O, R, X>>>;
type Flatten<E> = fn(Timed<ServiceError<Timed<WithCauses<E>>>>) -> RequestError<E>;

/// The service of a [`ClientLayer`]; `E` is the error of the client.
pub type ClientService<S, E, B, C = StdClock, O = (), R = AtHead, X = UsualErrors> =
    MapErr<Retried<S, E, B, C, O, R, X>, Flatten<E>>;

impl<B, C, O, R> ClientLayer<B, C, O, R>
where
    C: Clock + Default,
    O: KeyedObserver<Origin>,
{
    pub(super) fn new(guard: &'static ClientGuard<C, O, R>) -> Self {
        Self {
            guard,
            key: Origin::of_request::<B>,
            errors: UsualErrors,
        }
    }
}

impl<B, C, O, R, X> ClientLayer<B, C, O, R, X> {
    /// What each error of the client says about the host, in place of [`UsualErrors`]. The closure names the type of
    /// the error. A time-out of a try is a failure in any case.
    ///
    /// ```
    /// use atomic_breaker_std::client::{ClientConfig, ClientGuard};
    /// use atomic_breaker_std::http::{ErrorRule, UsualErrors};
    /// use atomic_breaker_std::{Failure, Outcome};
    /// use http::{Request, Response};
    /// use std::{io, sync::LazyLock};
    /// use tower::{ServiceBuilder, service_fn};
    ///
    /// static GUARD: LazyLock<ClientGuard> =
    ///     LazyLock::new(|| ClientGuard::new(ClientConfig::new()).expect("constant settings"));
    ///
    /// let client = ServiceBuilder::new()
    ///     .layer(GUARD.layer().errors(|error: &io::Error| match error.kind() {
    ///         io::ErrorKind::ConnectionRefused => Failure::with_weight(3).into(),
    ///         io::ErrorKind::FileTooLarge => Outcome::Ignored,
    ///         _ => UsualErrors.outcome(error),
    ///     }))
    ///     .service(service_fn(|_: Request<String>| async { Ok::<_, io::Error>(Response::new(())) }));
    /// # let _ = client;
    /// ```
    pub fn errors<E, F: Fn(&E) -> Outcome>(self, errors: F) -> ClientLayer<B, C, O, R, F> {
        ClientLayer {
            guard: self.guard,
            key: self.key,
            errors,
        }
    }
}

impl<S, B, C, O, R, X> Layer<S> for ClientLayer<B, C, O, R, X>
where
    S: tower_service::Service<Request<B>, Error: Error + 'static>,
    C: Clock + Default,
    O: KeyedObserver<Origin>,
    R: Ending<Report<X>: Clone>,
    X: Clone,
{
    type Service = ClientService<S, S::Error, B, C, O, R, X>;

    fn layer(&self, client: S) -> Self::Service {
        let guard = self.guard;
        let config = guard.config();
        let by_host = ByKey::new(guard.hosts(), self.key);
        let http = || HttpClassifier::with_rules(UsualStatuses, Tried(self.errors.clone()));
        let retry = RetryPolicy::http(config.retry(), guard.budget()).classify(http());
        let service = MapErr::new(client, WithCauses as fn(_) -> _);
        let service = TimeLimitLayer::new(config.try_limit).layer(service);
        let service = BreakerLayer::new(by_host)
            .report(R::report(http(), config.probes_at_end))
            .layer(service);
        let service = RetryLayer::new(retry).layer(service);
        let service = TimeLimitLayer::new(config.deadline).layer(service);
        MapErr::new(service, RequestError::flatten)
    }
}

impl<B, C, O, R, X: Clone> Clone for ClientLayer<B, C, O, R, X> {
    fn clone(&self) -> Self {
        Self {
            guard: self.guard,
            key: self.key,
            errors: self.errors.clone(),
        }
    }
}

impl<B, C, O, R, X: Copy> Copy for ClientLayer<B, C, O, R, X> {}

impl<B, C, O, R: fmt::Debug, X> fmt::Debug for ClientLayer<B, C, O, R, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientLayer")
            .field("guard", self.guard)
            .finish_non_exhaustive()
    }
}
