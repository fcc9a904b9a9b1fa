// SPDX-License-Identifier: MIT OR Apache-2.0
//! Durable steps in PostgreSQL.
//!
//! | file | what |
//! |---|---|
//! | `damaged` | rows that another program has changed |
//! | `server`, `programs` | a separate server for each test |
//! | `schemas` | tables of other programs and versions; users who must not create any |
//! | `sharing` | several stores on one database; transactions of the application's own |
//! | `outages` | a server that is restarted, hangs, or is not there |

mod damaged;
mod outages;
mod programs;
mod schemas;
mod server;
mod sharing;

use atomic_breaker_steps::contract;
use atomic_breaker_steps_postgres::PostgresStore;
use server::Server;
use test_support::stores::compared;

#[tokio::test(flavor = "multi_thread")]
async fn a_store_keeps_what_stores_promise() {
    let Some(server) = Server::start().await else {
        return;
    };
    // Each test has its own schema.
    contract::check(async || {
        let schema = format!("s{:x}", fastrand::u64(..));
        let builder = PostgresStore::builder(server.config()).schema(schema);
        builder.connect().await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn random_calls_are_answered_as_by_the_store_in_memory() {
    let Some(server) = Server::start().await else {
        return;
    };
    compared::answers_like_the_store_in_memory(&server.store().await).await;
}
