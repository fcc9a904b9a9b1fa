// SPDX-License-Identifier: MIT OR Apache-2.0
//! Durable steps of [`atomic-breaker`](atomic_breaker_steps) in PostgreSQL: jobs that make progress through outages and
//! restarts, shared by workers on many machines.
//!
//! [`PostgresStore::connect`] opens a store; `atomic_breaker_steps::Steps` has an example of what runs over it.
//!
//! | module | what |
//! |---|---|
//! | `store`, `builder` | [`PostgresStore`], [`PostgresStoreBuilder`] |
//! | `schema`, `sql`, `row` | the tables, the statements, and the meaning of rows |
//! | `pool`, `error` | connections, dropped as soon as they are in doubt; what is wrong, in words |
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

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
