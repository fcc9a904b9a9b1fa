// SPDX-License-Identifier: MIT OR Apache-2.0
//! Durable steps of [`atomic-breaker`](atomic_breaker_steps) in PostgreSQL: jobs that make progress through outages and
//! restarts, shared by workers on many machines.
//!
//! ```no_run
//! use atomic_breaker_steps_postgres::PostgresStore;
//! use atomic_breaker_steps::Steps;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = PostgresStore::connect("host=db user=app password=secret dbname=app").await?;
//! let steps = Steps::builder(store).build()?; // with lanes and workflows where jobs are run
//! # let _ = steps;
//! # Ok(()) }
//! ```
//!
//! It has [`PostgresStore`], with [`PostgresStoreBuilder`] for its settings, and no features. [`PostgresStore::put_in`]
//! keeps a job within the application's own transaction, on a connection of [`tokio_postgres`], which is re-exported.
//!
//! `atomic_breaker_steps::Steps` has an example of what runs over a store.
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

// The modules, in the order in which to read them:
// - `store`, `builder`: `PostgresStore`, `PostgresStoreBuilder`
// - `schema`, `sql`, `row`: the tables, the statements, and the meaning of rows
// - `pool`, `error`: connections, dropped as soon as they are in doubt; what is wrong, in words

mod builder;
mod error;
mod pool;
mod row;
mod schema;
mod sql;
mod store;

pub use builder::PostgresStoreBuilder;
pub use store::PostgresStore;
pub use tokio_postgres;

/// The README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
