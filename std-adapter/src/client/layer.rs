//! The layer around a client.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;

use atomic_breaker::{Clock, Outcome};
use http::Request;
use tower::util::MapErr;
use tower_layer::Layer;
use tower_service::Service;

use super::budget::BudgetOfHost;
use super::deadline::DeadlineService;
use super::fresh::Fresh;
use super::outlive::TryService;
use super::{AtHead, ClientGuard, Ending, Hosts, RequestError, Tried};
use crate::http::{
    ByMethod, HttpClassifier, Origin, PerHost, UsualErrors, UsualStatuses, WithCauses,
};
use crate::registry::KeyedObserver;
use crate::retry::{RetryLayer, RetryPolicy, RetryService};
use crate::tower::{BreakerLayer, TimeLimitLayer, TimeLimitService};
use crate::{Admit, Rejection, Report, ServiceError, StdClock, Timed};

/// The layer of a [`ClientGuard`]: deadline, retry, breaker of the host, limit of a try. `B` is the body of requests,
/// which must be `Clone` to be sent again; `X` judges the errors of the client.
///
/// The client, its futures and the requests must be `Send`, as a try may continue in a task of its own when its caller
/// leaves. The error of the client must be an [`Error`], so that the last failure in a rejection names its causes; a
/// boxed one becomes one with `.map_err(std::io::Error::other)` below this layer.
///
/// # Panics
/// A call panics outside of a tokio runtime with time enabled: the limits use tokio's timers.
pub struct ClientLayer<
    B,
    C: 'static = StdClock,
    O: 'static = (),
    R: 'static = AtHead,
    X = UsualErrors,
> {
    guard: &'static ClientGuard<C, O, R>,
    origin: Option<Origin>,
    errors: X,
    body: PhantomData<fn(B)>,
}

type OfHost<B, C, O> = OfRequests<B, PerHost<&'static Hosts<C, O>>>;
type Tries<S, E> = TimeLimitService<MapErr<Fresh<S>, fn(E) -> WithCauses<E>>>;
type Guarded<S, E, B, C, O, R, X> =
    TryService<Tries<S, E>, OfHost<B, C, O>, <R as Ending>::Report<X>, Request<B>>;
type Http<X> = HttpClassifier<UsualStatuses, Tried<X>>;
type Policy<X> = RetryPolicy<BudgetOfHost, ByMethod, Http<X>, HttpClassifier>;
type Retried<S, E, B, C, O, R, X> =
    DeadlineService<RetryService<Guarded<S, E, B, C, O, R, X>, Policy<X>>>;
type Flatten<E> = fn(Timed<ServiceError<Timed<WithCauses<E>>>>) -> RequestError<E>;

/// The service of a [`ClientLayer`]; `E` is the error of the client.
pub type ClientService<S, E, B, C = StdClock, O = (), R = AtHead, X = UsualErrors> =
    MapErr<Retried<S, E, B, C, O, R, X>, Flatten<E>>;

impl<B, C, O, R> ClientLayer<B, C, O, R>
where
    C: Clock,
    O: KeyedObserver<Origin>,
{
    pub(super) fn new(guard: &'static ClientGuard<C, O, R>) -> Self {
        Self {
            guard,
            origin: None,
            errors: UsualErrors,
            body: PhantomData,
        }
    }
}

impl<B, C, O, R, X> ClientLayer<B, C, O, R, X> {
    /// What each error of the client says about the host, in place of [`UsualErrors`]. The closure must name the type
    /// of the error. A timeout of a try is always a failure.
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
            origin: self.origin,
            errors,
            body: PhantomData,
        }
    }

    /// The host of requests whose URI and headers name none. Without it they are rejected, with an error that says so
    /// ([`Rejection::is_without_key`](crate::Rejection::is_without_key)): with one breaker for all such requests, one
    /// failing host would shut out the others.
    ///
    /// ```
    /// use atomic_breaker_std::client::{ClientConfig, ClientGuard};
    /// use atomic_breaker_std::http::Origin;
    /// use http::Uri;
    ///
    /// let guard = ClientGuard::new(ClientConfig::new()).expect("constant settings").leak();
    /// let items = Origin::of(&Uri::from_static("https://items.example"))?;
    /// let layer = guard.layer::<String>().with_origin(items);
    /// # let _ = layer;
    /// # Ok::<(), atomic_breaker_std::http::OriginError>(())
    /// ```
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }
}

impl<S, B, C, O, R, X> Layer<S> for ClientLayer<B, C, O, R, X>
where
    S: Service<Request<B>, Error: Error + 'static, Future: Send + 'static> + Clone + Send + 'static,
    B: Clone + Send + 'static,
    C: Clock + Send + Sync,
    O: KeyedObserver<Origin> + Send + Sync,
    R: Ending<Report<X>: Report<S::Response, Timed<WithCauses<S::Error>>> + Clone + Send + 'static>,
    X: Clone,
{
    type Service = ClientService<S, S::Error, B, C, O, R, X>;

    fn layer(&self, client: S) -> Self::Service {
        let guard = self.guard;
        let config = guard.config();
        let by_host = PerHost::new(guard.hosts());
        let by_host = match &self.origin {
            Some(origin) => by_host.with_origin(origin.clone()),
            None => by_host,
        };
        let by_host = OfRequests(by_host, PhantomData);
        let http = || HttpClassifier::with_rules(UsualStatuses, Tried(self.errors.clone()));
        let budget = BudgetOfHost::new(&guard.budgets, self.origin.clone());
        let retry = RetryPolicy::from_parts(
            config.retry(),
            budget.clone(),
            ByMethod,
            http(),
            HttpClassifier::new(),
        );
        let service = Fresh::new(client, budget);
        let service = MapErr::new(service, WithCauses as fn(_) -> _);
        let service = TimeLimitLayer::new(config.try_limit).layer(service);
        let service = BreakerLayer::new(by_host)
            .report(R::report(http(), config.probes_at_end))
            .layer(service);
        let service = TryService::new(service, &guard.rooms, guard.in_flight.as_ref());
        let service = RetryLayer::new(retry).layer(service);
        let service = DeadlineService::new(service, config.deadline);
        MapErr::new(service, RequestError::flatten)
    }
}

/// Admits requests with one type of body, so that the layer determines it: clients accept any.
pub struct OfRequests<B, A>(A, PhantomData<fn(B)>);

impl<B, A: Admit<Request<B>>> Admit<Request<B>> for OfRequests<B, A> {
    type Permit = A::Permit;

    #[inline]
    fn admit(&self, request: &Request<B>) -> Result<A::Permit, Rejection> {
        self.0.admit(request)
    }
}

impl<B, A: Clone> Clone for OfRequests<B, A> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<B, A: fmt::Debug> fmt::Debug for OfRequests<B, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<B, C, O, R, X: Clone> Clone for ClientLayer<B, C, O, R, X> {
    fn clone(&self) -> Self {
        Self {
            guard: self.guard,
            origin: self.origin.clone(),
            errors: self.errors.clone(),
            body: PhantomData,
        }
    }
}

impl<B, C, O, R: fmt::Debug, X> fmt::Debug for ClientLayer<B, C, O, R, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientLayer")
            .field("guard", self.guard)
            .finish_non_exhaustive()
    }
}
