// SPDX-License-Identifier: MIT OR Apache-2.0
//! Durable steps in SQLite.
//!
//! | file | what |
//! |---|---|
//! | `damaged` | rows that another program has changed |
//! | `files` | files of other programs and versions, and files that cannot be opened or written |
//! | `full` | a disk that is full, and has room again |
//! | `sharing` | several stores on one file; transactions of the application's own |
//! | `folder` | a folder for the files of a test |

mod damaged;
mod files;
mod folder;
#[cfg(target_os = "linux")]
mod full;
mod sharing;

use std::cell::RefCell;

use atomic_breaker_steps::contract;
use atomic_breaker_steps_sqlite::{SqliteStore, rusqlite::Connection};
use folder::Folder;
use test_support::stores::{LEASE, claim, compared, put};

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_a_file_keeps_what_stores_promise() {
    let folders = RefCell::new(Vec::new());
    // In files, because those in memory use the same code.
    contract::check(async || {
        let folder = Folder::new();
        let store = folder.store();
        folders.borrow_mut().push(folder);
        store
    })
    .await;
}

/// The application's own table.
fn connection(folder: &Folder) -> Connection {
    Connection::open(folder.path()).unwrap()
}

#[tokio::test]
async fn a_store_in_memory_keeps_its_jobs_to_itself() {
    let [one, other] = [(); 2].map(|()| SqliteStore::open(":memory:").unwrap());
    put(&one, "k").await;
    assert_eq!(claim(&one, 9, LEASE).await.len(), 1);
    assert!(claim(&other, 9, LEASE).await.is_empty());
}

#[tokio::test]
async fn random_calls_are_answered_as_by_the_store_in_memory() {
    let store = SqliteStore::open(":memory:").unwrap();
    compared::answers_like_the_store_in_memory(&store).await;
}
