//! Durable steps in PostgreSQL.
//!
//! | file | what |
//! |---|---|
//! | `contract` | what every store does alike: from the tests of the std adapter |
//! | `damaged` | rows that somebody else has written to |
//! | `server`, `programs` | a server of its own |
//! | `schemas` | tables of others, of other versions; who may not make any |
//! | `sharing` | several stores on one database; transactions of the application's own |
//! | `outages` | a server that is restarted, hangs, or is not there |

#[path = "../../../tests/steps/contract/mod.rs"]
mod contract;
mod damaged;
mod outages;
mod programs;
mod schemas;
mod server;
mod sharing;

use std::sync::{Arc, Mutex, PoisonError, Weak};

use atomic_breaker_postgres::PostgresStore;
use server::Server;

/// One server for the tests of the contract that run at the same time, as each takes a second to start; a schema for each.
static SERVER: Mutex<Weak<Server>> = Mutex::new(Weak::new());

fn run(promise: impl AsyncFnOnce(PostgresStore)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let Some(server) = shared() else { return };
        let schema = format!("s{:x}", fastrand::u64(..));
        let builder = PostgresStore::builder(server.config()).schema(schema);
        promise(builder.connect().await.unwrap()).await;
    });
}

fn shared() -> Option<Arc<Server>> {
    let mut shared = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    // In a runtime of its own, as this one may end before the server.
    let started = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(Server::start())
    });
    let server = Arc::new(started.join().unwrap()?);
    *shared = Arc::downgrade(&server);
    Some(server)
}

contract!(run);
