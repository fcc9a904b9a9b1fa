//! Tries that continue when their callers leave.
#![expect(
    missing_debug_implementations,
    reason = "only a `ClientService` holds them"
)]

use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::runtime::Handle;
use tower::util::Oneshot;
use tower_service::Service;

use super::handle::{AnyClientGuard, HostsOf, InFlightOf};
use crate::{
    Admit, AnyPermit, BreakerService, Counted, InFlightCounts, KeyedPermit, Origin, Rejection,
    Report, ResponseFuture, ServiceError,
};

/// A breaker around tries that continue when their callers leave:
/// [`ClientConfig::outliving`](super::ClientConfig::outliving). `Q` is the request, and `G` leads to the guard.
pub struct TryService<S, A, C, Q, G>
where
    BreakerService<S, A, C>: Service<Q>,
    G: AnyClientGuard,
{
    inner: BreakerService<S, A, C>,
    leave: Leave<Try<S, A, C, Q>, G>,
    guard: G,
}

/// A try that is counted while it is in flight.
type InFlight<G> = Counted<InFlightOf<G>>;

/// The future of a try.
type Try<S, A, C, Q> = <BreakerService<S, A, C> as Service<Q>>::Future;

/// What happens to a try whose caller leaves. Chosen where the layer is applied, since it requires futures that can
/// move into a task. Requiring that of the service would keep futures that hold the service from being `Send` (a
/// limitation of the compiler, which forgets there that a reference is `'static`).
type Leave<F, G> = fn(Pin<Box<F>>, Option<InFlight<G>>, &G);

impl<S, A, C, Q, G> TryService<S, A, C, Q, G>
where
    S: Service<Q> + Clone,
    A: Admit<Q, Permit = KeyedPermit<HostsOf<G>>>,
    G: AnyClientGuard<Clock: Send + Sync> + Send + Sync + 'static,
    C: Report<S::Response, S::Error> + Clone + Send + 'static,
    Oneshot<S, Q>: Future<Output = Result<S::Response, S::Error>> + Send + 'static,
{
    pub(super) fn new(inner: BreakerService<S, A, C>, guard: G) -> Self {
        Self {
            inner,
            leave,
            guard,
        }
    }
}

impl<S: Clone, A: Clone, C: Clone, Q, G> Clone for TryService<S, A, C, Q, G>
where
    BreakerService<S, A, C>: Service<Q>,
    G: AnyClientGuard,
{
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            leave: self.leave,
            guard: self.guard.clone(),
        }
    }
}

impl<S, A, C, Q, G> Service<Q> for TryService<S, A, C, Q, G>
where
    S: Service<Q> + Clone,
    A: Admit<Q, Permit = KeyedPermit<HostsOf<G>>>,
    G: AnyClientGuard,
    C: Report<S::Response, S::Error> + Clone,
{
    type Response = C::Output<A::Permit>;
    type Error = ServiceError<S::Error>;
    type Future = TryFuture<Try<S, A, C, Q>, G>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let (admitted, counted) = match self.admit(&request) {
            Ok((permit, counted)) => (Ok(permit), counted),
            Err(rejection) => (Err(rejection), None),
        };
        let call = self.inner.call_if(admitted, request);
        let call = if call.is_rejected() {
            Call::Rejected { call }
        } else {
            let call = Made {
                call: Some(Box::pin(call)),
                counted,
                leave: self.leave,
                guard: self.guard.clone(),
            };
            Call::Made { call }
        };
        TryFuture { call }
    }
}

impl<S, A, C, Q, G> TryService<S, A, C, Q, G>
where
    BreakerService<S, A, C>: Service<Q>,
    A: Admit<Q, Permit = KeyedPermit<HostsOf<G>>>,
    G: AnyClientGuard,
{
    /// Asks for a try. Where the tries of a host are limited, it is counted until the head of its response, and so
    /// separately from the permit, which the body may take along.
    fn admit(&self, request: &Q) -> Result<Admitted<G>, Rejection> {
        let permit = self.inner.admit().admit(request)?;
        if self.guard.in_flight.is_none() {
            return Ok((permit, None));
        }
        let counts = InFlightOf(self.guard.clone());
        let (permit, counted) = InFlightCounts::limit(counts, permit)?.into_parts();
        Ok((permit, Some(counted)))
    }
}

/// A permit, and the count of its try.
type Admitted<G> = (KeyedPermit<HostsOf<G>>, Option<InFlight<G>>);

pin_project! {
    /// The future of a [`TryService`]. If it is dropped, the try may continue in a task of its own.
    #[must_use = "futures do nothing unless polled"]
    pub struct TryFuture<F, G>
    where
        G: AnyClientGuard,
    {
        #[pin]
        call: Call<F, G>,
    }
}

pin_project! {
    #[project = Projected]
    enum Call<F, G>
    where
        G: AnyClientGuard,
    {
        Made { call: Made<F, G> },
        // Ready at once, so not worth a box.
        Rejected { #[pin] call: F },
    }
}

/// An admitted call. Boxed, as it may move into a task.
struct Made<F, G: AnyClientGuard> {
    /// `None` while it is being dropped.
    call: Option<Pin<Box<F>>>,
    /// Only where the tries of a host are limited.
    counted: Option<InFlight<G>>,
    leave: Leave<F, G>,
    guard: G,
}

impl<F, G: AnyClientGuard> Drop for Made<F, G> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            (self.leave)(call, self.counted.take(), &self.guard);
        }
    }
}

impl<F: Future, G: AnyClientGuard> Future for TryFuture<F, G> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        match self.project().call.project() {
            Projected::Made { call } => {
                let call = call.call.as_mut().expect("taken by the drop alone");
                call.as_mut().poll(context)
            }
            Projected::Rejected { call } => call.poll(context),
        }
    }
}

type Tried<F, G, C> = ResponseFuture<F, KeyedPermit<HostsOf<G>>, C>;

/// Called when the caller leaves: a call under way continues if it would be reported and there is room for it.
fn leave<F, G, C, T, E>(call: Pin<Box<Tried<F, G, C>>>, counted: Option<InFlight<G>>, guard: &G)
where
    F: Future<Output = Result<T, E>> + Send + 'static,
    G: AnyClientGuard<Clock: Send + Sync> + Send + Sync + 'static,
    C: Report<T, E> + Send + 'static,
{
    let Some(permit) = call.permit().filter(|permit| permit.is_admitted()) else {
        return;
    };
    let Some(room) = Room::enter(guard, permit.key(), permit.is_probe()) else {
        return;
    };
    if let Ok(runtime) = Handle::try_current() {
        drop(runtime.spawn(async move {
            let _until_it_ends = (room, counted);
            drop(call.await);
        }));
    }
}

/// How many calls continue without their callers, by host.
///
/// Hosts may share a place by chance, and then also its room; what one of them takes from another is returned within
/// the limit of a try.
#[derive(Debug)]
pub(super) struct Rooms {
    places: Box<[AtomicU32]>,
    hasher: RandomState,
    /// The limit of each place.
    most: u32,
}

impl Rooms {
    pub(super) fn new(places: usize, most: u32) -> Self {
        Self {
            places: (0..places.max(1)).map(|_| AtomicU32::new(0)).collect(),
            hasher: RandomState::new(),
            most,
        }
    }

    fn of(&self, host: &Origin) -> usize {
        self.hasher.hash_one(host) as usize % self.places.len()
    }
}

/// The room of one call: a place, unless it is a probe.
struct Room<G: AnyClientGuard>(G, Option<usize>);

impl<G: AnyClientGuard> Room<G> {
    /// A probe always has room, as the breaker bounds their number, unless no call continues at all.
    fn enter(guard: &G, host: &Origin, is_probe: bool) -> Option<Self> {
        let rooms = &guard.rooms;
        if is_probe {
            return (rooms.most > 0).then(|| Self(guard.clone(), None));
        }
        let place = rooms.of(host);
        let count = &rooms.places[place];
        // Nothing else depends on this counter: here and below.
        if count.fetch_add(1, Ordering::Relaxed) < rooms.most {
            return Some(Self(guard.clone(), Some(place)));
        }
        count.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

impl<G: AnyClientGuard> Drop for Room<G> {
    fn drop(&mut self) {
        if let Some(place) = self.1 {
            self.0.rooms.places[place].fetch_sub(1, Ordering::Relaxed);
        }
    }
}
