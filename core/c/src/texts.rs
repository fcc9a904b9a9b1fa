// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages of `ab_rules_init`: the field of `ab_settings`, and its valid range. Shorter than the messages of Rust,
//! because all of them lie in flash.

use core::ffi::CStr;

use atomic_breaker::config::Fault;

/// Declares the texts, for words of 32 and of 64 bits, each with the faults that it answers.
macro_rules! texts {
    ($($name:ident($($fault:ident),*) $narrow:literal $wide:literal)*) => {
        /// A text.
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs, reason = "the texts say it")]
        pub enum Text {
            $($name,)*
        }

        impl Text {
            /// The advice for this fault.
            #[inline]
            pub fn from_fault(fault: Fault) -> Self {
                match fault {
                    $($(Fault::$fault => Self::$name,)*)*
                    // What no settings of C lead to.
                    _ => Self::Growth,
                }
            }

            /// The text for a word of 32 bits, or of 64.
            #[inline]
            pub fn get(self, is_wide: bool) -> &'static CStr {
                match (self, is_wide) {
                    $((Self::$name, false) => $narrow, (Self::$name, true) => $wide,)*
                }
            }
        }
    };
}

texts! {
    Failures(NoFailures, TooManyFailures) c"failures: 1 to 255" c"failures: 1 to 65535"
    Window(WindowTooLong) c"window_ms: at most 2^20" c"window_ms: at most 2^31"
    Lasting(LastingWithoutRow, TooManyLastingFailures, LastingTooLong)
        c"lasting_ms: at most 2^20, with 1 to 127 failures in a row"
        c"lasting_ms: at most 2^31, with 1 to 32767 failures in a row"
    Open(OpenForTooLong) c"open_ms: at most 2^20" c"open_ms: at most 2^31"
    Jitter(TooMuchJitter) c"jitter_percent: at most 100" c"jitter_percent: at most 100"
    GrowthPercent(GrowthTooSmall) c"growth_percent: more than 100" c"growth_percent: more than 100"
    MaxBelowOpen(GrowthMaxBelowOpenFor) c"max_open_ms: at least open_ms" c"max_open_ms: at least open_ms"
    MaxOutOfReach(GrowthMaxOutOfReach)
        c"max_open_ms: not reached by the 7th trip: lower it"
        c"max_open_ms: not reached by the 31st trip: lower it"
    LongestOpen(LongestOpenTooLong)
        c"open_ms or max_open_ms: with jitter at most 2^20" c"open_ms or max_open_ms: with jitter at most 2^31"
    RetryAfter(RetryAfterTooLong)
        c"max_retry_after_ms: with jitter at most 2^20" c"max_retry_after_ms: with jitter at most 2^31"
    Probes(NoProbes, TooManyProbes) c"probes: 1 to 15" c"probes: 1 to 255"
    CloseAfter(CloseAfterBelowProbes, CloseAfterTooMany)
        c"close_after: 0, or probes to 15" c"close_after: 0, or probes to 255"
    Lease(NoLease, LeaseTooLong) c"probe_lease_ms: 1 to 2^20" c"probe_lease_ms: 1 to 2^31"
    CancelLimit(CancelLimitTooLong) c"cancel_limit_ms: at most 2^20" c"cancel_limit_ms: at most 2^31"
    ReturnShare(ReturnShare) c"return_first_percent: 1 to 100" c"return_first_percent: 1 to 100"
    ReturnOver(ReturnOverNoTime, ReturnTooLong) c"return_over_ms: 1 to 2^20" c"return_over_ms: 1 to 2^31"
    SlowCall(SlowCallTooLong) c"slow_call_ms: less than 2^31" c"slow_call_ms: less than 2^31"
    Growth()
        c"max_open_ms: with growth_percent or growth_step_ms, one of them"
        c"max_open_ms: with growth_percent or growth_step_ms, one of them"
    Null() c"rules and settings: not NULL" c"rules and settings: not NULL"
}
