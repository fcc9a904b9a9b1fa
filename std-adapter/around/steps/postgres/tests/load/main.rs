// SPDX-License-Identifier: MIT OR Apache-2.0
//! `claims`: how many jobs are claimed in a second. `storm`: eight worker processes killed at random, and a server that is
//! restarted. Without arguments both, small ones; `tests/engines/run` has them large.

#[path = "../steps/programs.rs"]
mod programs;
#[path = "../steps/server.rs"]
#[expect(dead_code, reason = "the other tests use it")]
mod server;

use atomic_breaker_steps_postgres::PostgresStore;
use server::Server;
use test_support::stores::storm::{self, Storm};
use test_support::stores::{claims, is_asked_for};

#[tokio::main]
async fn main() {
    if let Some(place) = storm::place() {
        return storm::work(connected(&place).await).await;
    }
    if is_asked_for("claims")
        && let Some(server) = Server::start().await
    {
        let config = server.config();
        let store = PostgresStore::builder(config)
            .connections(8)
            .connect()
            .await;
        claims::measure("PostgreSQL", store.unwrap()).await;
    }
    if is_asked_for("storm")
        && let Some(mut server) = Server::start().await
    {
        let folder =
            std::env::temp_dir().join(format!("atomic-breaker-diaries-{:x}", fastrand::u64(..)));
        std::fs::create_dir_all(&folder).unwrap();
        let jobs = server.store().await;
        let storm = Storm {
            name: "PostgreSQL",
            processes: 8,
            folder: folder.clone(),
            place: server.address(),
        };
        storm.run(jobs, async || server.restart().await).await;
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// In the middle of a restart, soon.
async fn connected(place: &str) -> PostgresStore {
    loop {
        if let Ok(store) = PostgresStore::connect(place).await {
            return store;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
