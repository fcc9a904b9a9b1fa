//! Tries that continue when their callers leave.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tokio::runtime::Handle;
use tower::util::Oneshot;
use tower_service::Service;

use crate::http::Origin;
use crate::registry::{AnyRegistry, InFlightCounts, KeyedPermit, limited};
use crate::resource::{Admit, AnyPermit, Counted, Rejection, Report, ServiceError};
use crate::tower::{BreakerService, ResponseFuture};

/// A breaker around tries that continue when their callers leave:
/// [`ClientConfig::outliving`](super::ClientConfig::outliving). `Q` is the request.
pub struct TryService<S, A, C, Q>
where
    BreakerService<S, A, C>: Service<Q>,
{
    inner: BreakerService<S, A, C>,
    leave: Leave<Try<S, A, C, Q>>,
    rooms: &'static Rooms,
    in_flight: Option<&'static InFlightCounts>,
}

/// A try that is counted while it is in flight.
type InFlight = Counted<&'static InFlightCounts>;

/// The future of a try.
type Try<S, A, C, Q> = <BreakerService<S, A, C> as Service<Q>>::Future;

/// What happens to a try whose caller leaves. Chosen where the layer is applied, since it requires futures that can
/// move into a task. Requiring that of the service would keep futures that hold the service from being `Send` (a
/// limitation of the compiler, which forgets there that a reference is `'static`).
type Leave<F> = fn(Pin<Box<F>>, Option<InFlight>, &'static Rooms);

impl<S, A, C, Q, H> TryService<S, A, C, Q>
where
    S: Service<Q> + Clone,
    A: Admit<Q, Permit = KeyedPermit<H>>,
    H: AnyRegistry<Key = Origin> + 'static,
    KeyedPermit<H>: Send,
    C: Report<S::Response, S::Error> + Clone + Send + 'static,
    Oneshot<S, Q>: Future<Output = Result<S::Response, S::Error>> + Send + 'static,
{
    pub(super) fn new(
        inner: BreakerService<S, A, C>,
        rooms: &'static Rooms,
        in_flight: Option<&'static InFlightCounts>,
    ) -> Self {
        Self {
            inner,
            leave,
            rooms,
            in_flight,
        }
    }
}

impl<S: Clone, A: Clone, C: Clone, Q> Clone for TryService<S, A, C, Q>
where
    BreakerService<S, A, C>: Service<Q>,
{
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            ..*self
        }
    }
}

impl<S: fmt::Debug, A, C, Q> fmt::Debug for TryService<S, A, C, Q>
where
    BreakerService<S, A, C>: Service<Q>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryService")
            .field("inner", self.inner.get_ref())
            .finish_non_exhaustive()
    }
}

impl<S, A, C, Q, H> Service<Q> for TryService<S, A, C, Q>
where
    S: Service<Q> + Clone,
    A: Admit<Q, Permit = KeyedPermit<H>>,
    H: AnyRegistry,
    C: Report<S::Response, S::Error> + Clone,
{
    type Response = C::Output<A::Permit>;
    type Error = ServiceError<S::Error>;
    type Future = TryFuture<Try<S, A, C, Q>>;

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
                rooms: self.rooms,
            };
            Call::Made { call }
        };
        TryFuture { call }
    }
}

impl<S, A, C, Q, H> TryService<S, A, C, Q>
where
    BreakerService<S, A, C>: Service<Q>,
    A: Admit<Q, Permit = KeyedPermit<H>>,
    H: AnyRegistry,
{
    /// Asks for a try. Where the tries of a host are limited, it is counted until the head of its response, and so
    /// separately from the permit, which the body may take along.
    fn admit(&self, request: &Q) -> Result<(KeyedPermit<H>, Option<InFlight>), Rejection> {
        let permit = self.inner.admit().admit(request)?;
        let Some(counts) = self.in_flight else {
            return Ok((permit, None));
        };
        let begun = counts.begin(permit.key());
        let (permit, counted) = limited(counts, begun, permit)?.into_parts();
        Ok((permit, Some(counted)))
    }
}

pin_project! {
    /// The future of a [`TryService`]. If it is dropped, the try may continue in a task of its own.
    #[must_use = "futures do nothing unless polled"]
    pub struct TryFuture<F> {
        #[pin]
        call: Call<F>,
    }
}

pin_project! {
    #[project = Projected]
    enum Call<F> {
        Made { call: Made<F> },
        // Ready at once, so not worth a box.
        Rejected { #[pin] call: F },
    }
}

/// An admitted call. Boxed, as it may move into a task.
struct Made<F> {
    /// `None` while it is being dropped.
    call: Option<Pin<Box<F>>>,
    /// Only where the tries of a host are limited.
    counted: Option<InFlight>,
    leave: Leave<F>,
    rooms: &'static Rooms,
}

impl<F> Drop for Made<F> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            (self.leave)(call, self.counted.take(), self.rooms);
        }
    }
}

impl<F: Future> Future for TryFuture<F> {
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

impl<F> fmt::Debug for TryFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryFuture").finish_non_exhaustive()
    }
}

/// Called when the caller leaves: a call under way continues if it would be reported and there is room for it.
fn leave<F, H, C, T, E>(
    call: Pin<Box<ResponseFuture<F, KeyedPermit<H>, C>>>,
    counted: Option<InFlight>,
    rooms: &'static Rooms,
) where
    F: Future<Output = Result<T, E>> + Send + 'static,
    H: AnyRegistry<Key = Origin> + 'static,
    KeyedPermit<H>: Send,
    C: Report<T, E> + Send + 'static,
{
    let Some(permit) = call.permit().filter(|permit| permit.is_admitted()) else {
        return;
    };
    let Some(room) = rooms.enter(permit.key(), permit.is_probe()) else {
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

    /// A probe always has room, as the breaker bounds their number, unless no call continues at all.
    fn enter(&'static self, host: &Origin, is_probe: bool) -> Option<Room> {
        if is_probe {
            return (self.most > 0).then_some(Room(None));
        }
        let place = self.hasher.hash_one(host) as usize % self.places.len();
        let count = &self.places[place];
        // Nothing else depends on this counter: here and below.
        if count.fetch_add(1, Ordering::Relaxed) < self.most {
            return Some(Room(Some(count)));
        }
        count.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

/// The room of one call.
struct Room(Option<&'static AtomicU32>);

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(count) = mem::take(&mut self.0) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
