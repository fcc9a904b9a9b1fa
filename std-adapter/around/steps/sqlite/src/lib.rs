// SPDX-License-Identifier: MIT OR Apache-2.0
//! Durable steps of [`atomic-breaker`](atomic_breaker_steps) in SQLite: jobs that make progress through outages and
//! restarts, kept in one file. No server; several processes of a machine may share it.
//!
//! ```no_run
//! use atomic_breaker_steps_sqlite::SqliteStore;
//! use atomic_breaker_steps::Steps;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let steps = Steps::builder(SqliteStore::open("jobs.db")?).build()?; // with lanes and workflows where jobs are run
//! # let _ = steps;
//! # Ok(()) }
//! ```
//!
//! It has [`SqliteStore`], and no features. [`SqliteStore::put_in`] keeps a job within the application's own transaction,
//! on a connection of [`rusqlite`], which is re-exported.
//!
//! `atomic_breaker_steps::Steps` has an example of what runs over a store.
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

// The modules, in the order in which to read them:
// - `store`: `SqliteStore`, and what each call does
// - `open`, `error`: opens a file; what is wrong with it, in words
// - `linked`: whether the open files are still in their folder
// - `thread`: the thread that owns the connection; commits calls together
// - `row`: the meaning of rows

mod error;
mod linked;
mod open;
mod row;
mod store;
mod thread;

pub use rusqlite;
pub use store::SqliteStore;

/// The README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
