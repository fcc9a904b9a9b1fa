// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules that reach every branch: each with the times that its arithmetic can tell apart, in ticks of a millisecond.

use std::time::Duration;

use atomic_breaker::Config;

/// A set of rules, and what the properties need to know of it.
pub(crate) struct Ruled {
    pub(crate) config: Config,
    pub(crate) probes: u32,
    pub(crate) lease: u32,
    /// The window of failures, or the time of a gradual return.
    pub(crate) span: u32,
    /// Whether it matters when a call began.
    pub(crate) measures: bool,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn all() -> Vec<Ruled> {
    let ruled = |config: Config, probes, lease, span| Ruled {
        config,
        probes,
        lease,
        span,
        measures: config.slow_call_ms.is_some(),
    };
    vec![
        ruled(
            Config::new()
                .consecutive_failures(3)
                // Five significant bits, one more than the word has: what rounding adds must not show.
                .open_for(ms(21))
                .probe_lease(ms(30)),
            1,
            30,
            20,
        ),
        ruled(
            Config::new()
                .failures_within(2, ms(50))
                .open_for(ms(7))
                .exponential(2, ms(100))
                .jitter_percent(50)
                .probes(3)
                .close_after(4)
                .probe_lease(ms(9)),
            3,
            9,
            50,
        ),
        ruled(
            Config::new()
                .consecutive_failures(1)
                .open_for(ms(1))
                .linear(ms(3), ms(9))
                .probe_lease(ms(1))
                .gradual_return(10, ms(40)),
            1,
            1,
            40,
        ),
        ruled(
            Config::new()
                .consecutive_failures(255)
                .open_for(ms(16_384))
                .max_retry_after(ms(16_384))
                .probes(15)
                .close_after(15)
                .probe_lease(ms(16_384)),
            15,
            16_384,
            255,
        ),
        ruled(
            Config::new()
                .consecutive_failures(2)
                .open_for(ms(10))
                .slow_call(ms(5))
                .cancel_limit(ms(3))
                .probe_lease(ms(100))
                .probes(2),
            2,
            100,
            5,
        ),
    ]
}
