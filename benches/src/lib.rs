// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every performance claim of this project, to be checked with one command, beside the crates in
//! use today. What follows from them is in `docs/performance.md`, and what they printed in `results`.
//!
//! | command | contents |
//! |---|---|
//! | `cargo run --release -p benches --bin peers` | all crates in one run: times, claims, behaviour; ends with 1 if a claim does not hold |
//! | `cargo run --release -p benches --bin harm` | what callers lose and gain by a breaker, in virtual time |
//! | `cargo run --release -p benches --bin contention` | one breaker, all cores |
//! | `cargo run --release -p benches --bin layers` | layers of tower, breakers by key, the share within a time, the retry budget; ends with 1 if a claim does not hold |
//! | `cargo run --release -p benches --bin tune` | replays of a log, and a search for settings: their speed and memory; ends with 1 if a claim does not hold |
//! | `cargo run --release -p benches --bin observed` | the cost of log and metrics for a closed call; ends with 1 if a claim does not hold |
//! | `cargo run --release -p benches --bin mapped` | breakers in memory that processes share, beside those of one process |
//! | `cargo run --release -p benches --bin memory` | bytes and allocations; a million breakers |
//! | `cargo bench -p benches --bench breaker` | each step of the breaker on its own, with criterion |
//! | `.ci/locked-counts` | instructions and bytes of code, exact, compared with what is locked |
//!
//! | module | contents |
//! |---|---|
//! | [`contestant`] | the crates compared, one file each, behind the same interface |
//! | [`hosts`] | the keys of the called hosts |
//! | [`cases`], [`yardstick`] | the measurements of each, and the yardsticks |
//! | [`rounds`], [`paired`] | the method: many short rounds, interleaved, on pinned threads; comparisons within a round |
//! | [`storm`], [`scenario`] | not their speed, but their behaviour |
//! | [`claim`], [`head`], [`table`], [`picture`] | claims held against a run; Markdown and SVG |
#![allow(
    missing_debug_implementations,
    reason = "not all contestants can be shown"
)]
#![allow(
    clippy::missing_panics_doc,
    reason = "panics where a contestant does not do what is measured"
)]

pub mod cases;
pub mod claim;
pub mod contestant;
pub mod head;
pub mod hosts;
pub mod paired;
pub mod picture;
pub mod rounds;
pub mod scenario;
pub mod storm;
pub mod table;
pub mod yardstick;
