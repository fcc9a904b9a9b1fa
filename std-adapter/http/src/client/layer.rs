//! The layer around a client.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::task::{Context, Poll};

use atomic_breaker::Outcome;
use http::Request;
use tower::util::MapErr;
use tower_layer::Layer;
use tower_service::Service;

use super::ClientGuard;
use super::deadline::DeadlineService;
use super::ending::{AtEndOfBody, Ending, Tried};
use super::fresh::Fresh;
use super::handle::{AnyClientGuard, BudgetOfHost, HostsOf};
use super::outlive::TryService;
use crate::{
    BreakerLayer, ByMethod, HttpBodyRule, HttpClassifier, KeyedPermit, Origin, PerHost, Report,
    ReportingBody, RequestError, RetryLayer, RetryPolicy, RetryService, ServiceError, StdClock,
    TimeLimitLayer, TimeLimitService, Timed, UsualErrors, UsualStatuses, WithCauses,
};

/// The layer of a [`ClientGuard`]: deadline, retry, breaker of the host, limit of a try. `B` is the body of requests,
/// which must be `Clone` to be sent again; `H` leads to the guard; `X` judges the errors of the client.
///
/// The client, its futures and the requests must be `Send`, as a try may continue in a task of its own when its caller
/// leaves. The error of the client must be an [`Error`], so that the last failure in a rejection names its causes; a
/// boxed one becomes one with `.map_err(std::io::Error::other)` below this layer.
///
/// # Panics
/// A call panics outside of a tokio runtime with time enabled: the limits use tokio's timers.
#[derive(Clone)]
pub struct ClientLayer<B, H = &'static ClientGuard, X = UsualErrors> {
    guard: H,
    origin: Option<Origin>,
    errors: X,
    body: PhantomData<fn(B)>,
}

impl<B, H: AnyClientGuard> ClientLayer<B, H> {
    /// The layer of a guard in an `Arc`, so that the guard is freed with the last client; a `&'static` guard has
    /// [`ClientGuard::layer`]. Each request clones the `Arc` a few times, and these clones make all threads write to the
    /// same memory: under load from many threads use a `static`, or [leak](ClientGuard::leak) the guard.
    ///
    /// ```
    /// use atomic_breaker_http::{ClientConfig, ClientGuard, ClientLayer, ClientService};
    /// use http::{Request, Response};
    /// use std::{io, sync::Arc};
    /// use tower::{Layer, util::BoxCloneSyncService};
    ///
    /// # type Client = BoxCloneSyncService<Request<String>, Response<String>, io::Error>;
    /// # fn client(client: Client) -> Result<(), atomic_breaker_http::ClientConfigError> {
    /// let guard = Arc::new(ClientGuard::new(ClientConfig::new())?);
    /// let client: ClientService<Client, String, Arc<ClientGuard>> = ClientLayer::of(guard).layer(client);
    /// # let _ = client;
    /// # Ok(())
    /// # }
    /// ```
    pub const fn of(guard: H) -> Self {
        Self {
            guard,
            origin: None,
            errors: UsualErrors,
            body: PhantomData,
        }
    }
}

impl<B, H, X> ClientLayer<B, H, X> {
    /// What each error of the client says about the host, in place of [`UsualErrors`]. The closure must name the type
    /// of the error; cast to `fn(&E) -> Outcome` its type can be written in a struct. A timeout of a try is always a
    /// failure.
    ///
    /// ```
    /// use atomic_breaker_http::{ClientConfig, ClientGuard, ErrorRule, Failure, Outcome, UsualErrors};
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
    pub fn errors<E, F: Fn(&E) -> Outcome>(self, errors: F) -> ClientLayer<B, H, F> {
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
    /// use atomic_breaker_http::{ClientConfig, ClientGuard, Origin};
    /// use http::Uri;
    ///
    /// let guard = ClientGuard::new(ClientConfig::new()).expect("constant settings").leak();
    /// let items = Origin::of(&Uri::from_static("https://items.example"))?;
    /// let layer = guard.layer::<String>().with_origin(items);
    /// # let _ = layer;
    /// # Ok::<(), atomic_breaker_http::OriginError>(())
    /// ```
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }
}

type Http<X> = HttpClassifier<UsualStatuses, Tried<X>>;
type EndOf<H, X> = <<H as AnyClientGuard>::Ending as Ending>::Report<X>;
type Try<S, E, H> = TimeLimitService<MapErr<Fresh<S, H>, fn(E) -> WithCauses<E>>>;
type Tries<S, E, B, H, X> =
    TryService<Try<S, E, H>, PerHost<HostsOf<H>>, EndOf<H, X>, Request<B>, H>;
type Policy<H, X> = RetryPolicy<BudgetOfHost<H>, ByMethod, Http<X>, HttpClassifier>;
type Retried<S, E, B, H, X> = DeadlineService<RetryService<Tries<S, E, B, H, X>, Policy<H, X>>>;
type Flatten<E> = fn(Timed<ServiceError<Timed<WithCauses<E>>>>) -> RequestError<E>;

/// A client that a [`ClientLayer`] can guard: a [`Service`] of `Request<B>`s that can be cloned, and whose error is an
/// [`Error`]. Nothing needs to implement it.
pub trait Guarded<B, H = &'static ClientGuard, X = UsualErrors>: Service<Request<B>> {
    #[doc(hidden)]
    type Stack: Service<Request<B>, Error = RequestError<Self::Error>>;
}

impl<S, E, B, H, X> Guarded<B, H, X> for S
where
    S: Service<Request<B>, Error = E> + Clone,
    E: Error + 'static,
    B: Clone,
    H: AnyClientGuard,
    EndOf<H, X>: Report<S::Response, Timed<WithCauses<E>>> + Clone,
    MapErr<Retried<S, E, B, H, X>, Flatten<E>>: Service<Request<B>, Error = RequestError<E>>,
{
    type Stack = MapErr<Retried<S, E, B, H, X>, Flatten<E>>;
}

/// A client behind a [`ClientLayer`]: a [`Service`] of `Request<B>`s, whose error is a [`RequestError`]. Its type can be
/// written in a struct:
///
/// | parameter | |
/// |---|---|
/// | `S` | the client: hyper-util's `Client<HttpConnector, B>`, `HttpClient` for reqwest, or any other that is [`Guarded`] |
/// | `B` | the body of its requests |
/// | `H` | what leads to the guard: `Arc<ClientGuard>` unless the guard is `'static`; a guard with another clock, or one that [reports at the end of the body](crate::ClientConfig::at_end_of_body), is `&'static ClientGuard<StdClock, AtEndOfBody>` |
/// | `X` | the rule for the client's errors, if it was [replaced](ClientLayer::errors): `fn(&E) -> Outcome` |
///
/// ```
/// use atomic_breaker_http::{ClientConfig, ClientGuard, ClientService};
/// use http::{Request, Response};
/// use std::{io, sync::LazyLock};
/// use tower::{BoxError, Layer, ServiceExt, util::BoxCloneSyncService};
///
/// # type Client = BoxCloneSyncService<Request<String>, Response<String>, io::Error>;
/// static GUARD: LazyLock<ClientGuard> =
///     LazyLock::new(|| ClientGuard::new(ClientConfig::new()).expect("constant settings"));
///
/// struct Shop {
///     client: ClientService<Client, String>,
/// }
///
/// impl Shop {
///     fn new(client: Client) -> Self {
///         Self { client: GUARD.layer().layer(client) }
///     }
///
///     async fn items(&self) -> Result<String, BoxError> {
///         let request = Request::get("https://shop.example/items").body(String::new())?;
///         Ok(self.client.clone().oneshot(request).await?.into_body())
///     }
/// }
/// # let _ = (Shop::new, Shop::items);
/// ```
pub struct ClientService<S, B, H = &'static ClientGuard, X = UsualErrors>(S::Stack)
where
    S: Guarded<B, H, X>;

/// The body of a response of a [`ClientService`] that reports a try at the [end of the
/// body](crate::ClientConfig::at_end_of_body). `B` is the body of the client inside. Other clients return their
/// responses as they are.
pub type ClientBody<B, H = &'static ClientGuard<StdClock, AtEndOfBody>> =
    ReportingBody<B, KeyedPermit<HostsOf<H>>, HttpBodyRule<UsualErrors>>;

impl<S: Guarded<B, H, X>, B, H, X> Service<Request<B>> for ClientService<S, B, H, X> {
    type Response = <S::Stack as Service<Request<B>>>::Response;
    type Error = RequestError<S::Error>;
    type Future = <S::Stack as Service<Request<B>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.0.call(request)
    }
}

impl<S: Guarded<B, H, X, Stack: Clone>, B, H, X> Clone for ClientService<S, B, H, X> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Guarded<B, H, X>, B, H, X> fmt::Debug for ClientService<S, B, H, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientService").finish_non_exhaustive()
    }
}

impl<S, E, B, H, X> Layer<S> for ClientLayer<B, H, X>
where
    S: Service<Request<B>, Error = E, Future: Send + 'static>,
    S: Guarded<B, H, X, Stack = MapErr<Retried<S, E, B, H, X>, Flatten<E>>>,
    S: Clone + Send + 'static,
    E: Error + 'static,
    B: Clone + Send + 'static,
    H: AnyClientGuard<Clock: Send + Sync> + Send + Sync + 'static,
    EndOf<H, X>: Report<S::Response, Timed<WithCauses<E>>> + Clone + Send + 'static,
    X: Clone,
{
    type Service = ClientService<S, B, H, X>;

    fn layer(&self, client: S) -> Self::Service {
        let config = self.guard.config();
        let by_host = PerHost::new(HostsOf(self.guard.clone()));
        let by_host = match &self.origin {
            Some(origin) => by_host.with_origin(origin.clone()),
            None => by_host,
        };
        let http = || HttpClassifier::with_rules(UsualStatuses, Tried(self.errors.clone()));
        let budget = BudgetOfHost::new(self.guard.clone(), self.origin.clone());
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
            .report(H::Ending::report(http(), config.probes_at_end))
            .layer(service);
        let service = TryService::new(service, self.guard.clone());
        let service = RetryLayer::new(retry).layer(service);
        let service = DeadlineService::new(service, config.deadline);
        ClientService(MapErr::new(service, RequestError::flatten as fn(_) -> _))
    }
}

impl<B, H: fmt::Debug, X> fmt::Debug for ClientLayer<B, H, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientLayer")
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}
