//! Notices a hanging resource by the calls that pile up before any of them has failed.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use atomic_breaker::{Failure, Outcome, Transition};

use crate::thread_number::thread_number;
use crate::{Admit, AnyPermit, OneBreaker, Rejection};

/// Trips a breaker when too many calls are in flight: a resource that hangs is noticed before the first of its calls
/// has timed out. Wraps a reference or an `Arc` of one breaker or [`Resource`](crate::Resource); for breakers per key
/// use `InFlightByKey` of `atomic-breaker-server`.
///
/// ```
/// use atomic_breaker_server::{Admit, Config, InFlightLimit, Resource, State, breaker};
///
/// static SEARCH: Resource = Resource::new(breaker(Config::new()));
/// static LIMITED: InFlightLimit<&Resource> = InFlightLimit::new(&SEARCH, 100);
///
/// let hanging: Vec<_> = (0..100).map(|_| (&LIMITED).admit(&()).unwrap()).collect();
/// let rejection = (&LIMITED).admit(&()).unwrap_err();
/// assert_eq!(SEARCH.breaker().state(), State::Open);
/// assert!(rejection.to_string().ends_with("(last failure: 100 calls in flight)"));
/// # drop(hanging);
/// ```
///
/// The call that would be one too many trips the breaker and is rejected; probes are not limited, because the breaker
/// bounds them itself. Calls that hang keep counting until they end, so give them a time limit.
///
/// Calls are counted in sixteen places (2 KiB), according to the thread on which they begin. Only a call that finds its
/// place holding more than its share of the limit takes the sum. So the limit may be exceeded by calls that begin at
/// the same time, and by calls whose places are below their share while another is full: if all hang, fewer than twice
/// the limit plus one for each thread are in flight. Each call is counted before it is decided on, so if several begin
/// at the same time and together exceed the limit, all of them may be rejected.
#[derive(Debug)]
pub struct InFlightLimit<A> {
    admit: A,
    limit: u32,
    places: [Place; PLACES],
}

/// A single count would be exact, but every call of every thread would write to the same cache line, twice.
const PLACES: usize = 16;

/// Has two cache lines of its own, because processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Place(AtomicUsize);

impl<A> InFlightLimit<A> {
    /// Allows at most `limit` calls in flight.
    ///
    /// # Panics
    /// If the limit is 0, which would let no call pass; in a `const` or `static` that is a compile error.
    pub const fn new(admit: A, limit: u32) -> Self {
        assert!(
            limit > 0,
            "a limit of 0 calls in flight lets none pass: set at least 1"
        );
        Self {
            admit,
            limit,
            places: [const { Place(AtomicUsize::new(0)) }; PLACES],
        }
    }

    /// Returns the wrapped value, which admits the calls.
    pub const fn get_ref(&self) -> &A {
        &self.admit
    }

    /// How many calls are in flight. The places are read one after another, so the number is exact only while no call
    /// begins or ends.
    pub fn in_flight(&self) -> u64 {
        // Counters on which nothing else depends, here and below.
        let places = self.places.iter();
        places
            .map(|place| place.0.load(Ordering::Relaxed) as u64)
            .sum()
    }

    /// Counts a call at a place, and returns whether it is one too many.
    fn begin(&self, place: usize) -> bool {
        let mine = self.places[place].0.fetch_add(1, Ordering::Relaxed) + 1;
        // If all have less than their share, the sum is below the limit.
        mine.saturating_mul(PLACES) > self.limit as usize
            && self.in_flight() > u64::from(self.limit)
    }
}

impl<A> CountsCalls for InFlightLimit<A> {
    fn most(&self) -> u32 {
        self.limit
    }

    fn end(&self, place: usize) {
        self.places[place].0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts the calls in flight, each at a place that is assigned when it begins.
pub trait CountsCalls {
    /// The limit.
    #[doc(hidden)]
    fn most(&self) -> u32;

    /// A call that was counted at this place has ended.
    #[doc(hidden)]
    fn end(&self, place: usize);
}

/// A call that is counted until this is dropped.
#[derive(Debug)]
pub struct Counted<H: Deref<Target: CountsCalls>> {
    limit: H,
    /// `None` if there was no room to count it.
    place: Option<usize>,
}

impl<H: Deref<Target: CountsCalls>> Counted<H> {
    /// A call that was counted at this place, if there was room to count it.
    pub const fn new(limit: H, place: Option<usize>) -> Self {
        Self { limit, place }
    }
}

impl<H: Deref<Target: CountsCalls>> Drop for Counted<H> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.limit.end(place);
        }
    }
}

/// The right to one call, which is counted while it is in flight, by an [`InFlightLimit`] or an `InFlightByKey`; `H` leads
/// to the counts.
#[derive(Debug)]
#[must_use = "report how the call went: a permit that is dropped counts as cancelled"]
pub struct InFlightPermit<H: Deref<Target: CountsCalls>, P> {
    // Dropped in this order, so that anything that learns of the call's end no longer finds it counted.
    counted: Counted<H>,
    permit: P,
}

impl<H: Deref<Target: CountsCalls>, P: AnyPermit> InFlightPermit<H, P> {
    /// The permit of a call that was admitted, and counted at this place, if there was room. If it is one too many, `trip`
    /// reports that with the words it is given, and asks for another permit, which is rejected by the breaker that has
    /// just opened, unless calls pass in shadow mode.
    pub fn limited(
        limit: H,
        (place, is_too_many): (Option<usize>, bool),
        permit: P,
        trip: impl FnOnce(&H, P, String) -> Result<P, Rejection>,
    ) -> Result<Self, Rejection> {
        let counted = Counted { limit, place };
        // Probes are bounded by the breaker. A call that passes in shadow mode has already been decided on.
        let permit = if is_too_many && !permit.is_probe() && permit.is_admitted() {
            let why = format!("{} calls in flight", counted.limit.most());
            trip(&counted.limit, permit, why)?
        } else {
            permit
        };
        Ok(Self { counted, permit })
    }

    /// The permit, and the count, which ends when it is dropped: for calls that end before their permits do.
    pub fn into_parts(self) -> (P, Counted<H>) {
        (self.permit, self.counted)
    }
}

impl<H: Deref<Target: CountsCalls>, P: AnyPermit> AnyPermit for InFlightPermit<H, P> {
    type Key = P::Key;

    fn key(&self) -> &P::Key {
        self.permit.key()
    }

    fn end(
        self,
        outcome: Outcome,
        is_shared: bool,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        // The call has ended.
        drop(self.counted);
        self.permit.end(outcome, is_shared, why)
    }

    fn is_probe(&self) -> bool {
        self.permit.is_probe()
    }

    fn is_admitted(&self) -> bool {
        self.permit.is_admitted()
    }

    fn renew(&mut self) -> bool {
        self.permit.renew()
    }
}

fn admit<Q, H, A>(limit: H, request: &Q) -> Result<InFlightPermit<H, A::Permit>, Rejection>
where
    Q: ?Sized,
    H: Deref<Target = InFlightLimit<A>>,
    A: Admit<Q> + OneBreaker,
{
    let permit = limit.admit.admit(request)?;
    let place = thread_number() % PLACES;
    let begun = (Some(place), limit.begin(place));
    InFlightPermit::limited(limit, begun, permit, |limit, permit, why| {
        permit.report_because(Failure::tripping().into(), || why);
        limit.admit.admit(request)
    })
}

impl<'a, Q: ?Sized, A: Admit<Q> + OneBreaker> Admit<Q> for &'a InFlightLimit<A> {
    type Permit = InFlightPermit<&'a InFlightLimit<A>, A::Permit>;

    fn admit(&self, request: &Q) -> Result<Self::Permit, Rejection> {
        admit(*self, request)
    }
}

impl<Q: ?Sized, A: Admit<Q> + OneBreaker> Admit<Q> for Arc<InFlightLimit<A>> {
    type Permit = InFlightPermit<Self, A::Permit>;

    fn admit(&self, request: &Q) -> Result<Self::Permit, Rejection> {
        admit(Arc::clone(self), request)
    }
}
