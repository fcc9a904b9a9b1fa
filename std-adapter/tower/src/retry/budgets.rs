//! A budget for each host or other key.

use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::Deref;

use super::{AnyBudget, BudgetConfig, RetryBudget, RetryConfigError};

/// A [`RetryBudget`] for each host, shard or tenant, so that the failures of one leave the others their retries.
///
/// A table of a fixed number of budgets in which the hash of a key determines its place: nothing is inserted or
/// evicted, nothing blocks. Keys that share a place share its budget; the hash is seeded anew for each table, so no
/// client can choose keys that collide. 40 bytes per place.
///
/// ```
/// use atomic_breaker_tower::{BudgetConfig, RetryBudgets, RetryConfig, RetryPolicy};
/// use std::sync::LazyLock;
///
/// #[derive(Clone)]
/// struct Request { tenant: u32 }
///
/// static BUDGETS: LazyLock<RetryBudgets> =
///     LazyLock::new(|| RetryBudgets::new(BudgetConfig::new(), 1_024).expect("constant settings"));
///
/// let budgets = BUDGETS.by_key(|request: &Request| request.tenant);
/// let policy = RetryPolicy::new(RetryConfig::new(), budgets, |_: &Request| true);
/// # let _ = policy;
/// assert!(BUDGETS.of(&7).snapshot().is_full());
/// ```
pub struct RetryBudgets {
    places: Box<[RetryBudget]>,
    hasher: RandomState,
}

/// 16 million, as many keys as a registry holds.
const MOST_PLACES: usize = 1 << 24;

impl RetryBudgets {
    /// This many full budgets, 1 to 16,777,216: use several times the number of keys that fail at the same time.
    ///
    /// # Errors
    /// [`RetryConfigError`] says which number is wrong, and what to do.
    pub fn new(config: BudgetConfig, places: usize) -> Result<Self, RetryConfigError> {
        config.check()?;
        if !(1..=MOST_PLACES).contains(&places) {
            return Err(RetryConfigError(
                "a table of budgets has 1 to 16777216 places: set about 1000",
            ));
        }
        Ok(Self {
            places: (0..places).map(|_| RetryBudget::with(config)).collect(),
            hasher: RandomState::new(),
        })
    }

    /// The budget of a key.
    pub fn of<K: Hash + ?Sized>(&self, key: &K) -> &RetryBudget {
        &self.places[self.place_of(key)]
    }

    fn place_of<K: Hash + ?Sized>(&self, key: &K) -> usize {
        // Wide enough for the largest table on every processor.
        self.hasher.hash_one(key) as usize % self.places.len()
    }

    /// For a [`RetryPolicy`](super::RetryPolicy): the budget of a key that `key` finds in a request.
    pub const fn by_key<Q: ?Sized, K, F>(&self, key: F) -> BudgetByKey<&Self, F>
    where
        F: Fn(&Q) -> K,
    {
        BudgetByKey { budgets: self, key }
    }

    /// How many retries, over all keys, were not made since the start for lack of a token: a counter for metrics. Looks
    /// at all places.
    pub fn refused(&self) -> u64 {
        self.places.iter().map(RetryBudget::refused).sum()
    }
}

impl fmt::Debug for RetryBudgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryBudgets")
            .field("places", &self.places.len())
            .field("refused", &self.refused())
            .finish_non_exhaustive()
    }
}

/// The budget of a request's key: [`RetryBudgets::by_key`]. `H` leads to the budgets: a reference or an `Arc`.
#[derive(Clone, Copy)]
pub struct BudgetByKey<H, F> {
    budgets: H,
    key: F,
}

impl<H, F> BudgetByKey<H, F> {
    /// [`RetryBudgets::by_key`] for a handle that is not a reference.
    pub const fn new<Q: ?Sized, K>(budgets: H, key: F) -> Self
    where
        F: Fn(&Q) -> K,
    {
        Self { budgets, key }
    }
}

impl<Q, K, H, F> AnyBudget<Q> for BudgetByKey<H, F>
where
    Q: ?Sized,
    K: Hash,
    H: Deref<Target = RetryBudgets> + Clone,
    F: Fn(&Q) -> K,
{
    type Found = BudgetOf<H>;

    fn budget_of(&self, request: &Q) -> BudgetOf<H> {
        BudgetOf::new(self.budgets.clone(), &(self.key)(request))
    }
}

impl<H: fmt::Debug, F> fmt::Debug for BudgetByKey<H, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BudgetByKey")
            .field("budgets", &self.budgets)
            .finish_non_exhaustive()
    }
}

/// Leads to the budget of one key. `H` leads to all of them.
#[derive(Clone, Copy, Debug)]
pub struct BudgetOf<H> {
    budgets: H,
    place: usize,
}

impl<H: Deref<Target = RetryBudgets>> BudgetOf<H> {
    /// The budget of a key.
    pub fn new<K: Hash + ?Sized>(budgets: H, key: &K) -> Self {
        let place = budgets.place_of(key);
        Self { budgets, place }
    }
}

impl<H: Deref<Target = RetryBudgets>> Deref for BudgetOf<H> {
    type Target = RetryBudget;

    fn deref(&self) -> &RetryBudget {
        &self.budgets.places[self.place]
    }
}
