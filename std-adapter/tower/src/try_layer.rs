// SPDX-License-Identifier: MIT OR Apache-2.0
//! The breaker and the time limit of a try in one layer, whose tries go on when their callers leave.

use std::future::ready;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker::AnyError;
use atomic_breaker_server::{Classify, InFlightLimit};
use tower_layer::Layer;
use tower_service::Service;

use crate::asked::admitted;
use crate::outliving::{Leaving, Try};
use crate::read_on::ReadOn;
use crate::ready_call::ReadyCall;
use crate::service::ResponseFuture;
use crate::time_limit::{TimeLimitLayer, TryLimits};
use crate::{Admit, AnyPermit, AtOnce, ServiceError, Timed};

/// A [`BreakerLayer`](crate::BreakerLayer) with a [`TimeLimitLayer`] below it, in which a try goes on when its caller
/// leaves: in a task, until the service has answered or the limit has passed. So the breaker learns what the service
/// does, and not how patient its callers are.
///
/// With the two layers alone, a call whose caller leaves is [cancelled](atomic_breaker_server::Permit#dropped): if all callers leave
/// earlier than the limit, a service that hangs is never tripped; and if a healthy one takes longer than
/// [`Config::cancel_limit`](crate::Config::cancel_limit), 250 ms unless set, callers that leave just then fail its probes,
/// and keep it shut for those that would wait. Here, whichever callers leave before they have the response, and whenever:
///
/// - A service that fails or hangs permanently is tripped by as many of its calls as the rules require failures, within
///   one limit of the last of them.
/// - One that stays healthy is served again after the open time and a probe, which takes at most the limit.
///
/// A request goes on with its body. One that its caller still streams, through a channel for instance, may end without
/// an error when the caller is dropped, and then the service takes a part for the whole: let such a stream end with an
/// error unless its last part was sent, or set [`outliving`](Self::outliving) to 0.
///
/// A try that goes on ends with the verdict: a body that the [report](Self::report) waits for, such as one of gRPC,
/// which says in its trailers how the call went, is [read](ReadOn) until then, within the limit of its try. Otherwise
/// the limit ends with the response. A caller that has the response has the rest of the try as well: dropping the body
/// of such a report ends it.
///
/// The limit must not be longer than [`Config::probe_lease`](crate::Config::probe_lease), 30 s unless set. Each try is one
/// allocation. The price of going on is that the request of a caller that has left keeps its connection a little longer;
/// [`outliving`](Self::outliving) bounds how many do. A runtime that is dropped ends the tries that began in it: they are
/// cancelled.
///
/// ```
/// use atomic_breaker_tower::{Breaker, Config, ServiceError, TryLayer, breaker};
/// use std::{future::pending, io, time::Duration};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// static PAYMENTS: Breaker = breaker(Config::new().consecutive_failures(1));
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let payments = ServiceBuilder::new()
///     .layer(TryLayer::new(&PAYMENTS, Duration::from_millis(20)))
///     .service(service_fn(|_: &'static str| pending::<io::Result<()>>()));
///
/// // The caller leaves, and the try goes on.
/// let call = payments.clone().oneshot("pay");
/// assert!(tokio::time::timeout(Duration::from_millis(5), call).await.is_err());
/// # tokio::time::sleep(Duration::from_millis(500)).await;
/// // Later:
/// let rejected = payments.oneshot("pay").await;
/// assert!(matches!(rejected, Err(ServiceError::Rejected(_))));
/// # }
/// ```
///
/// # Panics
/// A request panics outside of a tokio runtime, or in one without time enabled.
#[derive(Clone, Debug)]
pub struct TryLayer<A, C = AnyError> {
    admit: A,
    report: C,
    limit: TryLimits,
    places: Option<Arc<InFlightLimit<()>>>,
}

/// The number of tries that continue at a time.
const OUTLIVING: u32 = 256;

impl<A> TryLayer<A> {
    /// A layer that asks a breaker, and treats every error and every try that takes longer than the limit as a failure.
    /// [`Duration::MAX`] is no limit, and then no try goes on. Rounded up to milliseconds.
    ///
    /// # Panics
    /// When the limit is 0.
    pub fn new(admit: A, limit: Duration) -> Self {
        assert!(
            !limit.is_zero(),
            "no try ends within 0: lengthen its limit, or set Duration::MAX for none"
        );
        Self {
            admit,
            report: AnyError,
            limit: TryLimits::new(limit),
            places: Some(Arc::new(InFlightLimit::new((), OUTLIVING))),
        }
    }
}

impl<A, C> TryLayer<A, C> {
    /// Asks a [classifier](atomic_breaker_server::Classify), such as a closure, what a result means.
    pub fn classify<T, E, K: Classify<T, E>>(self, classify: K) -> TryLayer<A, AtOnce<K>> {
        self.report(AtOnce(classify))
    }

    /// Leaves it to a [reporter](crate::Report), such as those of `atomic-breaker-http`, to report what a result means.
    /// The error is a [`Timed`] one. One of your own says by [`ReadOn`] what becomes of a response whose caller has left.
    pub fn report<K>(self, report: K) -> TryLayer<A, K> {
        TryLayer {
            admit: self.admit,
            report,
            limit: self.limit,
            places: self.places,
        }
    }

    /// The limit of the first probe after a trip, so that its caller does not wait for a service that hangs as long as for
    /// one that works: that of a try unless set. It doubles with each probe that fails, and the fourth in a row has the
    /// limit of a try: a service that is healthy, but slower than this, is served again after up to three open times more.
    /// A probe that takes longer is dropped and has failed. In shadow mode it does not apply; in a fleet, whose members take
    /// turns to probe, set it to more than a healthy service takes.
    ///
    /// # Panics
    /// When it is 0, or longer than the limit of a try.
    #[must_use]
    pub fn probe_limit(mut self, limit: Duration) -> Self {
        assert!(
            !limit.is_zero(),
            "no probe ends within 0: lengthen its limit, or leave it out for that of a try"
        );
        assert!(
            limit <= self.limit.of_try(),
            "a probe may not take longer than a try: shorten its limit, or leave it out for that of a try"
        );
        self.limit = self.limit.first_probe(Some(limit));
        self
    }

    /// Sets the number of tries that may continue at a time when their callers leave, those of all services of this
    /// layer together; 256 unless set. Probes always may. A try that finds no place is
    /// [cancelled](atomic_breaker_server::Permit#dropped); with a breaker per key, allow as many as trip one, times the
    /// keys that may hang at once. With 0 none goes on, not even a probe.
    #[must_use]
    pub fn outliving(mut self, tries: u32) -> Self {
        self.places = (tries > 0).then(|| Arc::new(InFlightLimit::new((), tries)));
        self
    }
}

impl<S, A: Clone, C: Clone> Layer<S> for TryLayer<A, C> {
    type Service = TryService<S, A, C>;

    fn layer(&self, inner: S) -> Self::Service {
        TryService {
            inner,
            layer: self.clone(),
        }
    }
}

/// The service of a [`TryLayer`].
#[derive(Clone, Debug)]
pub struct TryService<S, A, C = AnyError> {
    inner: S,
    layer: TryLayer<A, C>,
}

impl<S, A, C> TryService<S, A, C> {
    inner_service!();
}

impl<S, A, C, Q> Service<Q> for TryService<S, A, C>
where
    S: Service<Q, Future: Send> + Clone + Send + 'static,
    Q: Send + 'static,
    A: Admit<Q, Permit: Send + 'static>,
    C: ReadOn<S::Response, Timed<S::Error>, Output<A::Permit>: 'static> + Clone + Send + 'static,
    S::Error: 'static,
{
    type Response = C::Output<A::Permit>;
    type Error = ServiceError<Timed<S::Error>>;
    type Future = Try<Result<Self::Response, Self::Error>>;

    /// Always ready: it depends on the request which breaker is asked, and so whether the service is needed.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let layer = &self.layer;
        let permit = match layer.admit.admit(&request) {
            Ok(permit) => permit,
            Err(rejection) => return Try::ended(Err(rejection.into())),
        };
        // What passes in shadow mode is not reported, so nothing requires it to continue.
        let may_go_on = permit.is_admitted() && layer.limit.of_try() < Duration::MAX;
        let leaving = layer.places.as_ref().filter(|_| may_go_on);
        let leaving = leaving.map(|places| Leaving::new(Arc::clone(places), (), permit.is_probe()));
        let limit = layer.limit.of(&permit, || None);
        let limited = TimeLimitLayer::new(limit).layer(self.inner.clone());
        let call = ReadyCall::new(limited, request);
        admitted::<Self>();
        let call = ResponseFuture::new(call, false, permit, layer.report.clone());
        Try::new(call, leaving).reading_on(limit, |result, late| match result {
            Ok(output) => Box::pin(C::read_on(output, late)),
            Err(_) => Box::pin(ready(())),
        })
    }
}
