// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code that the tests and examples of several packages share.
//!
//! | module | contents |
//! |---|---|
//! | `dice` | random numbers that a seed reproduces |
//! | `operators` | operators who command breakers at random (feature `week`) |
//! | `runtime` | as much of an async runtime as tests with threads and real time need |
//! | `host`, `http2` | servers on loopback, and one that is down; HTTP/2 that is cut off |
//! | `mount` | a small file system in memory, which can fill up |
//! | `week` | a host that is down for an hour each day, and its requests (feature `week`) |
//! | `child`, `progress`, `table` | of examples: a process of their own, a line that is redrawn, two runs side by side |
//! | `paint` | parts of the pictures of examples (feature `paint`) |
//! | `sight` | how far apart colors are, also for eyes that do not tell red from green |
//! | `faulty_store` | a store of jobs that fails when a test tells it to (feature `jobs`) |
//! | `stores` | tests shared by the databases of jobs (feature `jobs`) |
#![allow(
    missing_docs,
    missing_debug_implementations,
    reason = "only tests and examples use it"
)]
#![allow(
    clippy::missing_panics_doc,
    clippy::missing_errors_doc,
    reason = "a test that fails"
)]

pub mod child;
pub mod dice;
#[cfg(feature = "jobs")]
pub mod faulty_store;
pub mod host;
pub mod http2;
pub mod mount;
#[cfg(feature = "week")]
pub mod operators;
#[cfg(feature = "paint")]
pub mod paint;
pub mod progress;
pub mod runtime;
pub mod sight;
#[cfg(feature = "jobs")]
pub mod stores;
pub mod table;
#[cfg(feature = "week")]
pub mod week;
