// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bounds the calls in flight.

use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use atomic_breaker::{Failure, Outcome, Transition};

use super::counts::CallCounts;
use crate::loss::ConnectionId;
use crate::permit::{Admit, AnyPermit, Rejection};
use crate::registry::check_capacity;

/// A bound on the calls in flight: those that hang hold no more than so many callers, connections and tasks. Wraps the part
/// that admits calls: a reference or an `Arc` of one breaker or [`Resource`](crate::Resource); or, with
/// [`by_key`](Self::by_key), a [`ByKey`](crate::ByKey) or a `PerHost`, whose keys `K` each have a limit of their own.
/// `ClientGuard` has a setting for it.
///
/// ```
/// use atomic_breaker_server::{Admit, Config, InFlightLimit, Resource, State, breaker};
///
/// static SEARCH: Resource = Resource::new(breaker(Config::new()));
/// static LIMITED: InFlightLimit<&Resource> = InFlightLimit::new(&SEARCH, 100);
///
/// // Under tower: `BreakerLayer::new(&LIMITED)`.
/// let held: Vec<_> = (0..100).map(|_| (&LIMITED).admit(&()).unwrap()).collect();
/// // One too many is a rejection, but no failure of the resource.
/// let rejection = (&LIMITED).admit(&()).unwrap_err();
/// assert!(rejection.is_over_limit());
/// assert_eq!(SEARCH.breaker().state(), State::Closed);
/// # drop(held);
/// ```
///
/// By key, a host that hangs does not affect the others:
///
/// ```
/// use atomic_breaker_server::{Admit, ByKey, Config, InFlightLimit, Registry};
/// use std::sync::LazyLock;
///
/// struct Request { tenant: u32 }
///
/// type ByTenant = ByKey<&'static Registry<u32>, fn(&Request) -> u32>;
///
/// static TENANTS: LazyLock<Registry<u32>> =
///     LazyLock::new(|| Registry::new(Config::new()).expect("constant rules"));
/// static LIMITED: LazyLock<InFlightLimit<ByTenant, u32>> = LazyLock::new(|| {
///     InFlightLimit::by_key(ByKey::new(&*TENANTS, |request: &Request| request.tenant), 100)
/// });
///
/// let held: Vec<_> = (0..100).map(|_| (&*LIMITED).admit(&Request { tenant: 7 }).unwrap()).collect();
/// assert!((&*LIMITED).admit(&Request { tenant: 7 }).is_err());
/// assert!((&*LIMITED).admit(&Request { tenant: 8 }).is_ok());
/// # drop(held);
/// ```
///
/// The call that would be one too many is [rejected](Rejection::is_over_limit), and the breaker ignores it: the
/// resource may be well, and the limit too small. A call that hangs is noticed by time limits, or by a limit that
/// [trips](Self::tripping). Calls that hang keep counting until they end, so give them a time limit. Probes are not
/// limited, because the breaker bounds them itself. A call ends when its permit is reported or dropped: where that
/// happens at the end of a body, responses that are still being read count as well.
///
/// Never more than the limit are in flight, except for probes, calls that pass in shadow mode, because the registry is
/// full or the breaker is disabled, and keys for which there is no [room](Self::for_keys). Each call is counted before it is
/// decided on, so if several begin at the same time and together exceed the limit, all of them may be rejected.
///
/// # What it costs
///
/// A call writes twice to a word that is shared by all threads with calls of its key, so threads that call one resource at
/// a time wait for each other's writes. By key, it also hashes the key once more.
pub struct InFlightLimit<A, K = ()> {
    admit: A,
    counts: CallCounts,
    trips: bool,
    keys: PhantomData<fn(&K)>,
}

/// Unless set, as many as a registry has slots.
const KEYS: usize = 4_096;

const NONE_PASSES: &str = "a limit of 0 calls in flight lets none pass: set at least 1";

impl<A> InFlightLimit<A> {
    /// Allows at most `limit` calls in flight.
    ///
    /// # Panics
    /// If the limit is 0, which would let no call pass; in a `const` or `static` that is a compile error.
    pub const fn new(admit: A, limit: u32) -> Self {
        assert!(limit > 0, "{}", NONE_PASSES);
        Self::over(admit, CallCounts::of_one(limit))
    }

    /// The number of calls that are in flight.
    pub fn in_flight(&self) -> u64 {
        self.counts.of(&())
    }
}

impl<A, K: Hash> InFlightLimit<A, K> {
    /// Allows at most `limit` calls of each key in flight, for 4,096 [keys](Self::for_keys) at a time.
    ///
    /// # Panics
    /// If the limit is 0, which would let no call pass.
    pub fn by_key(admit: A, limit: u32) -> Self {
        assert!(limit > 0, "{NONE_PASSES}");
        Self::over(admit, CallCounts::for_keys(KEYS, limit))
    }

    /// Sets the number of keys that may have calls in flight at a time; each takes 16 bytes. Calls of a key that finds
    /// no room are not counted, and so not limited: with that many keys, this affects about one in a hundred; with half
    /// as many, one in five thousand.
    ///
    /// # Panics
    /// If `keys` is 0, or more than 16,777,216.
    #[must_use]
    pub fn for_keys(self, keys: usize) -> Self {
        assert!(
            check_capacity(keys).is_ok(),
            "calls in flight are counted for 1 to 16777216 keys at a time: change the number of keys"
        );
        let counts = CallCounts::for_keys(keys, self.counts.most);
        Self { counts, ..self }
    }

    /// The number of calls of a key that are in flight.
    pub fn in_flight_of(&self, key: &K) -> u64 {
        self.counts.of(key)
    }

    /// Counts the call of a permit that was granted elsewhere. If it is one too many, it is rejected unless calls pass in
    /// shadow mode. A limit that [trips](Self::tripping) lets `trip` report an outcome that trips the breaker, with words
    /// that say why, and ask for another permit, as [`GuardPermit::replace`](crate::GuardPermit::replace) does.
    pub fn limit<H, P>(
        limit: H,
        mut permit: P,
        trip: impl Fn(P, Outcome, String) -> Result<P, Rejection>,
    ) -> Result<InFlightPermit<H, P>, Rejection>
    where
        H: Deref<Target = Self>,
        P: AnyPermit<Key = K>,
    {
        let (place, is_too_many) = limit.counts.begin(permit.key());
        let counted = CountedUntilDropped { limit, place };
        let (most, trips) = (counted.limit.counts.most, counted.limit.trips);
        // A asks for a permit; the breaker opens and is reset, and A's report changes nothing any more. With its next permit
        // it does. Not for ever: the breaker of a key without a slot never opens.
        for _ in 0..2 {
            // Probes are bounded by the breaker. A call that passes in shadow mode has already been decided on.
            if !is_too_many || permit.is_probe() || !permit.is_admitted() {
                break;
            }
            if !trips {
                if permit.is_enforced() {
                    drop(counted);
                    permit.report(Outcome::Ignored);
                    return Err(Rejection::over_limit(most));
                }
                break;
            }
            let why = format!("{most} calls in flight");
            permit = trip(permit, Failure::tripping().into(), why)?;
        }
        Ok(InFlightPermit { counted, permit })
    }

    /// Counts a call of a key that has no permit, until the returned value is dropped; `None` if it is one too many, or
    /// there is no room for its key.
    pub fn try_count<H: Deref<Target = Self>>(limit: H, key: &K) -> Option<InFlightPermit<H, ()>> {
        let (place, is_too_many) = limit.counts.begin(key);
        let counted = CountedUntilDropped { limit, place };
        (place.is_some() && !is_too_many).then_some(InFlightPermit {
            counted,
            permit: (),
        })
    }
}

impl<A, K> InFlightLimit<A, K> {
    const fn over(admit: A, counts: CallCounts) -> Self {
        Self {
            admit,
            counts,
            trips: false,
            keys: PhantomData,
        }
    }

    /// Trips the breaker by the call that would be one too many, so that a resource that hangs is noticed before the first of
    /// its calls has timed out. For a limit that calls of a healthy resource never come to: if they do, in a burst or because
    /// it is too small, all calls are shut out for an open time.
    #[must_use]
    pub const fn tripping(mut self) -> Self {
        self.trips = true;
        self
    }

    /// Returns the wrapped value, which admits the calls.
    pub const fn get_ref(&self) -> &A {
        &self.admit
    }
}

impl<A, K> AsRef<CallCounts> for InFlightLimit<A, K> {
    fn as_ref(&self) -> &CallCounts {
        &self.counts
    }
}

impl<A, K> fmt::Debug for InFlightLimit<A, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlightLimit")
            .field("most", &self.counts.most)
            .finish_non_exhaustive()
    }
}

/// Counts a call until it is dropped.
struct CountedUntilDropped<H: Deref<Target: AsRef<CallCounts>>> {
    limit: H,
    /// `None` if there was no room to count it.
    place: Option<usize>,
}

impl<H: Deref<Target: AsRef<CallCounts>>> Drop for CountedUntilDropped<H> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.limit.as_ref().end(place);
        }
    }
}

/// The right to one call, which is counted while it is in flight, by an [`InFlightLimit`] to which `H` leads. `P` is the
/// permit of the breaker, or `()` for a call that is only counted.
#[must_use = "report how the call went: a permit that is dropped counts as cancelled"]
pub struct InFlightPermit<H: Deref<Target: AsRef<CallCounts>>, P> {
    // Dropped in this order, so that anything that learns of the call's end no longer finds it counted.
    counted: CountedUntilDropped<H>,
    permit: P,
}

impl<H: Deref<Target: AsRef<CallCounts>>, P> InFlightPermit<H, P> {
    /// The permit, and the count, which ends when it is dropped: for calls that end before their permits do.
    pub fn into_parts(self) -> (P, InFlightPermit<H, ()>) {
        let counted = InFlightPermit {
            counted: self.counted,
            permit: (),
        };
        (self.permit, counted)
    }
}

impl<H: Deref<Target: AsRef<CallCounts>>, P: AnyPermit> AnyPermit for InFlightPermit<H, P> {
    type Key = P::Key;

    fn key(&self) -> &P::Key {
        self.permit.key()
    }

    fn end(
        self,
        outcome: Outcome,
        shared: Option<ConnectionId>,
        why: Option<impl FnOnce() -> String>,
    ) -> Option<Transition> {
        drop(self.counted);
        self.permit.end(outcome, shared, why)
    }

    fn trips(&self) -> u8 {
        self.permit.trips()
    }

    fn is_probe(&self) -> bool {
        self.permit.is_probe()
    }

    fn is_admitted(&self) -> bool {
        self.permit.is_admitted()
    }

    fn is_enforced(&self) -> bool {
        self.permit.is_enforced()
    }

    fn still_counts(&self) -> bool {
        self.permit.still_counts()
    }

    fn renew(&mut self) -> bool {
        self.permit.renew()
    }
}

impl<H: Deref<Target: AsRef<CallCounts>>, P: fmt::Debug> fmt::Debug for InFlightPermit<H, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlightPermit")
            .field("permit", &self.permit)
            .finish_non_exhaustive()
    }
}

impl<'a, Q, A, K> Admit<Q> for &'a InFlightLimit<A, K>
where
    Q: ?Sized,
    A: Admit<Q, Permit: AnyPermit<Key = K>>,
    K: Hash,
{
    type Permit = InFlightPermit<&'a InFlightLimit<A, K>, A::Permit>;

    fn admit(&self, request: &Q) -> Result<Self::Permit, Rejection> {
        let permit = self.admit.admit(request)?;
        InFlightLimit::limit(*self, permit, |permit, outcome, why| {
            self.admit.admit_again(request, permit, outcome, || why)
        })
    }
}

impl<Q, A, K> Admit<Q> for Arc<InFlightLimit<A, K>>
where
    Q: ?Sized,
    A: Admit<Q, Permit: AnyPermit<Key = K>>,
    K: Hash,
{
    type Permit = InFlightPermit<Self, A::Permit>;

    fn admit(&self, request: &Q) -> Result<Self::Permit, Rejection> {
        let permit = self.admit.admit(request)?;
        InFlightLimit::limit(Arc::clone(self), permit, |permit, outcome, why| {
            self.admit.admit_again(request, permit, outcome, || why)
        })
    }
}
