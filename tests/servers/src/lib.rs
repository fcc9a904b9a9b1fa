// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests that combine several of the packages for servers.
//!
//! | program in `tests` | what it shows |
//! |---|---|
//! | `deployment` | a whole deployment keeps every promise, in a virtual week of faults |
//! | `liveness` | a dead resource trips its breaker and a healthy one is served again, within stated bounds |
//! | `week` | programs that users write first, over a week of virtual time |
//! | `simulated` | the rules of the HTTP preset open in every simulated outage, and close after it |
//! | `chains` | three services in a row: what a service answers while a dependency is down, and what its callers shut out |
//! | `fleet_probed` | a fleet in which one member pings the keys that are open |
//! | `keepers` | every observer that keeps the last state shows the state in the word |
//! | `peers` | cases from the test suites of other circuit breakers |
//!
//! The example `outage` starts real servers that fail, calls them with and without a breaker, and compares what it sees
//! with what `atomic-breaker-tune` predicts.

use std::time::Duration;

use atomic_breaker_http::{ClientConfig, Config, Ratio};

/// The preset with rules that these tests count by: five failures in a row, or half of twenty within ten seconds; open for a
/// second, doubled up to thirty.
pub fn five_in_a_row() -> ClientConfig {
    let ratio = Ratio::percent(50)
        .within(Duration::from_secs(10))
        .min_calls(20);
    let rules = Config::new()
        .consecutive_failures(5)
        .failure_ratio(ratio)
        .open_for(Duration::from_secs(1))
        .exponential(2, Duration::from_secs(30))
        .max_retry_after(Duration::from_secs(60))
        .jitter_percent(20);
    ClientConfig::new().breaker(rules)
}

/// The code blocks of the pages, compiled and run.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/guide.md")]
    mod guide {}
    #[doc = include_str!("../../../docs/http.md")]
    mod http {}
    #[doc = include_str!("../../../docs/tower.md")]
    mod tower {}
    #[doc = include_str!("../../../docs/registry.md")]
    mod registry {}
    #[doc = include_str!("../../../docs/recipes.md")]
    mod recipes {}
    #[doc = include_str!("../../../std-adapter/around/docs/mapped.md")]
    mod mapped {}
    #[doc = include_str!("../../../docs/health.md")]
    mod health {}
    #[doc = include_str!("../../../docs/harm.md")]
    mod harm {}
    #[doc = include_str!("../../../docs/coming-from.md")]
    mod coming_from {}
}
