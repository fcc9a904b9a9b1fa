//! How many retries all requests together may make.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

use atomic_breaker::{
    wait::Timer,
    word::{AtomicU64, Word},
};

use super::BudgetConfig;
use super::tokens::{MILLI, Tokens, Withdrawn};
use crate::TokioTimer;

/// Stops retry storms: a retry costs a token, a success deposits a share of one, and a few are added over time.
///
/// Like the [throttling of gRPC's A6](https://github.com/grpc/proposal/blob/master/A6-client-retries.md), with three
/// differences: here each retry costs a token, there each failure does; here all tokens may be used, there only the
/// upper half of them; and here there is a floor. Over any time *t* the number of retries is at most
///
/// ```text
/// max_tokens + tokens_per_second × t + deposit_percent / 100 × successes in t
/// ```
///
/// whatever the threads do: the tokens are one atomic word. While the budget is full, as that of a healthy service is,
/// a success is one load: no write, no clock. Only retries read the clock (tokio's). Nothing blocks or allocates.
///
/// Use one budget for all requests to one service, in a `static` or an `Arc`: one per request would allow each as many
/// retries as it holds. Where requests go to many hosts, [`RetryBudgets`](super::RetryBudgets) has one for each.
///
/// ```
/// use atomic_breaker_tower::{BudgetConfig, RetryBudget};
///
/// static BUDGET: RetryBudget = RetryBudget::with(BudgetConfig::new().max_tokens(20).deposit_percent(10));
///
/// assert!(BUDGET.withdraw(), "a retry");
/// BUDGET.deposit(); // a success
/// assert!(BUDGET.millitokens() >= 19_100);
/// ```
#[derive(Debug)]
pub struct RetryBudget<W = AtomicU64> {
    word: W,
    config: BudgetConfig,
    /// Nothing else depends on this counter.
    refused: AtomicUsize,
}

impl RetryBudget {
    /// 100 tokens, a deposit of 20 %, a token a second: [`BudgetConfig::new`].
    pub const fn new() -> Self {
        Self::with(BudgetConfig::new())
    }

    /// A full budget.
    ///
    /// # Panics
    /// When the numbers are invalid; in a `static` or `const` that is a compile error. [Check](BudgetConfig::check)
    /// numbers that are not known to be valid first.
    pub const fn with(config: BudgetConfig) -> Self {
        if let Err(error) = config.check() {
            panic!("{}", error.0);
        }
        Self {
            word: AtomicU64::new(0),
            config,
            refused: AtomicUsize::new(0),
        }
    }
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: Word<Bits = u64>> RetryBudget<W> {
    /// [`with`](RetryBudget::with) in your own memory, such as a model checker's atomic. Zero is full; any other bits
    /// are a budget that is partly spent.
    ///
    /// # Panics
    /// When the numbers are invalid.
    pub fn over(word: W, config: BudgetConfig) -> Self {
        if let Err(error) = config.check() {
            panic!("{error}");
        }
        Self {
            word,
            config,
            refused: AtomicUsize::new(0),
        }
    }

    /// Records a success. [`RetryPolicy`](super::RetryPolicy) calls it for each successful response; nothing else needs
    /// to.
    #[inline]
    pub fn deposit(&self) {
        let seen = self.load();
        if !seen.is_full() {
            self.give(seen, self.config.deposit_milli());
        }
    }

    /// Asks for a retry: takes a token, if one is left.
    pub fn withdraw(&self) -> bool {
        self.withdraw_at(TokioTimer.now_ms())
    }

    /// [`withdraw`](Self::withdraw) with another clock: milliseconds since any fixed origin, the same for all calls. A
    /// clock that is set back by more than a second is followed, and adds nothing for that time.
    pub fn withdraw_at(&self, now_ms: u64) -> bool {
        let mut seen = self.load();
        loop {
            let tokens = seen.withdraw(now_ms, self.config.milli_per_ms(), self.config.max_milli());
            let (new, is_granted) = match tokens {
                Withdrawn::Yes(new) => (new, true),
                Withdrawn::No(Some(new)) => (new, false),
                Withdrawn::No(None) => return self.refuse(),
            };
            match self.exchange(seen, new) {
                Ok(()) if is_granted => return true,
                Ok(()) => return self.refuse(),
                Err(found) => seen = found,
            }
        }
    }

    fn refuse(&self) -> bool {
        self.refused.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// How many retries were not made since the start for lack of a token: a counter for metrics. It wraps, after 2³²
    /// on 32-bit processors.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed) as u64
    }

    /// Gives a token back: the retry was not made after all.
    pub fn give_back(&self) {
        self.give(self.load(), MILLI);
    }

    /// Thousandths of tokens that are left, for gauges and status pages; from 1,000 a retry could be made now. Takes one
    /// load, and reads the clock.
    pub fn millitokens(&self) -> u32 {
        self.millitokens_at(TokioTimer.now_ms())
    }

    /// [`millitokens`](Self::millitokens) with the clock of [`withdraw_at`](Self::withdraw_at).
    pub fn millitokens_at(&self, now_ms: u64) -> u32 {
        let refilled = self.load().refilled(now_ms, self.config.milli_per_ms());
        self.config.max_milli().saturating_sub(refilled.spent())
    }

    #[cold]
    fn give(&self, mut seen: Tokens, milli: u32) {
        while seen.given(milli) != seen {
            match self.exchange(seen, seen.given(milli)) {
                Ok(()) => return,
                Err(found) => seen = found,
            }
        }
    }

    // The word is the only memory that a budget shares, and every change of it is a compare-and-swap, so its history is
    // one line: nothing else needs to be ordered by it. The test `races` has the model.

    #[inline]
    fn load(&self) -> Tokens {
        Tokens(self.word.load(Ordering::Relaxed))
    }

    fn exchange(&self, seen: Tokens, new: Tokens) -> Result<(), Tokens> {
        self.word
            .compare_exchange_weak(seen.0, new.0, Ordering::Relaxed, Ordering::Relaxed)
            .map(drop)
            .map_err(Tokens)
    }
}

/// Leads to the [`RetryBudget`] of a request: a reference to or an `Arc` of one for all of them, or
/// [`BudgetByKey`](super::BudgetByKey).
///
/// A budget by value, which each request would clone and refill, does not implement it:
///
/// ```compile_fail,E0277
/// use atomic_breaker_tower::{RetryBudget, RetryConfig, RetryPolicy};
///
/// RetryPolicy::new(RetryConfig::new(), RetryBudget::new(), |_: &u32| true);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lead to a retry budget that outlives the request",
    note = "pass a `&'static RetryBudget` or an `Arc<RetryBudget>`, or a `BudgetByKey` for one per key"
)]
pub trait AnyBudget<Q: ?Sized> {
    /// The place of a request's budget, always the same one for the same key.
    fn place_of(&self, request: &Q) -> usize;

    /// The budget at that place.
    fn at(&self, place: usize) -> &RetryBudget;
}

impl<Q: ?Sized, H: Deref<Target = RetryBudget>> AnyBudget<Q> for H {
    fn place_of(&self, _: &Q) -> usize {
        0
    }

    fn at(&self, _: usize) -> &RetryBudget {
        self
    }
}
