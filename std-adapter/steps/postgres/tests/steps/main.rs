//! Durable steps in PostgreSQL.
//!
//! | file | what |
//! |---|---|
//! | `damaged` | rows that another program has written to |
//! | `server`, `programs` | a server of its own |
//! | `schemas` | tables of others, of other versions; who may not make any |
//! | `sharing` | several stores on one database; transactions of the application's own |
//! | `outages` | a server that is restarted, hangs, or is not there |

mod damaged;
mod outages;
mod programs;
mod schemas;
mod server;
mod sharing;

use atomic_breaker_postgres::PostgresStore;
use atomic_breaker_steps::contract;
use server::Server;

#[tokio::test(flavor = "multi_thread")]
async fn a_store_keeps_what_stores_promise() {
    let Some(server) = Server::start().await else {
        return;
    };
    // In a schema for each.
    contract::check(async || {
        let schema = format!("s{:x}", fastrand::u64(..));
        let builder = PostgresStore::builder(server.config()).schema(schema);
        builder.connect().await.unwrap()
    })
    .await;
}
