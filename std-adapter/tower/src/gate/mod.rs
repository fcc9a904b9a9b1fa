//! The layer around endpoints under a balancer.
//!
//! | file | what |
//! |---|---|
//! | `service` | the endpoint: when it is ready, and its calls |
//! | `pause` | the one timer of an endpoint that would reject |

mod pause;
mod service;

pub use service::GateService;

use atomic_breaker::{AnyError, Classify};
use tower_layer::Layer;

use crate::{Admit, AtOnce};

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
/// While the endpoint is not ready it has one timer, boxed once. With a [`StateWatch`](crate::StateWatch) as observer
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

impl<A> GateLayer<A> {
    /// A layer that asks a breaker and treats every error as a failure.
    ///
    /// `admit` is a reference to or an `Arc` of a breaker or of a `Resource` (`atomic-breaker-resource`): one for each
    /// endpoint.
    pub const fn new(admit: A) -> Self {
        Self {
            admit,
            report: AnyError,
        }
    }
}

impl<A, C> GateLayer<A, C> {
    /// Asks a [classifier](Classify), such as a closure, what a result means.
    pub fn classify<T, E, K: Classify<T, E>>(self, classify: K) -> GateLayer<A, AtOnce<K>> {
        self.report(AtOnce(classify))
    }

    /// Leaves it to a [reporter](crate::Report), such as those of `atomic-breaker-http`, to report what a result means.
    pub fn report<K>(self, report: K) -> GateLayer<A, K> {
        GateLayer {
            admit: self.admit,
            report,
        }
    }
}

impl<S, A: Admit<()> + Clone, C: Clone> Layer<S> for GateLayer<A, C> {
    type Service = GateService<S, A, C>;

    fn layer(&self, inner: S) -> Self::Service {
        GateService::new(inner, self.admit.clone(), self.report.clone())
    }
}
