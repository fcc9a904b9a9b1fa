// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tries of a request, each with the breaker of its host.

use std::error::Error;
use std::ops::Deref;
use std::pin::pin;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use atomic_breaker::Clock;
use atomic_breaker_server::{
    AnyPermit, GuardPermit, KeyGuard, Report, RetryEvent, RetryObserver, TryEvent,
};
use atomic_breaker_tower::{BudgetOf, Leaving, Try, admitted, has_left};
use http::Request;
use tower::ServiceExt;
use tower_service::Service;

use super::ending::{AtEitherEnd, ClientResponse, Responded, Tried, read_on};
use super::guard::{ClientGuard, HostsOf};
use super::key::GuardedKey;
use super::probe::{Probe, TryTime, in_time};
use crate::causes::WithCauses;
use crate::errors::ErrorRule;
use crate::per_host::{CountedCall, HostCounts};
use crate::retries::{Deadline, ResendCount, may_repeat};
use crate::rules::at_head;
use crate::usual_errors::Again;
use crate::{Failure, Guard, Outcome, Rejection, RetryBudget, Scope, ServiceError, Timed};

/// The breaker of the host around a try: below it the limit of the try, fresh connections and the client.
#[derive(Clone)]
pub(super) struct Tries<S, H, X> {
    pub(super) client: S,
    pub(super) guard: H,
    pub(super) report: AtEitherEnd<Tried<X>>,
}

/// The host of a request, or its other key, found once: beside its body, while the guard has it.
pub(super) struct Host<K> {
    pub(super) key: K,
    /// Copies the key for as long as a request lasts.
    pub(super) share: fn(&K) -> K,
    /// The place of its budget.
    pub(super) budget: usize,
}

impl<K> Host<K> {
    pub(super) fn shared(&self) -> K {
        (self.share)(&self.key)
    }
}

impl<K> Clone for Host<K> {
    fn clone(&self) -> Self {
        Self {
            key: self.shared(),
            ..*self
        }
    }
}

/// The permit of a try.
pub(super) type TryPermit<H> = GuardPermit<KeyGuard<HostsOf<H>>>;

/// The error of a try: that of the client with its causes, or the time limit.
pub(super) type TryError<E> = Timed<WithCauses<E>>;

impl<S, B, E, H, C, K, X> Service<Request<(Host<K>, B)>> for Tries<S, H, X>
where
    S: Service<Request<B>, Error = E, Response: ClientResponse + Send, Future: Send>,
    S: Clone + Send + 'static,
    B: Clone + Send + 'static,
    E: Error + Send + 'static,
    H: Deref<Target = ClientGuard<C, K>> + Clone + Send + Sync + 'static,
    C: Clock + Send + Sync + 'static,
    K: GuardedKey,
    X: ErrorRule<E> + Clone + Send + Sync + 'static,
{
    type Response = Responded<S::Response, TryPermit<H>>;
    type Error = ServiceError<TryError<E>>;
    type Future = Try<Result<Self::Response, Self::Error>, K>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<(Host<K>, B)>) -> Self::Future {
        let (parts, (host, body)) = request.into_parts();
        let mut request = Request::from_parts(parts, body);
        let (permit, in_flight) = match self.admit(&host, &request) {
            Ok(admitted) => admitted,
            Err(rejection) => return Try::ended(Err(rejection.into())),
        };
        // The caller's own time, which has been heeded: a try goes on when it has passed, and a guard within it would end it.
        request.extensions_mut().remove::<Deadline>();
        let probing = permit.is_probe().then(Arc::default);
        if let Some(probing) = &probing {
            let probe = ProbeOf::new(&*self.guard, host.shared(), probing);
            request.extensions_mut().insert(probe);
        }
        let probe = permit.is_probe();
        let probe = probe.then(|| Probe::mark(request.extensions_mut(), permit.trips()));
        // What passes in shadow mode, or unguarded, is not reported, so nothing requires it to continue.
        let places = permit.is_admitted().then(|| self.guard.places()).flatten();
        let leaving = places.map(|it| Leaving::new(it, host.shared(), permit.is_probe()));
        let limits = self.guard.config().try_limits();
        let limit = limits.of(&permit, || self.guard.slow_call_of(&host.key));
        let time = TryTime {
            limit,
            repair_limit: limits.of_try(),
        };
        let guard = self.guard.clone();
        let sent_before = request.extensions().get().map(|&ResendCount(count)| count);
        let is_retry = sent_before.is_some();
        let number = sent_before.unwrap_or(0).saturating_add(1);
        let (client, report) = (self.client.clone(), self.report.clone());
        let call = async move {
            let was_resent = AtomicBool::new(false);
            let pays = || {
                let pays = guard.pays_within_try(&host, number);
                was_resent.fetch_or(pays, Relaxed);
                pays
            };
            let mut permit = Some(permit);
            let result = {
                let call = pin!(async {
                    // Counted until the head, and so separately from the permit, which the body may take along.
                    let _in_flight = in_flight;
                    fresh(client, request, pays).await
                });
                match in_time(&mut permit, probe.as_ref(), time, call).await {
                    Some(result) => result.map_err(|error| Timed::Failed(WithCauses(error))),
                    None => Err(Timed::TimedOut),
                }
            };
            let permit = permit.expect("taken by a panic alone");
            let result = report.report(permit, result);
            let http = report.http;
            drop(probing);
            let tell = |outcome, event| guard.tell(&host, TryEvent::new(number, outcome, event));
            // A retry that succeeds is counted where it was decided on, and so is a try that fails, unless its caller has left.
            let is_resent = was_resent.into_inner() && !is_retry;
            let is_alone = has_left() && guard.config().retry().tries > 1;
            if is_resent || is_alone {
                match at_head(&http, &result) {
                    (Outcome::Success, _) if is_resent => {
                        tell(Outcome::Success, RetryEvent::Recovered);
                    }
                    (Outcome::Failure(_), _) | (_, Scope::Quota) if is_alone => {
                        tell(Failure::new().into(), RetryEvent::Cancelled);
                    }
                    _ => {}
                }
            }
            result.map_err(ServiceError::Failed)
        };
        admitted::<Self>();
        let made = Try::new(call, leaving);
        if self.report.at_end.is_none() {
            return made;
        }
        made.reading_on(limit, read_on)
    }
}

impl<S, H, C, K, X> Tries<S, H, X>
where
    H: Deref<Target = ClientGuard<C, K>> + Clone,
    C: Clock + 'static,
    K: GuardedKey,
{
    fn admit<B>(&self, host: &Host<K>, request: &Request<B>) -> Result<Admitted<H, K>, Rejection> {
        let permit = match self.key(host).acquire() {
            Ok(permit) => permit,
            Err(_) if self.is_within_probe(host, request) => self.key(host).unguarded(),
            Err(rejection) => return Err(rejection),
        };
        let Some(counts) = &self.guard.in_flight else {
            return Ok((permit, None));
        };
        let trip = |permit: GuardPermit<_>, outcome, why| permit.replace(outcome, || why);
        let (permit, counted) =
            HostCounts::<K>::limit(Arc::clone(counts), permit, trip)?.into_parts();
        Ok((permit, Some(counted)))
    }

    fn key(&self, host: &Host<K>) -> KeyGuard<HostsOf<H>> {
        KeyGuard::new(HostsOf(self.guard.clone()), host.shared())
    }

    /// Returns whether a request is part of a probe of the same guard further out, whose permit guards it.
    #[cold]
    fn is_within_probe<B>(&self, host: &Host<K>, request: &Request<B>) -> bool {
        let probe = request.extensions().get::<ProbeOf<K>>();
        probe.is_some_and(|probe| probe.passes(&*self.guard, &host.key))
    }
}

/// Another extension of a request that is a probe. If the same guard is layered twice, the inner layer would reject it: it is
/// the outer one that holds the slot, so the breaker would never close.
#[derive(Clone)]
struct ProbeOf<K> {
    /// The address of the guard.
    guard: usize,
    key: K,
    /// A request kept beyond its probe must not bypass an open breaker.
    under_way: Weak<()>,
}

impl<K> ProbeOf<K> {
    /// Passes for as long as `under_way` is kept.
    fn new<C>(guard: &ClientGuard<C, K>, key: K, under_way: &Arc<()>) -> Self {
        Self {
            guard: address(guard),
            key,
            under_way: Arc::downgrade(under_way),
        }
    }

    /// Returns whether it is under way, and about this key of this guard.
    fn passes<C>(&self, guard: &ClientGuard<C, K>, key: &K) -> bool
    where
        K: PartialEq,
    {
        self.under_way.strong_count() > 0 && self.guard == address(guard) && self.key == *key
    }
}

/// The number that tells guards apart.
pub(super) fn address<C, K>(guard: &ClientGuard<C, K>) -> usize {
    ptr::from_ref(guard).addr()
}

impl<C: Clock, K: GuardedKey> ClientGuard<C, K> {
    /// Counts what followed a try, and notifies the observer.
    fn tell(&self, host: &Host<K>, mut event: TryEvent) {
        let budget = self.budgets.at(host.budget);
        budget.count(event.event);
        if let Some(observer) = self.retry_observer.as_ref().filter(|it| it.is_listening()) {
            event.millitokens = Some(budget.millitokens());
            observer.event(&host.key, &event);
        }
    }

    /// Takes a token to send a request again within its try. The consequence of having none is counted with the end of
    /// the try, unless no further try is wanted.
    fn pays_within_try(&self, host: &Host<K>, number: u32) -> bool {
        let pays = self.budgets.at(host.budget).withdraw_uncounted();
        let failed = Failure::new().into();
        if pays {
            self.tell(host, TryEvent::new(number, failed, RetryEvent::Sent));
        } else if self.config().retry().tries <= 1 {
            self.tell(host, TryEvent::new(number, failed, RetryEvent::NoToken));
        }
        pays
    }
}

type Admitted<H, K> = (TryPermit<H>, Option<CountedCall<K>>);

impl<B, C: Clock + 'static, K: GuardedKey, H> BudgetOf<Request<(Host<K>, B)>> for HostsOf<H>
where
    H: Deref<Target = ClientGuard<C, K>>,
{
    fn place_of(&self, request: &Request<(Host<K>, B)>) -> usize {
        request.body().0.budget
    }

    fn at(&self, place: usize) -> &RetryBudget {
        self.0.budgets.at(place)
    }
}

/// Sends a request again, at once and within its try, if its connection broke before a response: an idle pooled
/// connection fails this way if the host closed its side unnoticed, and that says nothing about the host as it is now.
/// A request that was refused unprocessed is sent again whatever its method, others only if they may be sent twice, and
/// only if `pays` says so.
pub(super) async fn fresh<S, B>(
    client: S,
    mut request: Request<B>,
    pays: impl Fn() -> bool,
) -> Result<S::Response, S::Error>
where
    S: Service<Request<B>, Error: Error + 'static> + Clone,
    B: Clone,
{
    let mut again = Again::new();
    loop {
        let result = client.clone().oneshot(request.clone()).await;
        let is_worth_it = |error: &S::Error| again.allow(error, || may_repeat(&request));
        // The token last, so that none is wasted.
        if !result.as_ref().is_err_and(is_worth_it) || !pays() {
            return result;
        }
        let extensions = request.extensions_mut();
        let sent = extensions.get().map_or(0, |&ResendCount(sent)| sent);
        extensions.insert(ResendCount(sent.saturating_add(1)));
    }
}
