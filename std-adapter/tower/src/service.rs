//! The layer around services that are cloned per request.

use std::task::{Context, Poll};

use atomic_breaker::{AnyError, Classify};
use tower::util::Oneshot;
use tower_layer::Layer;
use tower_service::Service;

use crate::{Admit, AtOnce, Report, ResponseFuture, ServiceError};

/// Guards a service with a breaker: one for all requests, or one per key of the request.
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
#[derive(Clone, Copy, Debug)]
pub struct BreakerLayer<A, C = AnyError> {
    admit: A,
    report: C,
}

impl<A> BreakerLayer<A> {
    /// A layer that asks a breaker and treats every error as a failure.
    ///
    /// `admit` is a reference to or an `Arc` of a breaker or of a `Resource` (`atomic-breaker-resource`), or a `ByKey`
    /// (`atomic-breaker-registry`). Under load from many threads use a `static` or leak it: cloning an `Arc` per request makes
    /// all of them write to the same memory.
    pub const fn new(admit: A) -> Self {
        Self {
            admit,
            report: AnyError,
        }
    }
}

impl<A, C> BreakerLayer<A, C> {
    /// Asks a [classifier](Classify), such as a closure, what a result means.
    pub fn classify<T, E, K: Classify<T, E>>(self, classify: K) -> BreakerLayer<A, AtOnce<K>> {
        self.report(AtOnce(classify))
    }

    /// Leaves it to a [reporter](Report), such as those of `atomic-breaker-http`, to report what a result means.
    pub fn report<K>(self, report: K) -> BreakerLayer<A, K> {
        BreakerLayer {
            admit: self.admit,
            report,
        }
    }
}

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
    type Future = ResponseFuture<Oneshot<S, Q>, A::Permit, C>;

    /// Always ready: it depends on the request which breaker is asked, and so whether the service is needed.
    #[inline]
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: Q) -> Self::Future {
        match self.admit.admit(&request) {
            Ok(permit) => {
                let call = Oneshot::new(self.inner.clone(), request);
                ResponseFuture::new(call, false, permit, self.report.clone())
            }
            Err(rejection) => ResponseFuture::rejected(rejection, self.report.clone()),
        }
    }
}
