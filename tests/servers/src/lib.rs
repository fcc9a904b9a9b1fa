//! Tests that combine several of the packages for servers.
//!
//! | program in `tests` | what it shows |
//! |---|---|
//! | `liveness` | a dead resource trips its breaker and a healthy one is served again, within stated bounds |
//! | `week` | programs that users write first, over a week of virtual time |
//! | `simulated` | the rules of the HTTP preset open in every simulated outage, and close after it |
//! | `keepers` | every observer that keeps the last state shows the state in the word |
//! | `peers` | cases from the test suites of other circuit breakers |

/// The code blocks of the guide, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide.md")]
mod guide {}

/// The ports from other crates, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from.md")]
mod coming_from {}
