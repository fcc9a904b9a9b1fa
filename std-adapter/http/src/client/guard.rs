// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state that outlives the requests.

use std::fmt;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker::{Clock, Config};
use atomic_breaker_server::{RetryCounts, RetryObserver, SlidingRatio, TryEvent};
use atomic_breaker_tower::RetryBudgets;

use super::rules::slow_call;
use super::{ClientConfig, ClientConfigError};
use crate::origin::Origin;
use crate::per_host::HostCounts;
use crate::{KeyedObserver, Registry, RetryBudget, StdClock};

/// The breakers of all hosts, or of all other keys.
pub type Hosts<C = StdClock, K = Origin> = Registry<K, C, SlidingRatio<C, 1>, SomeObserver<K>>;

/// The observer of a guard, if it has one.
type SomeObserver<K> = Option<Arc<dyn KeyedObserver<K> + Send + Sync>>;

/// The observer of retries.
type SomeRetryObserver<K> = Option<Arc<dyn RetryObserver<K> + Send + Sync>>;

/// The breakers of all hosts and their retry budgets. Outlives the requests: a `static`, [leaked](Self::leak), or in an
/// `Arc` ([`ClientLayer::new`](super::ClientLayer::new)). [`ClientService`](super::ClientService) shows one, `HttpClient` one around reqwest.
///
/// # Bounds
///
/// These bounds hold even if callers leave early or set shorter limits, and for the layer and the middleware alike, as
/// each try [continues](ClientConfig::outliving) to its limit, in the runtime in which it began:
///
/// - A host that fails or hangs permanently is tripped by as many of its calls as the rules require failures (ten by
///   default, and those of 100 ms), within one try limit of the last of them.
/// - A host that stays healthy is served again after the current open time (by default at most 4 s plus a fifth, or
///   what it asked for with `Retry-After`, by default at most a minute plus a fifth) and a probe, which takes at most
///   the limit of a try, or twice that with a [repair](crate::Probe::repair), and begins with the next request. If the rules require several successes or a gradual return,
///   these come on top.
///
/// A runtime that is dropped, such as one per request, ends its tries: they are [cancelled](atomic_breaker_server::Permit#dropped). If
/// callers there leave after less than half of a try's limit, a host that hangs is never tripped: set
/// [`Config::slow_call`](crate::Config::slow_call) to less than they wait, or keep one runtime for all requests.
///
/// A body that is [reported at its end](ClientConfig::at_end_of_body) has no limit here, unless its caller left before the
/// head: then it is read on within the limit of the try.
///
/// - A reader that leaves while waiting for it cancels the call: set
///   [`Config::cancel_limit`](crate::Config::cancel_limit) to more than the time that readers wait.
/// - A response that is kept without reading its body keeps its permit. If it is a probe, it keeps the slot, so calls are
///   rejected until [`Config::probe_lease`](crate::Config::probe_lease) is over, 30 s by default; the lease doubles with
///   each probe that is lost in this way, to 8 min at most. Read each body, or drop it unread, which counts as success.
///
/// # Whose fault
///
/// A dead host opens its breaker, a mistake of the caller does not: [`UsualErrors`](crate::UsualErrors) knows the
/// errors of hyper-util and reqwest, and [`ClientLayer::errors`](super::ClientLayer::errors) replaces it. The last failure in a rejection names the
/// causes of the error: "transport: client error (Connect): tcp connect error: Connection refused (os error 111)".
///
/// # Other keys
///
/// The key is the host unless the type says otherwise. A guard for another `K`, such as a shard, a tenant, a model or a host
/// with a route, has everything by that key: breakers, rules, budgets, limits, observers and health checks. Its layer is told
/// how to find the key:
///
/// ```
/// use atomic_breaker_http::{ClientConfig, ClientGuard, StdClock};
/// use http::Request;
/// use std::sync::LazyLock;
///
/// #[derive(Clone, PartialEq, Eq, Hash)]
/// struct Shard(u16);
///
/// static SHARDS: LazyLock<ClientGuard<StdClock, Shard>> =
///     LazyLock::new(|| ClientGuard::by_key(ClientConfig::new(), StdClock, ()).expect("constant settings"));
///
/// let layer = SHARDS.layer::<String>().keyed(|request: &Request<String>| {
///     // Whoever makes the request knows it.
///     request.extensions().get::<Shard>().cloned().unwrap_or(Shard(0))
/// });
/// # let _ = layer;
/// ```
///
/// Where callers can choose keys, many of them may fail at a time: [`capacity`](ClientConfig::capacity) bounds them.
///
/// # Memory
///
/// Beside the [registry](crate::Registry): 352 KiB for the budgets of 4,096 hosts, unless [one is
/// shared](ClientConfig::shared_budget), and 64 KiB each for the tries that go on and for those in flight, if they are limited.
///
/// `C` is the clock.
pub struct ClientGuard<C = StdClock, K = Origin> {
    config: ClientConfig,
    hosts: Hosts<C, K>,
    pub(super) budgets: RetryBudgets,
    /// The tries that continue without their callers.
    outliving: Option<Arc<HostCounts<K>>>,
    pub(super) in_flight: Option<Arc<HostCounts<K>>>,
    pub(super) retry_observer: SomeRetryObserver<K>,
}

/// The places of the tables next to that of the breakers. Their number is no matter of the capacity: hosts that are not
/// remembered are called, too, and those that share the place of a budget share its tokens.
const PLACES: usize = 4_096;

impl ClientGuard {
    /// With the clock of `std` and no observer.
    pub fn new(config: ClientConfig) -> Result<Self, ClientConfigError> {
        Self::build(config, StdClock, None)
    }
}

impl<C: Clock> ClientGuard<C> {
    /// With another clock and an observer of transitions. Each host's memory of calls gets a clone of the clock, which
    /// must tell the same time.
    pub fn with<O>(config: ClientConfig, clock: C, observer: O) -> Result<Self, ClientConfigError>
    where
        C: Clone,
        O: KeyedObserver<Origin> + Send + Sync + 'static,
    {
        Self::by_key(config, clock, observer)
    }
}

impl<C: Clock, K: Hash + Eq + Clone> ClientGuard<C, K> {
    /// [`with`](ClientGuard::with) for [other keys](Self#other-keys).
    pub fn by_key<O>(config: ClientConfig, clock: C, observer: O) -> Result<Self, ClientConfigError>
    where
        C: Clone,
        O: KeyedObserver<K> + Send + Sync + 'static,
    {
        Self::build(config, clock, Some(Arc::new(observer)))
    }

    fn build(
        config: ClientConfig,
        clock: C,
        observer: SomeObserver<K>,
    ) -> Result<Self, ClientConfigError>
    where
        C: Clone,
    {
        config.check()?;
        let of_budgets = if config.shares_budget { 1 } else { PLACES };
        let hosts = Registry::builder(config.effective_breaker_config())
            .capacity(config.capacity)
            .clock(clock.clone())
            .observer(observer)
            .tally(|| SlidingRatio::by(clock.clone()))
            .build()
            .map_err(ClientConfigError::of)?;
        let counts = |most| HostCounts::by_key((), most).for_keys(PLACES);
        let in_flight = config.in_flight_limit.map(counts).map(|counts| {
            if config.trip_in_flight {
                counts.tripping()
            } else {
                counts
            }
        });
        let budgets = RetryBudgets::new(config.budget, of_budgets);
        Ok(Self {
            outliving: (config.outliving > 0).then(|| Arc::new(counts(config.outliving))),
            in_flight: in_flight.map(Arc::new),
            config,
            hosts,
            budgets: budgets.map_err(ClientConfigError::of)?,
            retry_observer: None,
        })
    }

    /// Notifies an observer of each try that failed, with its host or other key, and of what followed. Replaces the one
    /// before.
    ///
    /// ```
    /// use atomic_breaker_http::{ClientConfig, ClientGuard, OnRetry, Origin, TryEvent};
    ///
    /// // https://api.example: try 1, a failure: sent again after 80ms, 99 tokens left
    /// let log = OnRetry(|host: &Origin, event: &TryEvent| println!("{host}: {event}"));
    /// let guard = ClientGuard::new(ClientConfig::new())?.retry_observer(log);
    /// # let _ = guard;
    /// # Ok::<(), atomic_breaker_http::ClientConfigError>(())
    /// ```
    ///
    /// - A try that goes on when its caller has left, and fails, is [`Cancelled`](atomic_breaker_server::RetryEvent::Cancelled).
    /// - A request that is sent again within its try, as its connection broke, is `Sent` without a pause.
    #[must_use]
    pub fn retry_observer<O>(mut self, observer: O) -> Self
    where
        O: RetryObserver<K> + Send + Sync + 'static,
    {
        self.retry_observer = Some(Arc::new(observer));
        self
    }

    /// Leaks it: for guards that are built at run time and live as long as the program.
    pub fn leak(self) -> &'static Self {
        Box::leak(Box::new(self))
    }

    /// Replaces the rules of all breakers while requests are under way. States and running open times are kept: a host that
    /// is open follows another [`open_for`](Config::open_for) from its next trip on. With an error nothing changes.
    pub fn set_breaker_config(&self, config: Config) -> Result<(), ClientConfigError> {
        let config = self.config.breaker(config);
        config.check()?;
        self.hosts
            .set_config(config.effective_breaker_config())
            .map_err(ClientConfigError::of)
    }

    /// Gives one host rules of its own, while requests are under way; its state and a running open time are kept. It keeps
    /// its place among the hosts that are remembered. With an error, which may be that there is no room for the host, nothing changes.
    pub fn set_breaker_config_of(&self, host: &K, config: Config) -> Result<(), ClientConfigError> {
        let config = self.config.breaker(config);
        config.check()?;
        self.hosts
            .set_config_of(host, config.effective_breaker_config())
            .map_err(ClientConfigError::of)
    }

    /// The breakers of all hosts: to inspect, to control, and for shadow mode.
    ///
    /// Rules that are set here, as the admin page does, are those of any registry, which knows nothing of the tries: unlike
    /// [`set_breaker_config`](Self::set_breaker_config) it accepts a [`probe_lease`](Config::probe_lease) shorter than the limit of a try and
    /// a window shorter than two, and adds no [limit for slow calls](ClientConfig::effective_breaker_config). To ask first, use
    /// [`ClientConfig::check`]: `guard.config().breaker(rules).check()`.
    pub const fn hosts(&self) -> &Hosts<C, K> {
        &self.hosts
    }

    /// The retry budget of a host.
    pub fn budget_of(&self, host: &K) -> &RetryBudget {
        self.budgets.of(host)
    }

    /// Counts of failed tries by outcome since the start, over all hosts, and the tokens of the emptiest budget: for
    /// `Metrics<OfRetries>`. Looks at the budgets of all hosts.
    pub fn retries(&self) -> RetryCounts {
        self.budgets.counts()
    }

    /// The number of tries of a host that are in flight, if they are [limited](ClientConfig::in_flight_limit): each
    /// counts until the head of its response. Without a limit they are not counted.
    pub fn in_flight(&self, host: &K) -> Option<u64> {
        Some(self.in_flight.as_ref()?.in_flight_of(host))
    }

    /// The time after which a call to a host is slow by its rules, as they are now.
    pub(crate) fn slow_call_of(&self, host: &K) -> Option<Duration> {
        slow_call(&self.hosts.config_of(host))
    }

    /// The places of tries that continue without their callers. `None` if none may.
    pub(crate) fn places(&self) -> Option<Arc<HostCounts<K>>> {
        self.outliving.clone()
    }

    /// The settings that it was built with.
    pub const fn config(&self) -> &ClientConfig {
        &self.config
    }
}

impl<C, K> fmt::Debug for ClientGuard<C, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientGuard")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Leads to the breakers of a guard, as a handle to it does.
#[derive(Clone, Debug)]
pub struct HostsOf<H>(pub(super) H);

impl<C, K, H> Deref for HostsOf<H>
where
    C: Clock + 'static,
    K: Hash + Eq + Clone + 'static,
    H: Deref<Target = ClientGuard<C, K>>,
{
    type Target = Hosts<C, K>;

    #[inline]
    fn deref(&self) -> &Hosts<C, K> {
        self.0.hosts()
    }
}

impl<C, K, H> RetryObserver<K> for HostsOf<H>
where
    H: Deref<Target = ClientGuard<C, K>>,
{
    fn is_listening(&self) -> bool {
        self.0.retry_observer.is_listening()
    }

    fn event(&self, key: &K, event: &TryEvent) {
        self.0.retry_observer.event(key, event);
    }
}
