//! A resource that hangs piles up calls before any of them has failed.

use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use atomic_breaker::{Failure, Outcome, Transition};

use super::{Admit, AnyPermit, OneBreaker, Rejection};

/// Trips a breaker when too many calls are in flight: a resource that hangs is noticed before the first of its
/// calls has timed out. Around a reference or an `Arc` of one breaker or [`Resource`](super::Resource); a limit
/// around many by key would trip whoever comes next.
///
/// ```
/// use atomic_breaker_std::{Admit, Config, InFlightLimit, Resource, State, breaker};
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
/// The call that would be one too many trips the breaker and is rejected; probes are not limited, as the
/// breaker bounds them itself. Calls that hang go on counting until they end, so give them a time limit.
///
/// Counted by the threads on which calls begin, in sixteen places (2 KiB). The sum is taken only by calls that
/// come to a place with its share of the limit. So the limit may be exceeded by the calls that begin at the
/// same time, and by those that come to places with less than their share while another is full: if all hang,
/// fewer than twice the limit and one for each thread. Each call is counted before it is decided on, so of
/// several that begin at the same time and are too many together, all may be rejected.
#[derive(Debug)]
pub struct InFlightLimit<A> {
    admit: A,
    limit: i64,
    places: [Place; PLACES],
}

const PLACES: usize = 16;
const PLACES_I64: i64 = 16;

/// On cache lines of its own: two, as processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Place(AtomicI64);

impl<A> InFlightLimit<A> {
    /// At most `limit` calls in flight.
    ///
    /// # Panics
    /// When the limit is 0, which would let no call pass; in a `const` or `static` that is a compile error.
    pub const fn new(admit: A, limit: u32) -> Self {
        assert!(
            limit > 0,
            "a limit of 0 calls in flight lets none pass: set at least 1"
        );
        Self {
            admit,
            limit: limit as i64,
            places: [const { Place(AtomicI64::new(0)) }; PLACES],
        }
    }

    /// What admits the calls.
    pub const fn get_ref(&self) -> &A {
        &self.admit
    }

    /// How many calls are in flight. Each place is read for itself, so it is exact only while none begins or
    /// ends.
    pub fn in_flight(&self) -> u64 {
        // Counters that nothing else depends on: here and below.
        let places = self.places.iter();
        let sum: i64 = places.map(|place| place.0.load(Ordering::Relaxed)).sum();
        sum.max(0).cast_unsigned()
    }

    /// Counts a call at a place; whether it is one too many.
    fn begin(&self, place: usize) -> bool {
        let mine = self.places[place].0.fetch_add(1, Ordering::Relaxed) + 1;
        // If all have less than their share, the sum is below the limit.
        mine.saturating_mul(PLACES_I64) > self.limit
            && self.in_flight() > self.limit.cast_unsigned()
    }

    fn end(&self, place: usize) {
        self.places[place].0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Threads are numbered as they come.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static MINE: Cell<usize> = const { Cell::new(usize::MAX) });
    match MINE.get() {
        usize::MAX => {
            let mine = NEXT.fetch_add(1, Ordering::Relaxed);
            MINE.set(mine);
            mine
        }
        mine => mine,
    }
}

/// The right to one call, which is counted while it is in flight.
#[must_use = "report how the call went: a permit that is dropped counts as cancelled"]
pub struct InFlightPermit<H: Deref<Target = InFlightLimit<A>>, A, P> {
    // Dropped in this order: whoever learns that the call has ended finds it gone.
    permit: Option<P>,
    limit: H,
    /// Where it was counted.
    place: usize,
}

impl<H: Deref<Target = InFlightLimit<A>>, A, P> Drop for InFlightPermit<H, A, P> {
    fn drop(&mut self) {
        self.limit.end(self.place);
    }
}

impl<H, A, P> AnyPermit for InFlightPermit<H, A, P>
where
    H: Deref<Target = InFlightLimit<A>>,
    P: AnyPermit,
{
    fn report(mut self, outcome: Outcome) -> Option<Transition> {
        self.permit.take()?.report(outcome)
    }

    fn report_because(
        mut self,
        outcome: Outcome,
        why: impl FnOnce() -> String,
    ) -> Option<Transition> {
        self.permit.take()?.report_because(outcome, why)
    }

    fn is_probe(&self) -> bool {
        self.permit.as_ref().is_some_and(AnyPermit::is_probe)
    }

    fn is_admitted(&self) -> bool {
        self.permit.as_ref().is_some_and(AnyPermit::is_admitted)
    }

    fn renew(&mut self) -> bool {
        self.permit.as_mut().is_some_and(AnyPermit::renew)
    }
}

impl<H: Deref<Target = InFlightLimit<A>>, A, P> fmt::Debug for InFlightPermit<H, A, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlightPermit").finish_non_exhaustive()
    }
}

fn admit<Q, H, A>(limit: H, request: &Q) -> Result<InFlightPermit<H, A, A::Permit>, Rejection>
where
    Q: ?Sized,
    H: Deref<Target = InFlightLimit<A>>,
    A: Admit<Q> + OneBreaker,
{
    let permit = limit.admit.admit(request)?;
    let place = thread_number() % PLACES;
    let is_too_many = limit.begin(place) && !permit.is_probe();
    // One that passes in shadow mode was asked about already.
    let trips = is_too_many && permit.is_admitted();
    let mut counted = InFlightPermit {
        permit: Some(permit),
        limit,
        place,
    };
    if !trips {
        return Ok(counted);
    }
    let most = counted.limit.limit;
    if let Some(permit) = counted.permit.take() {
        let why = || format!("{most} calls in flight");
        permit.report_because(Failure::tripping().into(), why);
    }
    // Rejected by what has just opened, unless calls pass in shadow mode.
    counted.permit = Some(counted.limit.admit.admit(request)?);
    Ok(counted)
}

macro_rules! admit_by_limit {
    ($($handle:ty),*) => {$(
        impl<Q: ?Sized, A: Admit<Q> + OneBreaker> Admit<Q> for $handle {
            type Permit = InFlightPermit<Self, A, A::Permit>;

            fn admit(&self, request: &Q) -> Result<Self::Permit, Rejection> {
                admit(self.clone(), request)
            }
        }
    )*};
}

admit_by_limit!(&InFlightLimit<A>, Arc<InFlightLimit<A>>);
