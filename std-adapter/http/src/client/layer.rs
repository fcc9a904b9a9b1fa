// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layer around a client.

#[cfg(feature = "reqwest")]
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker::Clock;
use atomic_breaker_tower::RetryLayer;
use http::Request;
use tokio::time::timeout;
use tower::ServiceExt;
use tower_layer::Layer;
use tower_service::Service;

use super::ClientGuard;
use super::ending::{AtEitherEnd, ClientResponse, GuardedBody, Responded, Tried};
use super::guard::HostsOf;
use super::health::is_check;
use super::key::{ByAnyKey, ByHost, FindKey, GuardedKey};
use super::tries::{Host, Tries, TryPermit, fresh};
#[cfg(feature = "reqwest")]
use crate::callers_limit::CallersLimit;
use crate::causes::RequestError;
use crate::classifier::HttpClassifier;
#[cfg(feature = "reqwest")]
use crate::client_error::ClientError;
use crate::errors::ErrorRule;
use crate::origin::Origin;
use crate::retries::Deadline;
use crate::usual_errors::UsualErrors;

/// The layer of a [`ClientGuard`]: deadline, retry, breaker of the host, limit of a try. `B` is the body of requests,
/// which must be `Clone` to be sent again; `H` leads to the guard; `X` judges the errors of the client.
///
/// One layer of a guard is enough. With two in a stack each counts and retries, and a probe of the outer one passes the
/// inner one. A layer between them that makes other requests of its own to the same host while it is half-open is
/// rejected.
///
/// The client must be `Clone` and `Sync`, and its futures, responses, errors and requests `Send`, as a try may continue in
/// a task of its own when its caller leaves. The error of the client must be an [`Error`], so that the last failure in a
/// rejection names its causes; a boxed one becomes one with `.map_err(std::io::Error::other)` below this layer.
///
/// # Panics
/// A call panics outside of a tokio runtime with time enabled: the limits use tokio's timers.
///
/// `F` finds the key of a request: its host, or what [`keyed`](Self::keyed) says.
#[derive(Clone)]
pub struct ClientLayer<B, H = &'static ClientGuard, X = UsualErrors, F = ByHost> {
    guard: H,
    find: F,
    errors: X,
    body: PhantomData<fn(B)>,
}

impl<C: Clock, K> ClientGuard<C, K> {
    /// The layer around a client. However often it is created, all layers share the breakers and the budgets. A guard in
    /// an `Arc` has [`ClientLayer::new`].
    pub const fn layer<B>(&'static self) -> ClientLayer<B, &'static Self> {
        ClientLayer::new(self)
    }
}

impl<B, H> ClientLayer<B, H> {
    /// The layer of a guard in an `Arc`, so that the guard is freed with the last client; a `&'static` guard has
    /// [`ClientGuard::layer`]. Each request clones the `Arc` a few times, and these clones make all threads write to the
    /// same memory: under load from many threads use a `static`, or [leak](ClientGuard::leak) the guard.
    pub const fn new(guard: H) -> Self {
        Self {
            guard,
            find: ByHost { origin: None },
            errors: UsualErrors,
            body: PhantomData,
        }
    }
}

impl<B, H, X, F> ClientLayer<B, H, X, F> {
    /// Sets the outcome of each error of the client, in place of [`UsualErrors`]: another [rule](crate::ErrorRule), or
    /// a closure, which must name the type of the error; [`UsualErrors`] shows one. A timeout of a try is always a
    /// failure.
    pub fn errors<Y>(self, errors: Y) -> ClientLayer<B, H, Y, F> {
        ClientLayer {
            guard: self.guard,
            find: self.find,
            errors,
            body: PhantomData,
        }
    }

    /// Finds the key of a request in another way than by its host: for a guard with [other
    /// keys](ClientGuard#other-keys), or to give requests another host than that of their URI.
    pub fn keyed<K, G: Fn(&Request<B>) -> K>(self, key: G) -> ClientLayer<B, H, X, ByAnyKey<G>> {
        ClientLayer {
            guard: self.guard,
            find: ByAnyKey(key),
            errors: self.errors,
            body: PhantomData,
        }
    }
}

impl<B, H, X> ClientLayer<B, H, X> {
    /// The host of requests whose URI and headers name none. Without it they are rejected, with an error that says so
    /// ([`Rejection::is_without_key`](crate::Rejection::is_without_key)): with one breaker for all such requests, one
    /// failing host would shut out the others.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.find.origin = Some(origin);
        self
    }
}

impl<S, E, B, H, C, K, X, F> Layer<S> for ClientLayer<B, H, X, F>
where
    S: Service<Request<B>, Error = E, Response: ClientResponse + Send, Future: Send>,
    S: Clone + Send + Sync + 'static,
    E: Error + Send + 'static,
    B: Clone + Send + 'static,
    H: Deref<Target = ClientGuard<C, K>> + Clone + Send + Sync + 'static,
    C: Clock + Send + Sync + 'static,
    K: GuardedKey,
    F: FindKey<B, K> + Clone + Send + Sync + 'static,
    X: ErrorRule<E> + Clone + Send + Sync + 'static,
{
    type Service = ClientService<B, <S::Response as ClientResponse>::Guarded<TryPermit<H>>, E>;

    fn layer(&self, client: S) -> Self::Service {
        let (guard, find) = (self.guard.clone(), self.find.clone());
        let config = *guard.config();
        let http = HttpClassifier::new().trip_on_429(config.trip_on_429);
        let http = http.errors(Tried(self.errors.clone()));
        let retry = RetryLayer::new(config.retry(), HostsOf(guard.clone()), http.clone());
        let retry = retry.observer(key_of::<K, B>, HostsOf(guard.clone()));
        let http = config.judge(http);
        let unguarded = client.clone();
        let retried = retry.layer(Tries {
            client,
            guard: guard.clone(),
            report: AtEitherEnd {
                http,
                at_end: config.at_end,
            },
        });
        ClientService(Arc::new(move |mut request: Request<B>| {
            if is_check(&guard, &request) {
                let sent = fresh(unguarded.clone(), request, || true);
                return Box::pin(async move {
                    let response = sent.await.map_err(RequestError::Failed)?;
                    Ok(ClientResponse::guarded(Responded::AtHead(response)))
                });
            }
            let key = match find.key_of(&request) {
                Ok(key) => key,
                Err(rejection) => {
                    return Box::pin(async { Err(RequestError::Rejected(rejection)) });
                }
            };
            let host = Host {
                budget: guard.budgets.place_of(&key),
                share: F::shared,
                key,
            };
            let (time, passed) = time_of(&mut request, config.deadline);
            let request = request.map(|body| (host, body));
            // `timeout` would make the request before it looks at the time.
            let sent = (!time.is_zero()).then(|| timeout(time, retried.clone().oneshot(request)));
            Box::pin(async move {
                let result = match sent {
                    Some(sent) => sent.await.ok(),
                    None => None,
                };
                match result {
                    Some(Ok(ended)) => Ok(ClientResponse::guarded(ended)),
                    Some(Err(error)) => Err(RequestError::of(error)),
                    None => Err(passed()),
                }
            })
        }))
    }
}

/// The key of a request, for the observer of its retries.
fn key_of<K, B>(request: &Request<(Host<K>, B)>) -> K {
    request.body().0.shared()
}

/// The time limit of a request, and the function that makes the error of a timeout: the client's error if it is a limit
/// which the client would have kept. It is the caller that leaves then, and its try continues.
fn time_of<B, E: 'static>(
    request: &mut Request<B>,
    deadline: Duration,
) -> (
    Duration,
    impl FnOnce() -> RequestError<E> + Send + use<B, E>,
) {
    let own = request.extensions().get().map(|&Deadline(own)| own);
    let own = own.filter(|own| *own < deadline);
    let (time, is_own) = (own.unwrap_or(deadline), own.is_some());
    #[cfg(feature = "reqwest")]
    let (time, passed) = match CallersLimit::take_from(request.extensions_mut()) {
        Some(limit) if limit.limit <= time => {
            // No pause before a retry begins that would not end before it.
            request.extensions_mut().insert(Deadline(limit.limit));
            (limit.limit, Some(limit))
        }
        _ => (time, None),
    };
    #[cfg(feature = "reqwest")]
    let is_own = is_own || passed.is_some();
    let error = move || {
        #[cfg(feature = "reqwest")]
        {
            // The client may be beneath others that change its errors.
            let mut error = passed.map(ClientError::passed);
            let error = (&mut error as &mut dyn Any).downcast_mut::<Option<E>>();
            if let Some(error) = error.and_then(Option::take) {
                return RequestError::Failed(error);
            }
        }
        if is_own {
            RequestError::OwnDeadlineExceeded
        } else {
            RequestError::DeadlineExceeded
        }
    };
    (time, error)
}

/// A client behind a [`ClientLayer`]: a [`Service`] of `Request<B>`s, whose responses are `T`, and whose error is a
/// [`RequestError`] around the client's own error `E`. Clones share everything. With hyper-util `T` is a
/// `Response<`[`ClientBody`]`<Incoming>>`, with `HttpClient` it is `reqwest::Response`.
///
/// A request takes two allocations more than the client's own: one for itself, and one for each try, which may move
/// into a task.
///
/// ```
/// use atomic_breaker_http::{ClientBody, ClientConfig, ClientGuard, ClientService};
/// use http::{Request, Response};
/// use http_body_util::BodyExt;
/// use std::{io, sync::LazyLock};
/// use tower::{BoxError, Layer, ServiceExt, util::BoxCloneSyncService};
///
/// # type Client = BoxCloneSyncService<Request<String>, Response<String>, io::Error>;
/// static GUARD: LazyLock<ClientGuard> =
///     LazyLock::new(|| ClientGuard::new(ClientConfig::new()).expect("constant settings"));
///
/// struct Shop {
///     client: ClientService<String, Response<ClientBody<String>>, io::Error>,
/// }
///
/// impl Shop {
///     fn new(client: Client) -> Self {
///         Self { client: GUARD.layer().layer(client) }
///     }
///
///     async fn items(&self) -> Result<Vec<u8>, BoxError> {
///         let request = Request::get("https://shop.example/items").body(String::new())?;
///         let response = self.client.clone().oneshot(request).await?;
///         Ok(response.into_body().collect().await?.to_bytes().into())
///     }
/// }
/// # let _ = (Shop::new, Shop::items);
/// ```
pub struct ClientService<B, T, E>(Arc<Sending<B, T, E>>);

type Sending<B, T, E> = dyn Fn(Request<B>) -> Answer<T, E> + Send + Sync;
type Answer<T, E> = Pin<Box<dyn Future<Output = Result<T, RequestError<E>>> + Send>>;

/// The body of a response of a [`ClientService`]: `B`, the body of the client inside, which carries its permit if tries are
/// reported at the [end of the body](crate::ClientConfig::at_end_of_body). `H` leads to the guard.
pub type ClientBody<B, H = &'static ClientGuard> = GuardedBody<B, TryPermit<H>>;

impl<B, T, E> Service<Request<B>> for ClientService<B, T, E> {
    type Response = T;
    type Error = RequestError<E>;
    type Future = Answer<T, E>;

    /// Always ready: the client's readiness is awaited within each try.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        (self.0)(request)
    }
}

impl<B, T, E> Clone for ClientService<B, T, E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<B, T, E> fmt::Debug for ClientService<B, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientService").finish_non_exhaustive()
    }
}

impl<B, H: fmt::Debug, X, F> fmt::Debug for ClientLayer<B, H, X, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientLayer")
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}
