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
    #[doc = include_str!("../../../docs/mapped.md")]
    mod mapped {}
    #[doc = include_str!("../../../docs/health.md")]
    mod health {}
    #[doc = include_str!("../../../docs/harm.md")]
    mod harm {}
    #[doc = include_str!("../../../docs/coming-from.md")]
    mod coming_from {}
}
