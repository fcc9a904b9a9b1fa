// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of retries that all requests together may make.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

use atomic_breaker::{
    wait::Timer,
    word::{AtomicU64, Word},
};
use atomic_breaker_server::{RetryCounts, RetryEvent, TokioTimer};

use super::RetryConfigError;
use super::tokens::{MAX_TOKENS, MILLI, Tokens, Withdrawn};

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
    counts: EventCounts,
}

/// The number of times that each event happened. Nothing else depends on these counters.
#[derive(Debug)]
struct EventCounts([AtomicUsize; RetryEvent::ALL.len()]);

impl EventCounts {
    const fn new() -> Self {
        Self([const { AtomicUsize::new(0) }; RetryEvent::ALL.len()])
    }
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
            counts: EventCounts::new(),
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
            counts: EventCounts::new(),
        }
    }

    /// Records a success. [`RetryLayer`](super::RetryLayer) calls it for each successful response; nothing else needs
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
        let is_granted = self.take_at(now_ms);
        if !is_granted {
            self.count(RetryEvent::NoToken);
        }
        is_granted
    }

    /// [`withdraw`](Self::withdraw) for layers, which count what follows themselves: does not count a refusal.
    #[doc(hidden)]
    pub fn withdraw_uncounted(&self) -> bool {
        self.take_at(TokioTimer.now_ms())
    }

    fn take_at(&self, now_ms: u64) -> bool {
        let mut seen = self.load();
        loop {
            let tokens = seen.withdraw(now_ms, self.config.milli_per_ms(), self.config.max_milli());
            let (new, is_granted) = match tokens {
                Withdrawn::Yes(new) => (new, true),
                Withdrawn::No(Some(new)) => (new, false),
                Withdrawn::No(None) => return false,
            };
            match self.exchange(seen, new) {
                Ok(()) => return is_granted,
                Err(found) => seen = found,
            }
        }
    }

    /// Counts what became of a try that failed. [`RetryLayer`](super::RetryLayer) does so by itself, and
    /// [`withdraw`](Self::withdraw) counts refusals; for retries of your own.
    pub fn count(&self, event: RetryEvent) {
        self.counts.0[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts of failed tries by outcome since the start, and the tokens that are left: for metrics and status pages.
    /// Reads the clock. The counters wrap, after 2³² on 32-bit processors.
    pub fn counts(&self) -> RetryCounts {
        let count = |event| self.counts.0[event as usize].load(Ordering::Relaxed) as u64;
        RetryCounts::new(count, self.millitokens())
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
/// # use atomic_breaker_tower::{BudgetOf, RetryBudget};
/// fn leads_to_a_budget(_: impl BudgetOf<u32>) {}
///
/// leads_to_a_budget(RetryBudget::new());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lead to a retry budget that outlives the request",
    note = "pass a `&'static RetryBudget` or an `Arc<RetryBudget>`, or a `BudgetByKey` for one per key"
)]
pub trait BudgetOf<Q: ?Sized> {
    /// The place of a request's budget, always the same one for the same key.
    fn place_of(&self, request: &Q) -> usize;

    /// The budget at that place.
    fn at(&self, place: usize) -> &RetryBudget;
}

impl<Q: ?Sized, H: Deref<Target = RetryBudget>> BudgetOf<Q> for H {
    fn place_of(&self, _: &Q) -> usize {
        0
    }

    fn at(&self, _: usize) -> &RetryBudget {
        self
    }
}

/// The size of a [`RetryBudget`](super::RetryBudget), and the rate at which it fills. Checked when the budget is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct BudgetConfig {
    max_tokens: u32,
    deposit_percent: u32,
    tokens_per_second: u32,
}

impl BudgetConfig {
    /// At most 100 tokens; a success deposits 20 % of a token; in addition one token a second.
    pub const fn new() -> Self {
        Self {
            max_tokens: 100,
            deposit_percent: 20,
            tokens_per_second: 1,
        }
    }

    /// Sets the number of tokens that it holds, and so of the retries that a sudden outage may cause at most: 1 to
    /// 16,777. A new budget is full.
    pub const fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = tokens;
        self
    }

    /// Sets the part of a token that a success deposits, in percent, 0 to 100: with 20, five successes pay for a retry,
    /// so in the long run at most one call in six is a retry.
    pub const fn deposit_percent(mut self, percent: u32) -> Self {
        self.deposit_percent = percent;
        self
    }

    /// The floor, for services with few requests: this many tokens are added every second in any case, 0 to
    /// [`max_tokens`](Self::max_tokens). Per process: once all budgets are used up, a fleet adds at most this many
    /// retries a second per member to the load in an outage.
    pub const fn tokens_per_second(mut self, tokens: u32) -> Self {
        self.tokens_per_second = tokens;
        self
    }

    /// Checks that a budget can be built from these numbers.
    pub const fn check(&self) -> Result<(), RetryConfigError> {
        let message = if self.max_tokens == 0 {
            "a budget of 0 tokens allows no retry: set at least 1 token, or tries to 1"
        } else if self.max_tokens > MAX_TOKENS {
            "a budget holds at most 16777 tokens: lower the maximum"
        } else if self.deposit_percent > 100 {
            "a success deposits at most 100 percent of a token: lower the deposit"
        } else if self.tokens_per_second > self.max_tokens {
            "more tokens a second than the budget holds: lower the refill or raise the maximum"
        } else if self.deposit_percent == 0 && self.tokens_per_second == 0 {
            "a budget without deposits and without a refill is used up once and for all: set \
             deposit_percent, tokens_per_second or both"
        } else {
            return Ok(());
        };
        Err(RetryConfigError(message))
    }

    const fn max_milli(&self) -> u32 {
        self.max_tokens * MILLI
    }

    const fn deposit_milli(&self) -> u32 {
        self.deposit_percent * (MILLI / 100)
    }

    /// A token per second is a thousandth of a token per millisecond.
    const fn milli_per_ms(&self) -> u32 {
        self.tokens_per_second
    }
}

/// "100 at most, 20 % of one for each success, 1 a second".
impl fmt::Display for BudgetConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at most", self.max_tokens)?;
        match self.deposit_percent {
            0 => f.write_str(", none for successes")?,
            percent => write!(f, ", {percent} % of one for each success")?,
        }
        match self.tokens_per_second {
            0 => f.write_str(", none by time"),
            tokens => write!(f, ", {tokens} a second"),
        }
    }
}

impl Default for BudgetConfig {
    fn default() -> Self {
        Self::new()
    }
}
