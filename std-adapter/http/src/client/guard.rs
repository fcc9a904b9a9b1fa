//! The state that outlives the requests.

use std::fmt;
use std::sync::Arc;

use atomic_breaker::{Clock, Config};

use super::{AtHead, ClientConfig, ClientConfigError, ClientLayer, Ending};
use crate::{
    InFlightCounts, KeyedObserver, Origin, Registry, RetryBudget, RetryBudgets, SlidingRatio,
    StdClock,
};

/// The breakers of all hosts.
pub type Hosts<C = StdClock> = Registry<Origin, C, SlidingRatio<C, 1>, SomeObserver>;

/// The observer of a guard, if it has one.
pub type SomeObserver = Option<Arc<dyn KeyedObserver<Origin> + Send + Sync>>;

/// The breakers of all hosts and their retry budgets. Outlives the requests: a `static`, [leaked](Self::leak), or in an
/// `Arc` ([`ClientLayer::of`]).
///
/// ```
/// use atomic_breaker_http::{ClientConfig, ClientGuard};
/// use http::{Request, Response};
/// use std::{convert::Infallible, sync::LazyLock};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// static GUARD: LazyLock<ClientGuard> =
///     LazyLock::new(|| ClientGuard::new(ClientConfig::new()).expect("constant settings"));
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let client = ServiceBuilder::new()
///     .layer(GUARD.layer())
///     // In its place: the client of hyper-util, or another one that takes `http::Request`s.
///     .service(service_fn(|_: Request<String>| async {
///         Ok::<_, Infallible>(Response::new("hello"))
///     }));
///
/// let request = Request::get("https://api.example/").body(String::new()).unwrap();
/// assert_eq!(*client.oneshot(request).await.unwrap().body(), "hello");
/// # }
/// ```
///
/// # Bounds
///
/// These hold whichever callers leave, and whenever, as each try [continues](ClientConfig::outliving) to its limit, in
/// the runtime in which it began:
///
/// - A host that fails or hangs permanently is tripped by as many of its calls as the rules require failures (five by
///   default), within one try limit of the last of them.
/// - A host that stays healthy is served again after the current open time (by default at most 30 s plus a fifth, or
///   what it asked for with `Retry-After`, by default at most a minute plus a fifth) and a probe, which takes at most
///   the limit of a try and begins with the next request. If the rules require several successes or a gradual return,
///   these come on top.
///
/// A runtime that is dropped, such as one per request, ends its tries: they are [cancelled](crate::Permit#dropped). If
/// callers there leave after less than half of a try's limit, a host that hangs is never tripped: set
/// [`Config::slow_call`](crate::Config::slow_call) to less than they wait, or keep one runtime for all requests.
///
/// A body that is [reported at its end](ClientConfig::at_end_of_body) has no limit here:
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
/// errors of hyper-util and reqwest, and [`ClientLayer::errors`] replaces it. The last failure in a rejection names the
/// causes of the error: "transport: client error (Connect): tcp connect error: Connection refused (os error 111)".
///
/// `C` is the clock, and `R` says when a try is reported.
pub struct ClientGuard<C = StdClock, R = AtHead> {
    config: ClientConfig<R>,
    hosts: Hosts<C>,
    pub(super) budgets: RetryBudgets,
    /// The tries that continue without their callers.
    pub(super) outliving: Arc<InFlightCounts>,
    pub(super) in_flight: Option<Arc<InFlightCounts>>,
}

/// Hosts may share a place in the tables next to that of the breakers; more places would mostly be empty.
const MOST_PLACES: usize = 4_096;

impl<R: Ending> ClientGuard<StdClock, R> {
    /// With the clock of `std` and no observer.
    ///
    /// # Errors
    /// [`ClientConfigError`] names the settings that contradict each other.
    pub fn new(config: ClientConfig<R>) -> Result<Self, ClientConfigError> {
        Self::build(config, StdClock, None)
    }
}

impl<C: Clock, R: Ending> ClientGuard<C, R> {
    /// With another clock and an observer of transitions. Each host's memory of calls gets a clone of the clock, which
    /// must tell the same time.
    ///
    /// # Errors
    /// [`ClientConfigError`] names the settings that contradict each other.
    pub fn with<O>(
        config: ClientConfig<R>,
        clock: C,
        observer: O,
    ) -> Result<Self, ClientConfigError>
    where
        C: Clone,
        O: KeyedObserver<Origin> + Send + Sync + 'static,
    {
        Self::build(config, clock, Some(Arc::new(observer)))
    }

    fn build(
        config: ClientConfig<R>,
        clock: C,
        observer: SomeObserver,
    ) -> Result<Self, ClientConfigError>
    where
        C: Clone,
    {
        config.check()?;
        let places = config.capacity.min(MOST_PLACES);
        let of_budgets = if config.shares_budget { 1 } else { places };
        let hosts = Registry::builder(config.rules())
            .capacity(config.capacity)
            .clock(clock.clone())
            .observer(observer)
            .tally(|| SlidingRatio::by(clock.clone()))
            .build()
            .map_err(ClientConfigError::of)?;
        let counts = |most| Arc::new(InFlightCounts::new(places, most));
        let budgets = RetryBudgets::new(config.budget, of_budgets);
        Ok(Self {
            outliving: counts(config.outliving),
            in_flight: config.in_flight_limit.map(counts),
            config,
            hosts,
            budgets: budgets.map_err(ClientConfigError::of)?,
        })
    }

    /// Leaks it: for guards that are built at run time and live as long as the program.
    pub fn leak(self) -> &'static Self {
        Box::leak(Box::new(self))
    }

    /// The layer around a client. However often it is created, all layers share the breakers and the budgets. A guard in
    /// an `Arc` has [`ClientLayer::of`].
    pub fn layer<B>(&'static self) -> ClientLayer<B, &'static Self> {
        ClientLayer::of(self)
    }

    /// Replaces the rules of all breakers while requests are under way; states are kept.
    ///
    /// # Errors
    /// [`ClientConfigError`] names the settings that contradict each other; nothing changes then.
    pub fn set_breaker(&self, rules: Config) -> Result<(), ClientConfigError> {
        let config = self.config.breaker(rules);
        config.check()?;
        self.hosts
            .set_config(config.rules())
            .map_err(ClientConfigError::of)
    }

    /// Gives one host rules of its own, while requests are under way; its state is kept. It keeps its place among
    /// the hosts that are remembered.
    ///
    /// ```
    /// # use {atomic_breaker_http::{ClientConfigError, ClientGuard, Origin}, std::time::Duration};
    /// # fn warm_up(guard: &ClientGuard, host: &Origin) -> Result<(), ClientConfigError> {
    /// // This one needs time to warm up: a tenth of the requests at first, all after 30 s.
    /// let rules = guard.config().get_breaker().gradual_return(10, Duration::from_secs(30));
    /// guard.set_breaker_of(host, rules)
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ClientConfigError`] names the settings that contradict each other, or says that there is no room for
    /// the host; nothing changes then.
    pub fn set_breaker_of(&self, host: &Origin, rules: Config) -> Result<(), ClientConfigError> {
        let config = self.config.breaker(rules);
        config.check()?;
        self.hosts
            .set_config_of(host, config.rules())
            .map_err(ClientConfigError::of)
    }

    /// The breakers of all hosts: to inspect, to control, and for shadow mode.
    pub const fn hosts(&self) -> &Hosts<C> {
        &self.hosts
    }

    /// The retry budget of a host.
    pub fn budget_of(&self, host: &Origin) -> &RetryBudget {
        self.budgets.of(host)
    }

    /// How many retries of all hosts were not made since the start for lack of a token: a counter for metrics.
    pub fn refused_retries(&self) -> u64 {
        self.budgets.refused()
    }

    /// How many tries of a host are in flight, if they are [limited](ClientConfig::in_flight_limit): each counts until
    /// the head of its response. Without a limit they are not counted.
    pub fn in_flight(&self, host: &Origin) -> Option<u64> {
        Some(self.in_flight.as_ref()?.of(host))
    }

    /// The settings that it was built with.
    pub const fn config(&self) -> &ClientConfig<R> {
        &self.config
    }
}

impl<C, R: fmt::Debug> fmt::Debug for ClientGuard<C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientGuard")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
