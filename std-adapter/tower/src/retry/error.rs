//! What is wrong with the numbers, and what to do about it.

use std::error::Error;
use std::fmt;

/// Invalid numbers. The message says which, and what to do; in a `const` or `static` it is the message of the compile
/// error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RetryConfigError(pub(super) Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    NoTries,
    NoTime,
    NoFirstPause,
    LongestBelowFirst,
    NoFactor,
    NoTokens,
    TooManyTokens,
    DepositPercent,
    RefillAboveMost,
    NeverRefilled,
    Places,
}

impl RetryConfigError {
    pub(super) const fn message(self) -> &'static str {
        match self.0 {
            Kind::NoTries => {
                "with 0 tries not even the first call is made: set at least 1, which means no retry"
            }
            Kind::NoTime => {
                "within 0 no retry begins in time: lengthen it, or set tries to 1 for no retry"
            }
            Kind::NoFirstPause => {
                "with a first pause of 0 all callers come back at once, together: lengthen it"
            }
            Kind::LongestBelowFirst => {
                "the longest pause is shorter than the first one: lengthen it or shorten the first"
            }
            Kind::NoFactor => {
                "with a factor of 0 there is no pause: set 1 for constant pauses, 2 to double them"
            }
            Kind::NoTokens => {
                "a budget of 0 tokens allows no retry: set at least 1 token, or tries to 1"
            }
            Kind::TooManyTokens => "a budget holds at most 16777 tokens: lower the maximum",
            Kind::DepositPercent => {
                "a success deposits at most 100 percent of a token: lower the deposit"
            }
            Kind::RefillAboveMost => {
                "more tokens a second than the budget holds: lower the refill or raise the maximum"
            }
            Kind::NeverRefilled => {
                "a budget without deposits and without a refill is used up once and for all: set \
                 deposit_percent, tokens_per_second or both"
            }
            Kind::Places => "a table of budgets has 1 to 16777216 places: take about 1000",
        }
    }
}

impl fmt::Debug for RetryConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RetryConfigError({:?})", self.message())
    }
}

impl fmt::Display for RetryConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl Error for RetryConfigError {}
