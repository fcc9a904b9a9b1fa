// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layer around services that are cloned per request, and the guarded call.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use atomic_breaker::{AnyError, Outcome};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::asked::admitted;
use crate::ready_call::ReadyCall;
use crate::{Admit, AnyPermit, Rejection, Report, ServiceError};

/// Guards a service with a breaker: one for all requests, or one per key of the request.
///
/// The breaker is given by a reference to or an `Arc` of it or of a `Resource` (`atomic-breaker-server`), or by a `ByKey`
/// (`atomic-breaker-server`).
///
/// The service must be `Clone`, as clients are. It is always ready; a rejected request gets its error at once.
/// Otherwise a clone of the service makes the request, and its readiness is awaited *inside* the guarded call: a
/// service that is not ready is never called, and one that never becomes ready is caught by a time limit below this
/// layer.
///
/// Dropping the future cancels its call; if it is dropped before its first poll, when nothing has been called, it gives
/// the permit back without a report. A panic in it counts as a failure. So a time limit belongs below this layer, where
/// it counts: [`TimeLimitLayer`](crate::TimeLimitLayer). Nothing is boxed or allocated.
///
/// **Callers that leave** before that limit say nothing about the service as long as their calls are
/// [young](atomic_breaker_server::Permit#dropped), and fail its probes afterwards. So set
/// [`Config::slow_call`](crate::Config::slow_call) and [`Config::cancel_limit`](crate::Config::cancel_limit), 250 ms
/// unless set, to more than a healthy answer takes. [`TryLayer`](crate::TryLayer), whose calls go on when their callers
/// leave, needs no such care. The time for which a service that answers in 400 ms stays shut with 200 callers a second
/// that leave after 300 ms, beside one a second that waits:
///
/// | | |
/// |---|---|
/// | `BreakerLayer`, `cancel_limit` of 250 ms | 7 min to more than an hour |
/// | `BreakerLayer`, `cancel_limit` of 1.5 s | 15 s to 2 min |
/// | `TryLayer` | 5.4 s, the open time and a probe |
///
/// ```
/// use atomic_breaker_tower::{Breaker, BreakerLayer, Config, ServiceError, breaker};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// static PAYMENTS: Breaker = breaker(Config::new().consecutive_failures(1));
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let payments = ServiceBuilder::new()
///     .layer(BreakerLayer::new(&PAYMENTS))
///     .service(service_fn(|request: &'static str| async move {
///         Err::<(), _>(std::io::Error::other(format!("no response to {request}")))
///     }));
///
/// let failed = payments.clone().oneshot("pay").await;
/// assert!(matches!(failed, Err(ServiceError::Failed(_))));
/// let rejected = payments.oneshot("pay").await;
/// assert!(matches!(rejected, Err(ServiceError::Rejected(_))));
/// # }
/// ```
///
/// **A response is a success**, an HTTP 503 as well, unless the layer is told otherwise: by `.report(HttpClassifier::new())`
/// of `atomic-breaker-http`, or by a closure. Without either, a service whose error cannot happen, as those of axum, would
/// never open the breaker. That does not compile:
///
/// ```compile_fail,E0080
/// # use atomic_breaker_tower::{Breaker, BreakerLayer, Config, Outcome, breaker};
/// # use std::convert::Infallible;
/// # use tower::{ServiceBuilder, ServiceExt, service_fn};
/// # static SHOP: Breaker = breaker(Config::new());
/// # async fn search() {
/// let shop = ServiceBuilder::new()
///     .layer(BreakerLayer::new(&SHOP))
///     .service(service_fn(|status: u16| async move { Ok::<_, Infallible>(status) }));
/// let _ = shop.oneshot(503).await;
/// # }
/// # let _ = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(search());
/// ```
///
/// ```
/// # use atomic_breaker_tower::{Breaker, BreakerLayer, Config, Failure, Outcome, breaker};
/// # use std::convert::Infallible;
/// # use tower::{ServiceBuilder, ServiceExt, service_fn};
/// # static SHOP: Breaker = breaker(Config::new());
/// # async fn search() {
/// let judge = |result: &Result<u16, Infallible>| match result {
///     Ok(500..) => Failure::new().into(),
///     _ => Outcome::Success,
/// };
/// let shop = ServiceBuilder::new()
///     .layer(BreakerLayer::new(&SHOP).classify(judge))
///     .service(service_fn(|status: u16| async move { Ok::<_, Infallible>(status) }));
/// for _ in 0..5 {
///     assert!(shop.clone().oneshot(503).await.is_ok());
/// }
/// assert!(shop.oneshot(503).await.is_err(), "open");
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(search());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BreakerLayer<A, C = AnyError> {
    admit: A,
    report: C,
}

guard_layer!(BreakerLayer);

impl<S, A: Clone, C: Clone> Layer<S> for BreakerLayer<A, C> {
    type Service = BreakerService<S, A, C>;

    fn layer(&self, inner: S) -> Self::Service {
        BreakerService {
            inner,
            admit: self.admit.clone(),
            report: self.report.clone(),
        }
    }
}

/// The service of a [`BreakerLayer`].
#[derive(Clone, Copy, Debug)]
pub struct BreakerService<S, A, C = AnyError> {
    inner: S,
    admit: A,
    report: C,
}

impl<S, A, C> BreakerService<S, A, C> {
    inner_service!();
}

impl<S, A, C, Q> Service<Q> for BreakerService<S, A, C>
where
    S: Service<Q> + Clone,
    A: Admit<Q>,
    C: Report<S::Response, S::Error> + Clone,
{
    type Response = C::Output<A::Permit>;
    type Error = ServiceError<S::Error>;
    type Future = ResponseFuture<ReadyCall<S, Q>, A::Permit, C>;

    /// Always ready: it depends on the request which breaker is asked, and so whether the service is needed.
    #[inline]
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: Q) -> Self::Future {
        can_fail!(S, C);
        match self.admit.admit(&request) {
            Ok(permit) => {
                let call = ReadyCall::new(self.inner.clone(), request);
                admitted::<Self>();
                ResponseFuture::new(call, false, permit, self.report.clone())
            }
            Err(rejection) => ResponseFuture::rejected(rejection, self.report.clone()),
        }
    }
}

pin_project! {
    /// The future of a [`BreakerService`](crate::BreakerService) or a [`GateService`](crate::GateService). Dropping it cancels the call, or
    /// reports nothing if the call had not begun; a panic in it counts as a failure.
    ///
    /// # Panics
    /// When it is polled again after it has completed.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F, P, C>
    where
        P: AnyPermit,
    {
        #[pin]
        call: Call<F>,
        // Next to the call, so that neither moves when it is over. `None` if it was rejected or panicked.
        permit: Option<P>,
        report: C,
    }

    impl<F, P, C> PinnedDrop for ResponseFuture<F, P, C>
    where
        P: AnyPermit,
    {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if let Projected::Running { is_begun: false, .. } = this.call.project() {
                // Nothing was called: no report, however long the permit was kept.
                if let Some(permit) = this.permit.take() {
                    permit.report(Outcome::Ignored);
                }
            }
        }
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = Projected]
    enum Call<F> {
        // The flag is here, where it takes no space.
        Running { #[pin] call: F, is_begun: bool },
        Rejected { rejection: Option<Rejection> },
        Over,
    }
}

impl<F, P: AnyPermit, C> ResponseFuture<F, P, C> {
    /// A call that has begun, or else begins with the first poll.
    #[inline]
    pub(super) const fn new(call: F, is_begun: bool, permit: P, report: C) -> Self {
        Self {
            call: Call::Running { call, is_begun },
            permit: Some(permit),
            report,
        }
    }

    #[inline]
    pub(super) const fn rejected(rejection: Rejection, report: C) -> Self {
        Self {
            call: Call::Rejected {
                rejection: Some(rejection),
            },
            permit: None,
            report,
        }
    }
}

impl<F, P, C, T, E> Future for ResponseFuture<F, P, C>
where
    F: Future<Output = Result<T, E>>,
    P: AnyPermit,
    C: Report<T, E>,
{
    type Output = Result<C::Output<P>, ServiceError<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let result = match this.call.as_mut().project() {
            Projected::Running { call, is_begun } => {
                *is_begun = true;
                ready!(AnyPermit::count_panic(this.permit, || call.poll(context)))
            }
            Projected::Rejected { rejection } => {
                let rejection = rejection.take().expect("polled after it was ready");
                return Poll::Ready(Err(ServiceError::Rejected(rejection)));
            }
            Projected::Over => panic!("polled after it was ready"),
        };
        // Frees what the call holds, perhaps a connection, before the caller continues.
        AnyPermit::count_panic(this.permit, || this.call.set(Call::Over));
        let permit = this.permit.take().expect("polled after a panic");
        Poll::Ready(
            this.report
                .report(permit, result)
                .map_err(ServiceError::Failed),
        )
    }
}
