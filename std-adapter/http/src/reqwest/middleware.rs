//! A breaker among the middlewares of reqwest-middleware.

use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::time::Duration;

use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{Error, Middleware, Next, Result};
use tokio::time::timeout;

use super::created::not_sent;
use super::limit::timed_out;
use super::{ReqwestErrors, into_reqwest};
use crate::at_end::OwnLimit;
use crate::by_method::may_be_sent_twice;
use crate::client::Ending;
use crate::error_rule::{report_by, scope_of_status, status_text};
use crate::parts::{count_panic, judged};
use crate::usual_errors::{FRESH_CONNECTIONS, needs_fresh_connection, scope_of};
use crate::{
    Admit, AnyPermit, AtEnd, AtEndOfBody, Classify, ClientGuard, Clock, ErrorRule, Hosts,
    HttpClassifier, Outcome, PerHost, Report, text_of,
};

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
/// let client = ClientBuilder::new(reqwest::Client::new())
///     // Above the breaker: .with(RetryTransientMiddleware::new_with_policy(..))
///     .with(BreakerMiddleware::new(PerHost::new(&*HOSTS)).time_limit(Duration::from_secs(3)))
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
/// | takes longer than the [limit](Self::time_limit) | is dropped: `Error::Reqwest`, whose `is_timeout` is true (its text mentions a body, that of its source the limit), and a failure |
/// | gets a response, or fails | counts as [`HttpClassifier`] and [`ReqwestErrors`] say |
/// | exceeds its own time limit (`RequestBuilder::timeout`), shorter than that one | is cancelled, as if its caller had left |
/// | is a probe whose connection breaks before a response | is sent again at once if it may be sent twice or was refused unprocessed, up to eight times: idle connections whose host closed its side unnoticed fail one after the other |
/// | is dropped by its caller | is cancelled, [neutral while young](crate::Permit#dropped) |
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
/// Anything attached after the breaker is part of the guarded call: if a middleware there fails to fetch a token, that
/// counts as a failure of the host.
///
/// All clones of a client share its breakers. reqwest follows redirects within one call, which counts for the host that
/// was asked first.
#[derive(Clone, Copy)]
#[must_use]
pub struct BreakerMiddleware<A, X = ReqwestErrors> {
    admit: A,
    http: HttpClassifier<X>,
    limit: Duration,
    /// `None` reports at the head.
    at_end: Option<AtEndOfBody>,
}

impl<A> BreakerMiddleware<A> {
    /// Asks a breaker: `admit` is a `&'static` reference to or an `Arc` of a breaker or of a
    /// [`Resource`](crate::Resource), for all requests together, [`PerHost`] for one breaker per host, or a
    /// [`ByKey`](crate::ByKey) for one per another key of a request. Without a time limit.
    pub const fn new(admit: A) -> Self {
        Self {
            admit,
            http: HttpClassifier::new().errors(ReqwestErrors),
            limit: Duration::MAX,
            at_end: None,
        }
    }
}

impl<A, X> BreakerMiddleware<A, X> {
    /// How long a call may take until the head of its response has arrived; [`Duration::MAX`], the default, is no
    /// limit. Rounded up to milliseconds. For bodies that hang, use `read_timeout` of reqwest's client.
    ///
    /// A timeout of the caller around the request should be longer: a shorter one cancels each call, and a host that
    /// hangs never opens its breaker, unless [`Config::slow_call`](crate::Config::slow_call) is set to less than that.
    ///
    /// # Panics
    /// When the limit is 0. A request panics outside of a tokio runtime, or in one without time enabled.
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        assert!(
            !limit.is_zero(),
            "no response comes within 0: lengthen the time limit, or set Duration::MAX for none"
        );
        self.limit = limit;
        self
    }

    /// What responses and errors say, in place of the usual statuses and [`ReqwestErrors`]. The errors are those of
    /// reqwest-middleware.
    pub fn classify<Y>(self, http: HttpClassifier<Y>) -> BreakerMiddleware<A, Y> {
        BreakerMiddleware {
            admit: self.admit,
            http,
            limit: self.limit,
            at_end: self.at_end,
        }
    }

    /// Reports at the end of the response's body, so that a truncated one counts as a failure:
    /// [`AtEnd`](crate::AtEnd) says what counts as what. The time limit still ends with the head. With
    /// [`Config::slow_call`](crate::Config::slow_call) the measured time ends with the body. reqwest boxes such a body.
    pub const fn at_end_of_body(mut self) -> Self {
        if self.at_end.is_none() {
            self.at_end = Some(AtEndOfBody { probes_wait: false });
        }
        self
    }

    /// [`at_end_of_body`](Self::at_end_of_body), and probes wait for the end of bodies of unknown length, too: for
    /// hosts whose bodies all end, and may be truncated.
    pub const fn probes_at_end(mut self) -> Self {
        self.at_end = Some(AtEndOfBody { probes_wait: true });
        self
    }
}

impl<A, X> Middleware for BreakerMiddleware<A, X>
where
    A: Admit<Request, Permit: Send + Sync + 'static> + Send + Sync + 'static,
    X: ErrorRule<Error> + Send + Sync + 'static,
{
    // What `async_trait` generates for an `async fn`.
    fn handle<'me, 'extensions, 'next, 'call>(
        &'me self,
        request: Request,
        extensions: &'extensions mut Extensions,
        next: Next<'next>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'call>>
    where
        'me: 'call,
        'extensions: 'call,
        'next: 'call,
        Self: 'call,
    {
        Box::pin(self.guard(request, extensions, next))
    }
}

impl<A, X> BreakerMiddleware<A, X>
where
    A: Admit<Request, Permit: Send + Sync + 'static>,
    X: ErrorRule<Error>,
{
    async fn guard(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        let permit = self.admit.admit(&request).map_err(not_sent)?;
        // A limit set by the caller; if it is not shorter, that of the middleware comes first.
        let has_own_limit = request.timeout().is_some_and(|limit| *limit < self.limit);
        let fresh = if permit.is_probe() {
            FRESH_CONNECTIONS
        } else {
            0
        };
        let mut permit = Some(permit);
        let mut call = pin!(count_panic(&mut permit, || {
            self.limited(request, extensions, next, fresh)
        }));
        let result = poll_fn(|context| count_panic(&mut permit, || call.as_mut().poll(context)));
        let result = result.await;
        let permit = permit.expect("taken by a panic alone");
        self.report(permit, result, has_own_limit)
    }

    async fn limited(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
        fresh: u32,
    ) -> Result<Response> {
        let url = request.url().clone();
        match timeout(self.limit, sent(request, extensions, next, fresh)).await {
            Ok(result) => result,
            Err(_) => {
                let text = format!("no response within {:?}", self.limit);
                Err(timed_out(text).with_url(url).into())
            }
        }
    }

    fn report<P>(
        &self,
        permit: P,
        mut result: Result<Response>,
        has_own_limit: bool,
    ) -> Result<Response>
    where
        P: AnyPermit + Send + Sync + 'static,
    {
        let (permit, outcome) = judged(permit, || self.http.classify(&result));
        if let (Ok(response), true) = (&mut result, has_own_limit) {
            // The caller's limit covers the body as well.
            response.extensions_mut().insert(OwnLimit);
        }
        match (result, self.at_end) {
            (Ok(response), Some(AtEndOfBody { probes_wait })) if outcome == Outcome::Success => {
                let at_end = AtEnd {
                    head: |_: &Result<http::Response<reqwest::Body>>| Outcome::Success,
                    body_errors: ReqwestErrors,
                    probes_wait,
                };
                at_end.report(permit, Ok(response)).map(into_reqwest)
            }
            (result, _) => {
                let scope = match &result {
                    Ok(response) => scope_of_status(response.status(), outcome),
                    Err(error) => scope_of(error).of_own_limit(has_own_limit),
                };
                let why = || match &result {
                    Ok(response) => status_text(response.status()),
                    Err(error) => format!("transport: {}", text_of(error)),
                };
                report_by(permit, || (outcome, scope), why);
                result
            }
        }
    }
}

/// Sends the request, and up to `fresh` times again if its connection broke before a response.
async fn sent(
    request: Request,
    extensions: &mut Extensions,
    next: Next<'_>,
    fresh: u32,
) -> Result<Response> {
    for _ in 0..fresh {
        // Streamed bodies cannot be sent twice.
        let Some(copy) = request.try_clone() else {
            break;
        };
        let may_repeat = || may_be_sent_twice(request.method(), request.headers());
        match next.clone().run(copy, extensions).await {
            Err(error) if needs_fresh_connection(&error, may_repeat) => {}
            result => return result,
        }
    }
    next.run(request, extensions).await
}

impl<A: fmt::Debug, X> fmt::Debug for BreakerMiddleware<A, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BreakerMiddleware")
            .field("admit", &self.admit)
            .field("http", &self.http)
            .field("time_limit", &self.limit)
            .field("at_end_of_body", &self.at_end.is_some())
            .finish()
    }
}

impl<C: Clock, R: Ending> ClientGuard<C, R> {
    /// This guard's breakers and its limit of a try as a middleware for reqwest-middleware, whose own retries go above
    /// it: `ClientBuilder::new(client).with(GUARD.middleware()).build()`. The guard's deadline, tries and budget apply
    /// only to its [`layer`](Self::layer).
    pub fn middleware(&'static self) -> BreakerMiddleware<PerHost<&'static Hosts<C>>> {
        let config = self.config();
        let mut middleware =
            BreakerMiddleware::new(PerHost::new(self.hosts())).time_limit(config.try_limit);
        middleware.at_end = config.ending.at_end();
        middleware.http = middleware.http.trip_on_429(config.trip_on_429);
        middleware
    }
}
