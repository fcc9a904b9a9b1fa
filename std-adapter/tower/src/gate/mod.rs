// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layer around endpoints under a balancer: when an endpoint is ready, and its calls. `pause` has the one timer of an
//! endpoint that would reject.

mod pause;

use std::fmt;
use std::mem;
use std::task::{Context, Poll, ready};

use atomic_breaker::{AnyError, Failure, Outcome, State, wait::Awaited};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use crate::asked::admitted;
use crate::service::ResponseFuture;
use crate::{Admit, AnyPermit, Rejection, Report, ServiceError};
use atomic_breaker_server::OneBreaker;
use pause::Pause;

/// Makes a service not ready while its breaker would reject: for the endpoints of a balancer, which then sends requests
/// to the others, and for a service under a buffer, where requests wait.
///
/// For services that are cloned per request use a [`BreakerLayer`](super::BreakerLayer), which rejects at once. Under a
/// balancer that would be wrong: an endpoint that responds fast, even if only with errors, looks like the best one.
///
/// | the breaker is | the endpoint is |
/// |---|---|
/// | closed, disabled | ready when the service is; no permit is taken before the call |
/// | open, forced open | not ready, and wakes its task when the time is over |
/// | half-open | ready with the permit of a probe, which the next call uses; otherwise not ready, and looks for a slot ten to twenty times a second |
/// | returning | ready with a permit at random, according to the share; otherwise looks again after 10 to 20 ms |
///
/// The breaker is one of the endpoint's own, or that of a key of a registry (`KeyGuard` of `atomic-breaker-server`): its
/// `max_shut_out` then holds for the pool.
///
/// While the endpoint is not ready it has one timer, boxed once. With a [`StateWatch`](atomic_breaker_server::StateWatch) as observer
/// every transition wakes it; changes made elsewhere, such as by another process, it notices within ten seconds, or
/// within one if there is no such observer. Each of these checks counts as a rejection for the breaker's observer.
///
/// # The permit of a probe
///
/// It is renewed by each `poll_ready` and by the call, so the time before the call says nothing about the resource.
/// While the inner service is not ready, the permit is not renewed: after the lease it is given back, so that another
/// endpoint can have it, and the service asks for one again when it is ready. If a balancer rarely chooses the
/// endpoint, the permit lapses after the breaker's [`probe_lease`](crate::Config::probe_lease): the next one to ask is
/// admitted, and the endpoint is not ready at its next poll. Where several balancers share the breaker of an endpoint,
/// set a lease slightly longer than a call. A service that is dropped gives the permit back at once, without a report.
///
/// # Calls and errors
///
/// A call asks again: it returns [`ServiceError::Rejected`](crate::ServiceError::Rejected) if the breaker opened after
/// `poll_ready`. An error of the service's own `poll_ready` counts as a failure of weight 1 and is passed on; tower's
/// balancer then drops the endpoint, but the breaker remembers, so it is still closed to the replacement.
///
/// The balancer needs a measure of load: wrap the gate in tower's `PendingRequests` or `PeakEwma`. If all endpoints may
/// be away for long, limit how long a request waits, or how many wait: `Timeout`, `LoadShed`.
///
/// ```
/// use atomic_breaker_tower::{Config, GateLayer, breaker};
/// use std::{io, sync::Arc};
/// use tower::balance::p2c::Balance;
/// use tower::discover::ServiceList;
/// use tower::load::{CompleteOnResponse, PendingRequests};
/// use tower::{Layer, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tower::BoxError> {
/// let endpoints = ["10.0.0.1:80", "10.0.0.2:80"].map(|address| {
///     let client = service_fn(move |request: u32| async move {
///         Ok::<_, io::Error>(format!("{address} answers {request}"))
///     });
///     let gate = GateLayer::new(Arc::new(breaker(Config::new()))).layer(client);
///     PendingRequests::new(gate, CompleteOnResponse::default())
/// });
/// let balance = Balance::new(ServiceList::new::<u32>(endpoints));
/// assert!(balance.oneshot(7).await?.ends_with("answers 7"));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GateLayer<A, C = AnyError> {
    admit: A,
    report: C,
}

guard_layer!(GateLayer);

impl<S, A: Admit<()> + OneBreaker + Clone, C: Clone> Layer<S> for GateLayer<A, C> {
    type Service = GateService<S, A, C>;

    fn layer(&self, inner: S) -> Self::Service {
        GateService::new(inner, self.admit.clone(), self.report.clone())
    }
}

type EpochOf<A> = <<A as OneBreaker>::Awaited as Awaited>::Epoch;

/// The service of a [`GateLayer`]. A clone holds no permit and has no timer; one that is taken apart
/// gives its permit back.
pub struct GateService<S, A: Admit<()> + OneBreaker, C = AnyError> {
    inner: S,
    admit: A,
    report: C,
    held: Option<Held<A::Permit>>,
    unready: Unready,
    pause: Pause<EpochOf<A>>,
}

/// The time since which the inner service has not been ready, although a call would be admitted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unready {
    No,
    /// Since then, while holding a permit.
    Since(Instant),
    /// A whole lease has passed: the permit was given back, so that others may have it.
    GivenUp,
}

/// A permit whose call has not begun. Dropping it gives it back, however long it was held: a permit cancelled late
/// would count as a call that hung.
#[derive(Debug)]
struct Held<P: AnyPermit>(Option<P>);

impl<P: AnyPermit> Held<P> {
    const fn new(permit: P) -> Self {
        Self(Some(permit))
    }

    /// Returns whether it is still valid; if so, its time starts again.
    fn renew(&mut self) -> bool {
        self.0.as_mut().is_some_and(AnyPermit::renew)
    }

    /// Takes the permit for the call.
    fn into_permit(mut self) -> Option<P> {
        self.0.take()
    }
}

impl<P: AnyPermit> Drop for Held<P> {
    fn drop(&mut self) {
        if let Some(permit) = self.0.take() {
            permit.report(Outcome::Ignored);
        }
    }
}

impl<S, A: Admit<()> + OneBreaker, C> GateService<S, A, C> {
    fn new(inner: S, admit: A, report: C) -> Self {
        Self {
            inner,
            admit,
            report,
            held: None,
            unready: Unready::No,
            pause: Pause::default(),
        }
    }

    inner_service!();
}

impl<S, A: Admit<()> + OneBreaker, C> GateService<S, A, C> {
    /// Ready without a permit while closed or disabled, otherwise with one.
    fn poll_permit(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let state = self.admit.awaited().snapshot().state();
            if matches!(state, State::Closed | State::Disabled) {
                self.held = None;
                return Poll::Ready(());
            }
            // While the service is not ready the lease runs on.
            let is_unready = self.unready != Unready::No;
            if self
                .held
                .as_mut()
                .is_some_and(|held| is_unready || held.renew())
            {
                return Poll::Ready(());
            }
            self.held = None;
            self.pause.listen(self.admit.awaited(), context);
            let epoch = self.admit.awaited().epoch();
            ready!(self.pause.poll(&epoch, context));
            match self.admit.admit(&()) {
                Ok(permit) => {
                    self.held = Some(Held::new(permit));
                    return Poll::Ready(());
                }
                Err(rejection) => {
                    let rejected = rejection.rejected;
                    self.pause
                        .begin(epoch, rejected, self.admit.awaited(), context);
                }
            }
        }
    }

    /// The service is not ready: after a lease, others may have the permit.
    fn wait_for_service(&mut self) {
        if self.held.is_none() {
            return;
        }
        let lease = self.admit.lease();
        self.unready = match self.unready {
            Unready::Since(begin) if begin.elapsed() >= lease => {
                self.held = None;
                Unready::GivenUp
            }
            Unready::No => Unready::Since(Instant::now()),
            still => still,
        };
    }

    /// The held permit, if it is still valid, or another one.
    fn permit(&mut self) -> Result<A::Permit, Rejection> {
        let held = self.held.take();
        let renewed = held.and_then(|mut held| held.renew().then(|| held.into_permit())?);
        match renewed {
            Some(permit) => Ok(permit),
            None => self.admit.admit(&()),
        }
    }

    /// Counts a failure of the service before it was called.
    fn count_failure(&mut self) {
        if let Ok(permit) = self.permit() {
            let why = || "failed while becoming ready".to_owned();
            permit.report_because(Failure::new().into(), why);
        }
    }
}

impl<S, A, C, Q> Service<Q> for GateService<S, A, C>
where
    S: Service<Q>,
    A: Admit<()> + OneBreaker,
    C: Report<S::Response, S::Error> + Clone,
{
    type Response = C::Output<A::Permit>;
    type Error = ServiceError<S::Error>;
    type Future = ResponseFuture<S::Future, A::Permit, C>;

    /// The breaker first: while it would reject, the service is not even asked whether it is ready, as that may be what
    /// makes it connect.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        if self.unready != Unready::GivenUp {
            ready!(self.poll_permit(context));
        }
        let Poll::Ready(is_ready) = self.inner.poll_ready(context) else {
            self.wait_for_service();
            return Poll::Pending;
        };
        let was_unready = mem::replace(&mut self.unready, Unready::No) != Unready::No;
        if is_ready.is_err() {
            self.count_failure();
        } else if was_unready {
            // A permit held meanwhile may have lapsed.
            ready!(self.poll_permit(context));
        }
        Poll::Ready(is_ready.map_err(ServiceError::Failed))
    }

    fn call(&mut self, request: Q) -> Self::Future {
        can_fail!(S, C);
        match self.permit() {
            Ok(permit) => {
                let (permit, call) = permit.judged(|| self.inner.call(request));
                admitted::<Self>();
                ResponseFuture::new(call, true, permit, self.report.clone())
            }
            Err(rejection) => ResponseFuture::rejected(rejection, self.report.clone()),
        }
    }
}

impl<S: Clone, A: Admit<()> + OneBreaker + Clone, C: Clone> Clone for GateService<S, A, C> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), self.admit.clone(), self.report.clone())
    }
}

impl<S: fmt::Debug, A: Admit<()> + OneBreaker, C> fmt::Debug for GateService<S, A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateService")
            .field("inner", &self.inner)
            .field("holds_permit", &self.held.is_some())
            .finish_non_exhaustive()
    }
}
