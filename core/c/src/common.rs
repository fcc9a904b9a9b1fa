// SPDX-License-Identifier: MIT OR Apache-2.0
//! The properties that the rules of several breakers share, as hints for the compiler: it sees that rules are read
//! through a pointer, and would keep the code for every rule that exists.

use core::hint::assert_unchecked;

use atomic_breaker::word::Bits;
use atomic_breaker::{Config, Rules, TripRule};

/// Declares what may be common: a question about a configuration whose answer is the same for all.
macro_rules! common {
    ($($name:ident |$config:ident| $question:expr;)+) => {
        /// The properties that hold for all rules of a table.
        #[derive(Clone, Copy, Debug)]
        pub struct Common {
            $($name: bool,)+
        }

        impl Common {
            /// Returns the properties that all of these rules share.
            pub const fn from_rules<B: Bits>(rules: &[Rules<B>]) -> Self {
                let mut common = Self { $($name: true,)+ };
                let mut index = 0;
                while index < rules.len() {
                    let config = rules[index].config();
                    $(common.$name &= {
                        let $config = config;
                        $question
                    };)+
                    index += 1;
                }
                common
            }

            /// Tells the compiler what is true of one of the rules that this was made of.
            #[inline]
            pub(crate) fn is_assumed_of(self, config: &Config) {
                $(if self.$name {
                    let $config = config;
                    // SAFETY: it is true of all rules of the table.
                    unsafe { assert_unchecked($question) };
                })+
            }
        }
    };
}

common! {
    counts_in_a_row |config| matches!(config.trip, TripRule::Consecutive { .. });
    counts_lasting |config| matches!(config.trip, TripRule::Lasting { .. });
    counts_within |config| matches!(config.trip, TripRule::Within { .. });
    never_lasting |config| !matches!(config.trip, TripRule::Lasting { .. });
    never_within |config| !matches!(config.trip, TripRule::Within { .. });
    needs_no_tally |config| !config.needs_tally();
    never_slow |config| config.slow_call_ms.is_none();
    never_grows |config| config.growth.is_none();
    never_jitters |config| config.jitter_percent == 0;
    no_seed |config| config.seed.is_none();
    usual_retry_after |config| config.max_retry_after_ms.is_none();
    one_probe |config| config.probes == 1;
    as_many_as_probes |config| config.close_after.is_none();
    usual_lease |config| config.probe_lease_ms.is_none();
    usual_cancel_limit |config| config.cancel_limit_ms == 250;
    returns_at_once |config| config.gradual_return.is_none();
}
