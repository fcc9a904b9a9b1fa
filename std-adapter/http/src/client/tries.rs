//! The tries of a request, each with the breaker of its host.

use std::error::Error;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Request;
use tokio::time::timeout;
use tower::ServiceExt;
use tower_service::Service;

use super::guard::{AnyClientGuard, BudgetOfHost, HostsOf};
use crate::outliving::LeavingHost;
use crate::usual_errors::Again;
use crate::{
    Admit, AnyPermit, ByMethod, Counted, GuardPermit, Idempotent, InFlightCounts, Key, Origin,
    PerHost, Rejection, Report, ServiceError, Timed, Try, WithCauses,
};

/// The breaker of the host around a try: below it the limit of the try, fresh connections and the client.
#[derive(Clone)]
pub(super) struct Tries<S, H, R> {
    pub(super) client: S,
    pub(super) guard: H,
    pub(super) by_host: PerHost<HostsOf<H>>,
    pub(super) budget: BudgetOfHost<H>,
    pub(super) report: R,
}

/// The count of a try in flight.
type InFlight = Counted<Arc<InFlightCounts>>;

/// The error of a client with causes, or that of the limit.
pub(super) type TryError<E> = Timed<WithCauses<E>>;

impl<S, B, E, H, R> Service<Request<B>> for Tries<S, H, R>
where
    S: Service<Request<B>, Error = E, Response: Send, Future: Send> + Clone + Send + 'static,
    B: Clone + Send + 'static,
    E: Error + Send + 'static,
    H: AnyClientGuard<Clock: Send + Sync> + Send + Sync + 'static,
    R: Report<S::Response, TryError<E>> + Clone + Send + Sync + 'static,
{
    type Response = R::Output<GuardPermit<Key<HostsOf<H>>>>;
    type Error = ServiceError<TryError<E>>;
    type Future = Try<Result<Self::Response, Self::Error>, LeavingHost>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let (permit, in_flight) = match self.admit(&request) {
            Ok(admitted) => admitted,
            Err(rejection) => return Try::ended(Err(rejection.into())),
        };
        if permit.is_probe() {
            let host = permit.key().shared();
            let guard = self.guard.address();
            request.extensions_mut().insert(Probe { guard, host });
        }
        // What passes in shadow mode, or unguarded, is not reported, so nothing requires it to continue.
        let places = permit.is_admitted().then(|| self.guard.places()).flatten();
        let leaving =
            places.map(|places| LeavingHost::new(places, permit.key().shared(), permit.is_probe()));
        let limit = self.guard.config().try_limit;
        let fresh = fresh(self.client.clone(), self.budget.clone(), request);
        let report = self.report.clone();
        let call = async move {
            let made = || async {
                // Counted until the head, and so separately from the permit, which the body may take along.
                let _in_flight = in_flight;
                match timeout(limit, fresh).await {
                    Ok(result) => result.map_err(|error| Timed::Failed(WithCauses(error))),
                    Err(_) => Err(Timed::TimedOut),
                }
            };
            let result = permit.run_async(report, made).await;
            result.map_err(ServiceError::Failed)
        };
        Try::new(call, leaving)
    }
}

impl<S, H: AnyClientGuard, R> Tries<S, H, R> {
    fn admit<B>(&self, request: &Request<B>) -> Result<Admitted<H>, Rejection> {
        let permit = match self.by_host.admit(request) {
            Ok(permit) => permit,
            Err(rejection) => self.within_probe(request).ok_or(rejection)?,
        };
        let Some(counts) = &self.guard.in_flight else {
            return Ok((permit, None));
        };
        let (permit, counted) = InFlightCounts::limit(Arc::clone(counts), permit)?.into_parts();
        Ok((permit, Some(counted)))
    }

    /// The permit of a request that is a probe already, of the same guard further out.
    #[cold]
    fn within_probe<B>(&self, request: &Request<B>) -> Option<GuardPermit<Key<HostsOf<H>>>> {
        let probe: &Probe = request.extensions().get()?;
        let is_same = probe.guard == self.guard.address();
        is_same.then(|| self.by_host.within(&probe.host, request))?
    }
}

/// An extension of a request that is a probe. If the same guard is layered twice, the inner layer would reject it: it is
/// the outer one that holds the slot, so the breaker would never close.
#[derive(Clone)]
struct Probe {
    /// The address of the guard.
    guard: usize,
    host: Origin,
}

type Admitted<H> = (GuardPermit<Key<HostsOf<H>>>, Option<InFlight>);

/// Sends a request again, at once and within its try, if its connection broke before a response: an idle pooled
/// connection fails this way if the host closed its side unnoticed, and that says nothing about the host as it is now.
/// Each time costs a token of the budget. A request that was refused unprocessed is sent again whatever its method,
/// others only if they may be sent twice.
async fn fresh<S, B, H>(
    client: S,
    budget: BudgetOfHost<H>,
    request: Request<B>,
) -> Result<S::Response, S::Error>
where
    S: Service<Request<B>, Error: Error + 'static> + Clone,
    B: Clone,
    H: AnyClientGuard,
{
    let mut again = Again::new();
    loop {
        let result = client.clone().oneshot(request.clone()).await;
        let is_worth_it =
            |error: &S::Error| again.allow(error, || ByMethod.is_idempotent(&request));
        // The token last, so that none is wasted.
        if !result.as_ref().is_err_and(is_worth_it) || !budget.of(&request).withdraw() {
            return result;
        }
    }
}
