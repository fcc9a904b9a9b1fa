//! What is wrong with a configuration, and what to do about it.

use core::fmt;

/// A configuration that does not fit the word.
///
/// The message names the setting, the limit and the fix. In a `const` or `static` it is the
/// message of the compile error.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ConfigError(pub(super) Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) enum Kind {
    NoFailures,
    FailuresWide,
    FailuresNarrow,
    NoWindow,
    WindowTooLong,
    OpenTooLong,
    DoesNotGrow,
    MaxBelowOpen,
    MaxOutOfReach,
    JitterTooLarge,
    LongestWithJitter,
    RetryAfterTooLong,
    NoProbes,
    ProbesWide,
    ProbesNarrow,
    CloseAfterBelowProbes,
    CloseAfterWide,
    CloseAfterNarrow,
    NoLease,
    LeaseTooLong,
    NoSlowLimit,
    SlowLimitTooLong,
    CancelLimitTooLong,
    FirstPercent,
    NoReturn,
    ReturnTooLong,
    NobodyTrips,
    NobodyRemembers,
    NoTimeRemembered,
    OnlyTimeRemembered,
    TimeBeyondMemory,
    NoTime,
    TimeTooLong,
    NoMinCalls,
    NoCalls,
    CallsBeyondMemory,
    MinCalls,
    MinCallsTooLarge,
    Percent,
}

impl ConfigError {
    #[expect(clippy::too_many_lines, reason = "a table")]
    pub(crate) const fn message(self) -> &'static str {
        match self.0 {
            Kind::NoFailures => {
                "a limit of 0 failures would trip before the first call: set at least 1"
            }
            Kind::FailuresWide => "a 64-bit word counts at most 65535 failures: lower the limit",
            Kind::FailuresNarrow => {
                "a 32-bit word counts at most 255 failures: lower the limit or take a 64-bit word"
            }
            Kind::NoWindow => {
                "a window of 0 cannot hold two failures: lengthen it or use consecutive_failures"
            }
            Kind::WindowTooLong => {
                "the window is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, \
                 take longer ticks or a 64-bit word"
            }
            Kind::NoSlowLimit => {
                "with a slow_call of 0 every call is slow: lengthen it or leave it out"
            }
            Kind::SlowLimitTooLong => "slow_call is 2^31 ms or longer: shorten it",
            Kind::NobodyTrips => {
                "tally_only without a failure_ratio never trips: set a failure_ratio or a limit of \
                 failures"
            }
            Kind::NobodyRemembers => {
                "a failure_ratio needs memory for the last calls: build the breaker with last_calls \
                 or another tally, or leave it out"
            }
            Kind::NoTimeRemembered => {
                "a failure_ratio within a time needs a tally that remembers times: build the breaker \
                 with SlidingRatio of atomic-breaker-std, or set of_last and build it with last_calls"
            }
            Kind::OnlyTimeRemembered => {
                "the tally remembers times, not calls: set the time of the failure_ratio (within) \
                 instead of of_last, or build the breaker with last_calls"
            }
            Kind::TimeBeyondMemory => {
                "the time of the failure_ratio is longer than the tally remembers: shorten it"
            }
            Kind::NoTime => {
                "a failure_ratio within a time of 0 sees no calls: lengthen it or set of_last"
            }
            Kind::TimeTooLong => {
                "the time of the failure_ratio is longer than 2^31 ms (24.8 days): shorten it"
            }
            Kind::NoMinCalls => "min_calls of 0 would judge by no calls at all: set at least 1",
            Kind::NoCalls => "a failure_ratio of the last 0 calls never trips: set at least 1",
            Kind::CallsBeyondMemory => {
                "the memory remembers fewer calls than of_last asks for (LastCalls: 59 in a 64-bit \
                 word, 27 in a 32-bit word): lower of_last or take one that remembers more"
            }
            Kind::MinCallsTooLarge => "min_calls is at most 65534: lower it",
            Kind::MinCalls => {
                "min_calls must be between 1 and the number of calls that the failure_ratio looks \
                 at: change one of them"
            }
            Kind::Percent => {
                "the share of a failure_ratio must be between 1 and 10000 basis points (0.01 to 100 percent): change it"
            }
            Kind::OpenTooLong => {
                "open_for is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, \
                 take longer ticks or a 64-bit word"
            }
            Kind::DoesNotGrow => {
                "an open time that grows needs a factor of at least 2 (more than 100 percent) or a \
                 step: raise it or leave out the growth"
            }
            Kind::MaxBelowOpen => {
                "the maximum of the growing open time lies below open_for: raise it or lower open_for"
            }
            Kind::MaxOutOfReach => {
                "the maximum of the growing open time is never reached, growth ends with the 31st \
                 trip in a row (the 7th in a 32-bit word): lower it, raise open_for or grow faster"
            }
            Kind::JitterTooLarge => "jitter is at most 100 percent: lower it",
            Kind::LongestWithJitter => {
                "the longest open time, maximum and jitter included, is longer than 2^31 ms (2^14 \
                 ticks in a 32-bit word): lower one of them, take longer ticks or a 64-bit \
                 word"
            }
            Kind::RetryAfterTooLong => {
                "max_retry_after, jitter included, is longer than 2^31 ms (2^14 ticks in a 32-bit \
                 word): lower it, take longer ticks or a 64-bit word"
            }
            Kind::NoProbes => "with 0 probes an open breaker never closes: set at least 1",
            Kind::ProbesWide => "a 64-bit word holds at most 255 probes: lower probes",
            Kind::ProbesNarrow => {
                "a 32-bit word holds at most 15 probes: lower probes or take a 64-bit word"
            }
            Kind::CloseAfterBelowProbes => {
                "close_after lies below probes, but a half-open breaker admits no more probes than \
                 it still needs: lower probes or raise close_after"
            }
            Kind::CloseAfterWide => {
                "a 64-bit word counts at most 255 successes of probes: lower close_after"
            }
            Kind::CloseAfterNarrow => {
                "a 32-bit word counts at most 15 successes of probes: lower close_after or take a \
                 64-bit word"
            }
            Kind::NoLease => {
                "with a probe_lease of 0 every call would take the slot of the probe before: set \
                 it longer than the longest call"
            }
            Kind::LeaseTooLong => {
                "probe_lease is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, \
                 take longer ticks or a 64-bit word"
            }
            Kind::CancelLimitTooLong => {
                "cancel_limit is longer than 2^31 ms (2^14 ticks in a 32-bit word): shorten it, take \
                 longer ticks or a 64-bit word"
            }
            Kind::FirstPercent => {
                "the first share of a gradual_return must be between 1 and 100 percent: change it"
            }
            Kind::NoReturn => {
                "a gradual_return over a time of 0 is not gradual: lengthen it or leave it out"
            }
            Kind::ReturnTooLong => {
                "the time of gradual_return is longer than 2^31 ms (2^14 ticks in a 32-bit word): \
                 shorten it, take longer ticks or a 64-bit word"
            }
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConfigError({:?}: {})", self.0, self.message())
    }
}

impl core::error::Error for ConfigError {}
