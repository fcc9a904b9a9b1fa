// SPDX-License-Identifier: MIT OR Apache-2.0
//! A budget for each host or other key.

use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::Deref;

use atomic_breaker_server::RetryCounts;

use super::{BudgetConfig, BudgetOf, RetryBudget, RetryConfigError};

/// A [`RetryBudget`] for each host, shard or tenant, so that the failures of one leave the others their retries.
///
/// A table of a fixed number of budgets in which the hash of a key determines its place: nothing is inserted or
/// evicted, nothing blocks. Keys that share a place share its budget; the hash is seeded anew for each table, so no
/// client can choose keys that collide. 88 bytes per place.
///
/// ```
/// use atomic_breaker_tower::{BudgetByKey, BudgetConfig, RetryBudgets, RetryConfig, RetryLayer};
/// use std::sync::LazyLock;
///
/// #[derive(Clone)]
/// struct Request { tenant: u32 }
///
/// static BUDGETS: LazyLock<RetryBudgets> =
///     LazyLock::new(|| RetryBudgets::new(BudgetConfig::new(), 1_024).expect("constant settings"));
///
/// let budgets = BudgetByKey::new(&*BUDGETS, |request: &Request| request.tenant);
/// let retry = RetryLayer::new(RetryConfig::new(), budgets, |_: &Request| true);
/// # let _ = retry;
/// assert_eq!(BUDGETS.of(&7).millitokens(), 100_000);
/// ```
pub struct RetryBudgets {
    places: Box<[RetryBudget]>,
    hasher: RandomState,
}

/// 16 million, as many keys as a registry holds.
const MOST_PLACES: usize = 1 << 24;

impl RetryBudgets {
    /// A table of 1 to 16,777,216 full budgets: use several times the number of keys that fail at the same time.
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
        self.at(self.place_of(key))
    }

    /// The place of a key's budget.
    pub fn place_of<K: Hash + ?Sized>(&self, key: &K) -> usize {
        // Wide enough for the largest table on every processor.
        self.hasher.hash_one(key) as usize % self.places.len()
    }

    /// The budget at a [place](Self::place_of).
    ///
    /// # Panics
    /// If there are fewer places.
    pub fn at(&self, place: usize) -> &RetryBudget {
        &self.places[place]
    }

    /// Counts of failed tries by outcome since the start, over all keys, and the tokens of the emptiest budget: for
    /// metrics. Looks at all places.
    pub fn counts(&self) -> RetryCounts {
        self.places.iter().map(RetryBudget::counts).sum()
    }
}

impl fmt::Debug for RetryBudgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryBudgets")
            .field("places", &self.places.len())
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

/// Leads a [`RetryLayer`](super::RetryLayer) to the budget of the key that `key` finds in a request. `H` leads to the
/// budgets: a reference or an `Arc`.
#[derive(Clone, Copy, Debug)]
pub struct BudgetByKey<H, F> {
    budgets: H,
    key: F,
}

impl<H, F> BudgetByKey<H, F> {
    /// The budgets, and the key of a request.
    pub const fn new<Q: ?Sized, K>(budgets: H, key: F) -> Self
    where
        F: Fn(&Q) -> K,
    {
        Self { budgets, key }
    }
}

impl<Q, K, H, F> BudgetOf<Q> for BudgetByKey<H, F>
where
    Q: ?Sized,
    K: Hash,
    H: Deref<Target = RetryBudgets>,
    F: Fn(&Q) -> K,
{
    fn place_of(&self, request: &Q) -> usize {
        self.budgets.place_of(&(self.key)(request))
    }

    fn at(&self, place: usize) -> &RetryBudget {
        self.budgets.at(place)
    }
}
