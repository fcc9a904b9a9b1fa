// SPDX-License-Identifier: MIT OR Apache-2.0
//! The faults of a configuration: each with the message that names the setting, the limit and the fix.

/// Declares the faults, each with its message.
macro_rules! faults {
    ($($name:ident = $message:expr,)*) => {
        /// A fault of a configuration, the cause of a [`ConfigError`](super::ConfigError), for programs.
        ///
        /// The [message](Self::message) explains each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[non_exhaustive]
        pub enum Fault {
            $(#[doc = concat!("`", $message, "`")] $name,)*
        }

        impl Fault {
            /// All of them, for a program that has texts of its own.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The setting, the limit and the fix.
            pub const fn message(self) -> &'static str {
                match self {
                    $(Self::$name => $message,)*
                }
            }
        }
    };
}

/// The message for a time that the word does not hold.
macro_rules! too_long {
    ($what:literal, $fix:literal) => {
        concat!(
            $what,
            " is longer than 2^31 ms (2^14 ticks in a 32-bit word): ",
            $fix,
            ", use longer ticks or a 64-bit word"
        )
    };
}

faults! {
    NoRoomForRules = "there is no room for more rules: set rules that were set before, or restart",
    TallyOnlyNeverTrips =
        "tally_only without a failure_ratio never trips: set a failure_ratio or a limit on \
         failures",
    RatioWithoutMemory =
        "a failure_ratio needs memory for the last calls: build the breaker with last_calls or \
         another tally, or leave it out",
    RatioOfCallsInTallyOfTimes =
        "the tally remembers times, not calls: set the time of the failure_ratio (within) instead \
         of of_last, or build the breaker with last_calls",
    RatioOfTimesInTallyOfCalls =
        "a failure_ratio within a time needs a tally that remembers times: build the breaker with \
         SlidingRatio of atomic-breaker-server, or set of_last and build it with last_calls",
    RatioOfTooManyCalls =
        "the memory remembers fewer calls than of_last asks for (LastCalls: 59 in a 64-bit word, \
         27 in a 32-bit word): lower of_last, or set the time in which as many calls are made \
         (within) and build the breaker with SlidingRatio of atomic-breaker-server",
    RatioLongerThanTally =
        "the time of the failure_ratio is longer than the tally remembers: shorten it",
    RatioWithinNoTime =
        "a failure_ratio within a time of 0 sees no calls: lengthen it or set of_last",
    RatioOfNoCalls = "a failure_ratio of the last 0 calls never trips: set at least 1",
    RatioTooLong = "the time of the failure_ratio is longer than 2^31 ms (24.8 days): shorten it",
    RatioByNoCalls = "min_calls of 0 would judge by no calls at all: set at least 1",
    MinCallsTooMany = "min_calls is at most 65534: lower it",
    MinCallsBeyondCalls =
        "min_calls must be between 1 and the number of calls that the failure_ratio looks at: \
         change one of them",
    RatioShare =
        "the share of a failure_ratio must be between 1 and 10000 basis points (0.01 to 100 \
         percent): change it",
    SlowShare = "slow_percent must be between 1 and 100: change it",
    SlowShareWithoutSlowCall =
        "slow_percent needs slow_call, which says from when on a call is slow: set slow_call, or \
         leave slow_percent out",
    SlowShareWithoutMemory =
        "the tally does not count slow calls apart from failures: build the breaker with \
         SlidingRatio of atomic-breaker-server, or leave slow_percent out",
    NoFailures = "a limit of 0 failures would trip before the first call: set at least 1",
    TooManyFailures =
        "a word counts at most 65535 failures (255 in a 32-bit word): lower the limit or use a \
         64-bit word",
    LastingWithoutRow =
        "lasting is the time that failures in a row must last: set consecutive_failures of at least 1 \
         with it, not failures_within or tally_only",
    TooManyLastingFailures =
        "with lasting a word counts at most 32767 failures in a row (127 in a 32-bit word): lower the \
         limit or leave lasting out",
    LastingOfNoTime = "a row that must last 0 is one of consecutive_failures: use that rule or lengthen it",
    LastingTooLong = too_long!("lasting", "shorten it"),
    WindowOfNoTime =
        "a window of 0 cannot hold two failures: lengthen it or use consecutive_failures",
    WindowTooLong = too_long!("the window", "shorten it"),
    OpenForTooLong = too_long!("open_for", "shorten it"),
    TooMuchJitter = "jitter is at most 100 percent: lower it",
    GrowthTooSmall =
        "an open time that grows needs a factor of at least 2 (more than 100 percent) or a step: \
         raise it or leave out the growth",
    GrowthMaxBelowOpenFor =
        "the maximum of the growing open time is below open_for: raise it or lower open_for",
    GrowthMaxOutOfReach =
        "the maximum of the growing open time is never reached, because growth ends with the 31st \
         trip in a row (the 7th in a 32-bit word): lower it, raise open_for or grow faster",
    LongestOpenTooLong = too_long!("the longest open time, maximum and jitter included,", "lower one of them"),
    RetryAfterTooLong = too_long!("max_retry_after, jitter included,", "lower it"),
    NoProbes = "with 0 probes an open breaker never closes: set at least 1",
    TooManyProbes =
        "a word holds at most 255 probes (15 in a 32-bit word): lower probes or use a 64-bit word",
    CloseAfterBelowProbes =
        "close_after is below probes, but a half-open breaker admits no more probes than it still \
         needs: lower probes or raise close_after",
    CloseAfterTooMany =
        "a word counts at most 255 successes of probes (15 in a 32-bit word): lower close_after \
         or use a 64-bit word",
    NoLease =
        "with a probe_lease of 0 every call would take the previous probe's slot: set it longer \
         than the longest call",
    LeaseTooLong = too_long!("probe_lease", "shorten it"),
    CancelLimitTooLong = too_long!("cancel_limit", "shorten it"),
    ReturnShare =
        "the first share of a gradual_return must be between 1 and 100 percent: change it",
    ReturnOverNoTime =
        "a gradual_return over a time of 0 is not gradual: lengthen it or leave it out",
    ReturnTooLong = too_long!("the time of gradual_return", "shorten it"),
    SlowCallOfNoTime = "with a slow_call of 0 every call is slow: lengthen it or leave it out",
    SlowCallTooLong = "slow_call is 2^31 ms or longer: shorten it",
}
