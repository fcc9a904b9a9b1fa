// SPDX-License-Identifier: MIT OR Apache-2.0
//! A breaker among the middlewares of reqwest-middleware.

mod handle;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_tower::TryLimits;
use reqwest_middleware::ClientWithMiddleware;

use super::ReqwestErrors;
use super::call::SlowCall;
use super::last::Last;
use crate::Clock;
use crate::classifier::HttpClassifier;
use crate::client::{AtEitherEnd, BodyRules, ClientGuard, Hosts, Tried};
use crate::per_host::{HostCounts, PerHost};
use crate::timed_body::BodyLimits;

/// A breaker among the middlewares of a `reqwest_middleware::ClientWithMiddleware`: one for all requests, or one per
/// host.
///
/// ```
/// use atomic_breaker_http::{BreakerMiddleware, Config, Origin, PerHost, Registry, rejection_of};
/// use reqwest_middleware::ClientBuilder;
/// use std::{sync::LazyLock, time::Duration};
///
/// // Outlives the requests.
/// static HOSTS: LazyLock<Registry<Origin>> =
///     LazyLock::new(|| Registry::new(Config::new()).expect("constant rules"));
///
/// # async fn get() -> reqwest_middleware::Result<()> {
/// let client = reqwest::Client::new();
/// let breaker = BreakerMiddleware::new(PerHost::new(&*HOSTS), client.clone());
/// let client = ClientBuilder::new(client)
///     // Above the breaker: .with(RetryTransientMiddleware::new_with_policy(..))
///     .with(breaker.time_limit(Duration::from_secs(3)))
///     .build();
///
/// if let Err(error) = client.get("https://api.example/items").send().await {
///     match rejection_of(&error) {
///         Some(rejection) => println!("not sent, come back in {:?}", rejection.retry_in()),
///         None => return Err(error),
///     }
/// }
/// # Ok(())
/// # }
/// # let _ = get();
/// ```
///
/// | a request that | |
/// |---|---|
/// | is rejected | is not sent: `Error::Middleware`, in which `downcast_ref` and [`rejection_of`](super::rejection_of) find the [`Rejection`](crate::Rejection) |
/// | takes longer than the [limit](Self::time_limit) | is dropped: `Error::Reqwest`, whose `is_timeout` is true (its text mentions a body, that of its source the limit), and a failure, or ignored if its own body was still awaited |
/// | gets a response, or fails | counts as [`HttpClassifier`] and [`ReqwestErrors`] say |
/// | is dropped by its caller, or exceeds its own time limit (`RequestBuilder::timeout`), for which the caller gets such a timeout | [goes on](Self::outliving) in a task until the host has answered, with its body where that is [waited for](Self::at_end_of_body), or the limit has passed, and counts as that says; a streamed body that ends after its caller left is not complete, so the host gets it cut off, and the call is ignored |
/// | is a probe | carries a [`Probe`](crate::Probe) among its extensions, for a middleware beneath the breaker that repairs |
/// | is a probe whose connection breaks before a response | is sent again at once if it may be sent twice or was refused unprocessed, up to eight times (after `REFUSED_STREAM` once): idle connections whose host closed its side unnoticed fail one after the other |
///
/// # Bounds
///
/// Those of a [`ClientGuard`](crate::ClientGuard#bounds), with the limit of a call as that of a try: whichever callers leave,
/// and whenever, a host is judged by what it does itself.
///
/// A probe whose own streamed body keeps the host waiting holds its slot meanwhile, for up to two limits, and then says
/// nothing; callers who all trickle keep a healthy host shut. So do not pass on bodies of callers that you do not trust
/// as they arrive: read them first, within a limit, or give them a client without a breaker.
///
/// # Order
///
/// Middlewares are attached from the outside in. **Retries come first, then the breaker**, so that it is asked for each
/// try. The default strategy of reqwest-retry treats a rejection as fatal, like every error of a middleware: it is
/// returned at once and not tried again, while a timeout of the limit here is tried again. So if the breaker of a host
/// opens between two tries, the retries end.
///
/// The other way round, a whole series of tries is one call of the breaker, and the limit is one for all of them.
///
/// Attach a breaker only once: if two middlewares ask the same one, the first takes the only probe slot, so the second
/// is rejected, and the breaker stays half-open.
///
/// **The breaker comes last.** As a call may outlive its caller, it is sent through the client that the middleware is
/// given, and not through what is attached after it. Whatever belongs beneath the breaker, such as a middleware that
/// fetches a token, is attached to that client:
///
/// ```
/// # use atomic_breaker_http::{BreakerMiddleware, Breaker, Config, breaker};
/// # use reqwest_middleware::{ClientBuilder, Middleware};
/// # static API: Breaker = breaker(Config::new());
/// # fn client(retry: impl Middleware, token: impl Middleware) {
/// let client = reqwest::Client::new();
/// let beneath = ClientBuilder::new(client.clone()).with(token).build();
/// let client = ClientBuilder::new(client)
///     .with(retry)
///     .with(BreakerMiddleware::new(&API, beneath))
///     .build();
/// # let _ = client;
/// # }
/// ```
///
/// It is part of the guarded call: if it fails to fetch the token, that counts as a failure of the host. A middleware
/// that is attached after the breaker makes every request an error that says so. (One that returns the future of
/// `next.run(..)` itself, with no code of its own that is async, cannot be seen, and does not run.) Initialisers
/// (`with_init`) belong to the outer client, which builds the requests; those of the inner one do not run.
///
/// All clones of a client share its breakers. reqwest's redirects are part of one call, of the host that was asked first.
#[derive(Clone)]
#[must_use]
pub struct BreakerMiddleware<A, X = ReqwestErrors> {
    admit: A,
    client: Arc<ClientWithMiddleware>,
    last: Last,
    report: AtEitherEnd<Tried<X>>,
    limit: TryLimits,
    slow: SlowCall,
    /// The places of tries that go on without their callers. `None` if none do.
    places: Option<Arc<HostCounts>>,
}

/// The limit unless set: as long as a probe's lease.
const USUAL_LIMIT: Duration = Duration::from_secs(30);
/// Hosts with tries that go on at a time: as many as a `Registry` remembers, since all may hang at once. 64 KiB.
const PLACES: usize = 4_096;
/// The number of calls that continue per host unless set: as many as with `ClientConfig`.
const OUTLIVING: u32 = 32;

impl<A> BreakerMiddleware<A> {
    /// Asks a breaker, and sends through a client. With a time limit of 30 s.
    ///
    /// `admit` is a `&'static` reference to or an `Arc` of a breaker or of a [`Resource`](atomic_breaker_server::Resource), for all
    /// requests together, [`PerHost`] for one breaker per host, or a [`ByKey`](atomic_breaker_server::ByKey) for one per another key of a
    /// request. `client` is the `reqwest::Client` to which the middleware is attached, or a `ClientWithMiddleware` around
    /// it with those middlewares that belong beneath the breaker.
    pub fn new(admit: A, client: impl Into<ClientWithMiddleware>) -> Self {
        Self {
            admit,
            client: Arc::new(client.into()),
            last: Last::unknown(),
            report: AtEitherEnd {
                http: HttpClassifier::new().errors(Tried(ReqwestErrors)),
                at_end: None,
            },
            limit: TryLimits::new(USUAL_LIMIT),
            slow: SlowCall::UNKNOWN,
            places: Some(Arc::new(HostCounts::by_key((), OUTLIVING).for_keys(PLACES))),
        }
    }
}

impl<A, X> BreakerMiddleware<A, X> {
    /// Sets the time limit of a call until the head of its response has arrived: 30 s unless set; [`Duration::MAX`] is
    /// no limit, and then no call [goes on](Self::outliving) when its caller leaves. Rounded up to milliseconds. For
    /// bodies that hang, use `read_timeout` of reqwest's client.
    ///
    /// The time of the host counts: a streamed body that keeps the host waiting for more of it is its caller's matter.
    /// A request that still waits for its body when the limit passes fails as it would otherwise, but is ignored by the
    /// breaker; one that waited before gets that time in addition, once. A 408 is ignored if the request waited for
    /// half of its time.
    ///
    /// # Panics
    /// When the limit is 0. A request panics outside of a tokio runtime, or in one without time enabled.
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        assert!(
            !limit.is_zero(),
            "no response comes within 0: lengthen the time limit, or set Duration::MAX for none"
        );
        self.limit = self.limit.other_tries(limit);
        self
    }

    /// The limit of a call that is the first probe after a trip: [`TryLayer::probe_limit`](atomic_breaker_tower::TryLayer::probe_limit)
    /// says more. That of any other call unless set, and never longer.
    ///
    /// # Panics
    /// When it is 0.
    pub const fn probe_limit(mut self, limit: Duration) -> Self {
        assert!(
            !limit.is_zero(),
            "no probe ends within 0: lengthen its limit, or leave it out for that of a call"
        );
        self.limit = self.limit.first_probe(Some(limit));
        self
    }

    /// Sets the number of calls of a host that may continue at a time, each in its own task, when their callers leave;
    /// 32 unless set. Probes always may. See [`ClientConfig::outliving`](crate::ClientConfig::outliving). With 0 none
    /// continues, not even a probe: a call whose caller leaves is [cancelled](atomic_breaker_server::Permit#dropped).
    pub fn outliving(mut self, tries: u32) -> Self {
        self.places = (tries > 0).then(|| Arc::new(HostCounts::by_key((), tries).for_keys(PLACES)));
        self
    }

    /// Sets the outcomes of responses and errors, in place of the usual statuses and [`ReqwestErrors`]. The errors are
    /// those of reqwest-middleware.
    pub fn classify<Y>(self, http: HttpClassifier<Y>) -> BreakerMiddleware<A, Y> {
        BreakerMiddleware {
            admit: self.admit,
            client: self.client,
            last: self.last,
            report: AtEitherEnd {
                http: http.map_errors(Tried),
                at_end: self.report.at_end,
            },
            limit: self.limit,
            slow: self.slow,
            places: self.places,
        }
    }

    /// Reports at the end of the response's body, so that a truncated one counts as a failure:
    /// [`AtEnd`](crate::AtEnd) says what counts as what. The time limit still ends with the head. With
    /// [`Config::slow_call`](crate::Config::slow_call) the measured time ends with the body. reqwest boxes such a body.
    pub const fn at_end_of_body(mut self) -> Self {
        if self.report.at_end.is_none() {
            self.report.at_end = Some(BodyRules::new());
        }
        self
    }

    /// [`at_end_of_body`](Self::at_end_of_body), and probes wait for the end of bodies of unknown length, too: for
    /// hosts whose bodies all end, and may be truncated.
    pub const fn probes_at_end(mut self) -> Self {
        let rules = self.report.at_end;
        self.report.at_end = Some(BodyRules {
            probes_wait: true,
            limits: match rules {
                Some(rules) => rules.limits,
                None => BodyLimits::new(),
            },
        });
        self
    }
}

impl<A: fmt::Debug, X> fmt::Debug for BreakerMiddleware<A, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BreakerMiddleware")
            .field("admit", &self.admit)
            .field("http", &self.report.http)
            .field("time_limit", &self.limit.of_try())
            .field("at_end_of_body", &self.report.at_end.is_some())
            .finish_non_exhaustive()
    }
}

impl<C: Clock + Send + Sync> ClientGuard<C> {
    /// This guard's breakers and its tries as a middleware for reqwest-middleware, whose own retries go above it:
    /// `ClientBuilder::new(client.clone()).with(retry).with(GUARD.middleware(client)).build()`. As in the guard's
    /// [`layer`](Self::layer), tries and probes have its limits and go on when their callers leave; its deadline, tries, budget and
    /// [limit of tries in flight](crate::ClientConfig::in_flight_limit) apply only there. [`BreakerMiddleware`] says what
    /// the client is.
    pub fn middleware(
        &'static self,
        client: impl Into<ClientWithMiddleware>,
    ) -> BreakerMiddleware<PerHost<&'static Hosts<C>>> {
        let config = self.config();
        let mut middleware = BreakerMiddleware::new(PerHost::new(self.hosts()), client);
        middleware.limit = config.try_limits();
        middleware.slow = SlowCall::of_hosts(self);
        middleware.report.at_end = config.at_end;
        middleware.report.http = config.judge(middleware.report.http);
        middleware.places = self.places();
        middleware
    }
}
