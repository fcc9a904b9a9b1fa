//! Notices a key whose calls pile up before any of them has failed.

use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use atomic_breaker::Failure;

use super::error::check_capacity;
use super::{AnyRegistry, Key, KeyedAdmit};
use crate::{Admit, AnyPermit, Counted, CountsCalls, GuardPermit, InFlightPermit, Rejection};

/// Trips the breaker of a key when too many of its calls are in flight: a host that hangs is noticed before the first
/// of its calls has timed out, and the others are not affected. Wraps a [`ByKey`](super::ByKey) or, for hosts, a
/// `PerHost`; for a single breaker there is [`InFlightLimit`](crate::InFlightLimit), and `ClientGuard` has a setting
/// for it.
///
/// ```
/// use atomic_breaker_server::{Admit, ByKey, Config, InFlightByKey, Registry, State};
/// use std::sync::LazyLock;
///
/// struct Request { tenant: u32 }
///
/// type ByTenant = ByKey<&'static Registry<u32>, fn(&Request) -> u32>;
///
/// static TENANTS: LazyLock<Registry<u32>> =
///     LazyLock::new(|| Registry::new(Config::new()).expect("constant rules"));
/// static LIMITED: LazyLock<InFlightByKey<ByTenant>> = LazyLock::new(|| {
///     InFlightByKey::new(ByKey::new(&*TENANTS, |request: &Request| request.tenant), 100)
/// });
///
/// // Under tower: `BreakerLayer::new(&*LIMITED)`.
/// let hanging: Vec<_> = (0..100).map(|_| (&*LIMITED).admit(&Request { tenant: 7 }).unwrap()).collect();
/// let rejection = (&*LIMITED).admit(&Request { tenant: 7 }).unwrap_err();
/// assert!(rejection.to_string().ends_with("(last failure: 100 calls in flight)"));
/// assert_eq!(TENANTS.state(&7), State::Open);
/// assert!((&*LIMITED).admit(&Request { tenant: 8 }).is_ok());
/// # drop(hanging);
/// ```
///
/// The call that would be one too many trips the breaker of its key and is rejected, as [there](crate::InFlightLimit). A
/// call ends when its permit is reported or dropped: where that happens at the end of a body, responses that are still
/// being read count as well.
///
/// Never more than the limit are in flight, except for probes, calls that pass in shadow mode or because the registry
/// is full, and keys for which there is no [room](Self::for_keys). A call writes to a word that is shared by all threads
/// with calls of its key.
#[derive(Debug)]
pub struct InFlightByKey<A> {
    admit: A,
    counts: Arc<InFlightCounts>,
}

/// Unless set, as many as a registry has slots.
const KEYS: usize = 4_096;

impl<A: KeyedAdmit> InFlightByKey<A> {
    /// Allows at most `limit` calls of each key in flight, for 4,096 [keys](Self::for_keys) at a time.
    ///
    /// # Panics
    /// If the limit is 0, which would let no call pass.
    pub fn new(admit: A, limit: u32) -> Self {
        assert!(
            limit > 0,
            "a limit of 0 calls in flight lets none pass: set at least 1"
        );
        Self {
            admit,
            counts: Arc::new(InFlightCounts::new(KEYS, limit)),
        }
    }

    /// Sets the number of keys that may have calls in flight at a time; each takes 16 bytes. Calls of a key that finds
    /// no room are not counted, and so not limited: with that many keys, this affects about one in a hundred; with half
    /// as many, one in five thousand.
    ///
    /// # Panics
    /// If `keys` is 0, or more than 16,777,216.
    #[must_use]
    pub fn for_keys(mut self, keys: usize) -> Self {
        assert!(
            check_capacity(keys).is_ok(),
            "calls in flight are counted for 1 to 16777216 keys at a time: change the number of keys"
        );
        self.counts = Arc::new(InFlightCounts::new(keys, self.counts.most));
        self
    }

    /// Returns the wrapped value, which admits the calls.
    pub const fn get_ref(&self) -> &A {
        &self.admit
    }

    /// How many calls of a key are in flight.
    pub fn in_flight(&self, key: &<A::Registry as AnyRegistry>::Key) -> u64 {
        self.counts.of(key)
    }
}

impl<'a, Q, A, R> Admit<Q> for &'a InFlightByKey<A>
where
    Q: ?Sized,
    A: Admit<Q, Permit = GuardPermit<Key<R>>>,
    R: AnyRegistry + Clone,
{
    type Permit = InFlightPermit<&'a InFlightCounts, A::Permit>;

    fn admit(&self, request: &Q) -> Result<Self::Permit, Rejection> {
        InFlightCounts::limit(&*self.counts, self.admit.admit(request)?)
    }
}

impl<Q, A, R> Admit<Q> for Arc<InFlightByKey<A>>
where
    Q: ?Sized,
    A: Admit<Q, Permit = GuardPermit<Key<R>>>,
    R: AnyRegistry + Clone,
{
    type Permit = InFlightPermit<Arc<InFlightCounts>, A::Permit>;

    fn admit(&self, request: &Q) -> Result<Self::Permit, Rejection> {
        InFlightCounts::limit(Arc::clone(&self.counts), self.admit.admit(request)?)
    }
}

/// How many calls of each key are in flight: a key has a count only while it has calls, in a table of fixed size.
///
/// ```text
/// 63                32 31                 0
/// ┌───────────────────┬───────────────────┐
/// │ half of a hash 32 │ calls in flight 32│   free while there are none
/// └───────────────────┴───────────────────┘
/// ```
///
/// The other half of the hash chooses a row of eight words. A key that comes to a full row is not counted. Two keys
/// count as one if their hashes are the same. The hasher is randomly seeded for each table, because that of the
/// registry may be one that callers can guess.
pub struct InFlightCounts {
    rows: Box<[Row]>,
    hasher: RandomState,
    most: u32,
}

/// Has a cache line of its own.
#[repr(align(64))]
struct Row([AtomicU64; WORDS]);

const WORDS: usize = 8;
const COUNT: u64 = u32::MAX as u64;

impl InFlightCounts {
    /// A table for about that many keys with calls in flight at a time: then half of the words are free, and one key in
    /// a hundred finds none in its row.
    pub fn new(keys: usize, most: u32) -> Self {
        let rows = 0..keys.div_ceil(WORDS / 2).max(1);
        Self {
            rows: rows
                .map(|_| Row([const { AtomicU64::new(0) }; WORDS]))
                .collect(),
            hasher: RandomState::new(),
            most,
        }
    }

    /// The row of a key, and its half of the hash.
    fn row_of(&self, key: &impl Hash) -> (usize, u64) {
        let hash = self.hasher.hash_one(key);
        ((hash & COUNT) as usize % self.rows.len(), hash & !COUNT)
    }

    /// Counts a call of a key. Returns where, if there is room, and whether it is one too many.
    fn begin(&self, key: &impl Hash) -> (Option<usize>, bool) {
        let (row, tag) = self.row_of(key);
        let words = &self.rows[row].0;
        loop {
            let (mut free, mut mine) = (None, None);
            for (index, word) in words.iter().enumerate() {
                let seen = word.load(Ordering::Relaxed);
                if seen & COUNT == 0 {
                    free = free.or(Some((index, seen, tag | 1)));
                } else if seen & !COUNT == tag && seen & COUNT < COUNT {
                    mine = Some((index, seen, seen + 1));
                }
            }
            let Some((index, seen, next)) = mine.or(free) else {
                return (None, false);
            };
            // In a single order with the sum, so two calls that took a word each at the same moment do not miss each
            // other. An exchange fails only because another one succeeds.
            let exchanged =
                words[index].compare_exchange_weak(seen, next, Ordering::SeqCst, Ordering::Relaxed);
            if exchanged.is_ok() {
                let is_too_many = self.sum(row, tag) > u64::from(self.most);
                return (Some(row * WORDS + index), is_too_many);
            }
        }
    }

    /// How many calls of a key are in flight.
    pub fn of(&self, key: &impl Hash) -> u64 {
        let (row, tag) = self.row_of(key);
        self.sum(row, tag)
    }

    /// Counts the call of a permit until the [count](InFlightPermit::into_parts) is dropped. The call that is one too
    /// many trips the breaker.
    pub fn limit<L, H>(
        counts: L,
        permit: GuardPermit<Key<H>>,
    ) -> Result<InFlightPermit<L, GuardPermit<Key<H>>>, Rejection>
    where
        L: Deref<Target = Self>,
        H: AnyRegistry + Clone,
    {
        let begun = counts.begin(permit.key());
        InFlightPermit::limited(counts, begun, permit, |_, permit, why| {
            let key = permit.guard().clone();
            permit.report_because(Failure::tripping().into(), || why);
            GuardPermit::acquire(key)
        })
    }

    /// Counts a call of a key until the count is dropped; `None` if it is one too many, or there is no room for its key.
    pub fn try_count<L: Deref<Target = Self>>(counts: L, key: &impl Hash) -> Option<Counted<L>> {
        let (place, is_too_many) = counts.begin(key);
        let counted = Counted::new(counts, place);
        (place.is_some() && !is_too_many).then_some(counted)
    }

    /// Adds up all words of a key: two calls that begin at the same moment may have taken one each.
    fn sum(&self, row: usize, tag: u64) -> u64 {
        let words = self.rows[row].0.iter();
        words
            .map(|word| word.load(Ordering::SeqCst))
            .filter(|word| word & !COUNT == tag)
            .map(|word| word & COUNT)
            .sum()
    }
}

impl CountsCalls for InFlightCounts {
    fn most(&self) -> u32 {
        self.most
    }

    fn end(&self, place: usize) {
        self.rows[place / WORDS].0[place % WORDS].fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for InFlightCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlightCounts")
            .field("most", &self.most)
            .field("words", &(self.rows.len() * WORDS))
            .finish_non_exhaustive()
    }
}
