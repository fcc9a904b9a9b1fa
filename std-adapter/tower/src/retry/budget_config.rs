//! The numbers of a budget.

use std::fmt;

use super::RetryConfigError;
use super::tokens::{MAX_TOKENS, MILLI};

/// How large a [`RetryBudget`](super::RetryBudget) is, and what fills it. Checked when the budget is built.
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

    /// How many tokens it holds, and so how many retries a sudden outage may cause at most: 1 to 16,777. A new budget
    /// is full.
    pub const fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = tokens;
        self
    }

    /// What a success deposits, in percent of a token, 0 to 100: with 20, five successes pay for a retry, so in the
    /// long run at most one call in six is a retry.
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

    /// Whether a budget can be built from these numbers.
    ///
    /// # Errors
    /// [`RetryConfigError`] says which number is wrong, and what to do.
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

    pub(super) const fn max_milli(&self) -> u32 {
        self.max_tokens * MILLI
    }

    pub(super) const fn deposit_milli(&self) -> u32 {
        self.deposit_percent * (MILLI / 100)
    }

    /// A token per second is a thousandth of a token per millisecond.
    pub(super) const fn milli_per_ms(&self) -> u32 {
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
