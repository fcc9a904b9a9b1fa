//! Tests of the packages for servers together.
//!
//! | program in `tests` | what it shows |
//! |---|---|
//! | `liveness` | whatever happens, a dead resource trips and a healthy one is served again, within stated bounds |
//! | `week` | what users write first, over a week of virtual time |
//! | `keepers` | every observer that keeps the last state shows what the word says |
//! | `peers` | what the test suites of other circuit breakers check |

/// The code blocks of the guide, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide.md")]
mod guide {}
