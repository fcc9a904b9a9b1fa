// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logs and metrics.
//!
//! | file | what |
//! |---|---|
//! | `support` | a subscriber and a recorder that keep their input |
//! | `logs`, `keyed_logs` | events of a breaker, of a registry |
//! | `failures`, `sampled` | events of calls that failed, and of each call; which of many, and what was left out |
//! | `counted`, `keyed` | metrics of a breaker, of a registry |
//! | `pinged` | each call is counted once, and no ping |
//! | `retries` | what became of the tries that failed |
//! | `down` | since when breakers and keys have been down |
//! | `shared` | breakers that other processes have opened |
//! | `fleet` | metrics of a fleet whose engine is lost |
//! | `jobs` | metrics and events of durable steps |
//! | `published` | recorders that are installed late, are replaced, or call back |
//! | `attacked` | threads that come and go, many and hostile keys, observers that panic |
//! | `../observe_process.rs` | new keys, and the thread that publishes, in a process of their own |
//! | `week` | logs and counts match the events of a week of virtual time |
//! | `dashboard` | every name in it is emitted, and the other way round |
#![allow(
    clippy::redundant_closure_for_method_calls,
    reason = "the path of the method is longer"
)]
#![cfg(all(
    feature = "fleet",
    feature = "metrics",
    feature = "steps",
    feature = "tracing"
))]

mod attacked;
mod counted;
mod dashboard;
mod down;
mod failures;
mod fleet;
mod jobs;
mod keyed;
mod keyed_logs;
mod logs;
mod pinged;
mod published;
mod retries;
mod sampled;
#[cfg(all(feature = "mapped", unix))]
mod shared;
mod support;
mod week;
