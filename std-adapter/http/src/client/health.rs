// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asks hosts that are shut out whether they are back.

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use atomic_breaker::{Clock, wait::Prober};
use http::uri::PathAndQuery;
use http::{Request, Uri};
use tower::ServiceExt;
use tower_service::Service;

use super::key::GuardedKey;
use super::tries::address;
use super::{ClientConfigError, ClientGuard};
use crate::head::ResponseHead;
use crate::origin::Origin;

impl<C: Clock> ClientGuard<C> {
    /// A health check of the hosts whose breakers are open: each is sent a GET for this path, and served again as soon as
    /// it answers with a status of 2xx. So an outage ends without risking a request of a caller. A host that has sent a
    /// `Retry-After` is not asked before its open time is over, however much of it that was.
    ///
    /// # Errors
    /// When the path does not begin with `/`, or is not one.
    pub fn health_check(&self, path: &str) -> Result<HealthCheck<'_, C>, ClientConfigError> {
        let parsed = PathAndQuery::try_from(path);
        let path = parsed.ok().filter(|_| path.starts_with('/'));
        let path = path.ok_or_else(|| {
            ClientConfigError::of("the path of a health check begins with a slash, such as /health")
        })?;
        Ok(self.health_check_at(move |host| uri_of(host, &path)))
    }
}

impl<C: Clock, K: GuardedKey> ClientGuard<C, K> {
    /// [`health_check`](ClientGuard::health_check) for any [key](Self#other-keys): a GET for the URI that `uri` says; a key
    /// without one is neither asked nor repaired.
    ///
    /// ```
    /// # use atomic_breaker_http::{ClientConfig, ClientGuard, StdClock};
    /// # use std::sync::LazyLock;
    /// static SHARDS: LazyLock<ClientGuard<StdClock, u16>> =
    ///     LazyLock::new(|| ClientGuard::by_key(ClientConfig::new(), StdClock, ()).expect("constant settings"));
    ///
    /// let check = SHARDS.health_check_at(|shard| format!("http://shard-{shard}.internal/health").parse().ok());
    /// # drop(check);
    /// ```
    pub fn health_check_at(
        &self,
        uri: impl Fn(&K) -> Option<Uri> + Send + Sync + 'static,
    ) -> HealthCheck<'_, C, K> {
        HealthCheck {
            guard: self,
            uri: Box::new(uri),
            pause: Duration::from_secs(5),
            answers: 1,
            time_limit: self.config().try_limit,
            at_once: 8,
        }
    }
}

/// Asks the hosts whose breakers are open whether they are back: [`ClientGuard::health_check`].
///
/// ```
/// use atomic_breaker_http::{ClientConfig, ClientConfigError, ClientGuard, Origin};
/// # use http::{Request, Response};
/// use std::{sync::Arc, sync::LazyLock, time::Duration};
///
/// static GUARD: LazyLock<ClientGuard> =
///     LazyLock::new(|| ClientGuard::new(ClientConfig::new()).expect("constant settings"));
///
/// # async fn forget_addresses_of(_: &Origin) {}
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), ClientConfigError> {
/// # let client = tower::service_fn(|_: Request<String>| async { Ok::<_, std::io::Error>(Response::new(())) });
/// let check = GUARD.health_check("/health")?.every(Duration::from_secs(2)).time_limit(Duration::from_secs(10));
/// // The first answer may take a repair, here of addresses that are out of date.
/// let repair = |host: Arc<Origin>, trips| async move {
///     if trips > 2 {
///         forget_addresses_of(&host).await;
///     }
///     Ok::<(), std::io::Error>(())
/// };
/// tokio::spawn(check.run_repairing(client, repair));
/// # Ok(()) }
/// ```
///
/// [`Registry::run_prober`](crate::Registry::run_prober) says which hosts are asked, and how often. Redirects are the
/// client's matter. A host that was called by a `Host` header alone has no scheme, and is asked by `http`.
///
/// A host may answer here and fail elsewhere: choose a path that needs what requests need.
#[must_use = "a health check does nothing until it runs"]
pub struct HealthCheck<'g, C, K = Origin> {
    guard: &'g ClientGuard<C, K>,
    uri: UriOf<K>,
    pause: Duration,
    answers: u32,
    time_limit: Duration,
    at_once: usize,
}

/// The URI to request for a key.
type UriOf<K> = Box<dyn Fn(&K) -> Option<Uri> + Send + Sync>;

impl<C: Clock, K: GuardedKey> HealthCheck<'_, C, K> {
    /// Sets the time for which a host is left alone between two checks: 5 s unless set.
    pub const fn every(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Sets the number of answers in a row that end an outage: 1 unless set, 0 counts as 1.
    pub const fn answers(mut self, answers: u32) -> Self {
        self.answers = answers;
        self
    }

    /// Sets the time limit of an answer, with the repair before it: the guard's limit of a try unless set.
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Sets the number of hosts that are asked at a time, and in each pause: 8 unless set, 0 counts as 1.
    pub const fn at_once(mut self, hosts: usize) -> Self {
        self.at_once = hosts;
        self
    }

    /// Asks hosts through this client forever, in a task of its own. The client may be the guarded one or the one inside:
    /// the guard lets these requests pass, and neither counts them nor gives them further tries. If the client takes bodies of
    /// any type, as `HttpClient` does, name one: `check.run::<_, String>(client)`.
    pub async fn run<S, B>(self, client: S) -> !
    where
        S: Service<Request<B>, Response: ResponseHead> + Clone,
        B: Default,
    {
        let nothing = |_, _| async { Ok::<(), Infallible>(()) };
        self.run_repairing(client, nothing).await
    }

    /// [`run`](Self::run) with a repair before each check. It is given the host, or other key, and how far to go, as
    /// [`Registry::run_prober`](crate::Registry::run_prober) says; if it fails, the host is not asked.
    pub async fn run_repairing<S, B, E, F>(self, client: S, repair: impl Fn(Arc<K>, u8) -> F) -> !
    where
        S: Service<Request<B>, Response: ResponseHead> + Clone,
        B: Default,
        F: Future<Output = Result<(), E>>,
    {
        let (client, repair, uri) = (&client, &repair, &self.uri);
        let ping = |key: Arc<K>, trips| async move {
            // Before the repair, which is for keys that are asked.
            let uri = uri(&key).ok_or(())?;
            repair(key, trips).await.map_err(drop)?;
            let under_way = Arc::new(());
            let mut request = Request::new(B::default());
            *request.uri_mut() = uri;
            let check = CheckPass::new(self.guard, &under_way);
            request.extensions_mut().insert(check);
            let answer = client.clone().oneshot(request).await.map_err(drop)?;
            answer.status().is_success().then_some(()).ok_or(())
        };
        let prober = Prober::every(self.pause).answers(self.answers);
        let prober = prober.time_limit(self.time_limit);
        let hosts = self.guard.hosts();
        hosts.run_prober(prober, self.at_once, ping).await
    }
}

/// An extension of a request that is a health check: a layer of the same guard lets it pass as if it were not there.
#[derive(Clone)]
struct CheckPass {
    /// The address of the guard.
    guard: usize,
    /// A request kept beyond its probe must not bypass an open breaker.
    under_way: Weak<()>,
}

impl CheckPass {
    fn new<C, K>(guard: &ClientGuard<C, K>, under_way: &Arc<()>) -> Self {
        Self {
            guard: address(guard),
            under_way: Arc::downgrade(under_way),
        }
    }
}

/// Returns whether a request is a health check of this guard.
pub(super) fn is_check<C, K, B>(guard: &ClientGuard<C, K>, request: &Request<B>) -> bool {
    let check = request.extensions().get::<CheckPass>();
    check.is_some_and(|it| it.guard == address(guard) && it.under_way.strong_count() > 0)
}

fn uri_of(host: &Origin, path: &PathAndQuery) -> Option<Uri> {
    let scheme = if host.scheme().is_some() {
        ""
    } else {
        "http://"
    };
    format!("{scheme}{host}{path}").parse().ok()
}

impl<C, K> fmt::Debug for HealthCheck<'_, C, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HealthCheck")
            .field("every", &self.pause)
            .field("answers", &self.answers)
            .field("time_limit", &self.time_limit)
            .field("at_once", &self.at_once)
            .finish_non_exhaustive()
    }
}
