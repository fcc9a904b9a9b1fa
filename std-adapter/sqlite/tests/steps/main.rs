//! Durable steps in SQLite.
//!
//! | file | what |
//! |---|---|
//! | `contract` | what every store does alike: from the tests of the std adapter |
//! | `damaged` | rows that somebody else has written to |
//! | `files` | files of others, of other versions, that cannot be opened or written |
//! | `full` | a disk that is full, and has room again |
//! | `sharing` | several stores on one file; transactions of the application's own |
//! | `folder` | a folder for the files of a test |

#[path = "../../../tests/steps/contract/mod.rs"]
mod contract;
mod damaged;
mod files;
mod folder;
#[cfg(target_os = "linux")]
mod full;
mod sharing;

use atomic_breaker_sqlite::SqliteStore;
use atomic_breaker_sqlite::rusqlite::Connection;
use folder::Folder;

/// In a file, as those in memory are the same code.
fn run(promise: impl AsyncFnOnce(SqliteStore)) {
    let folder = Folder::new();
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(promise(folder.store()));
}

contract!(run);

/// The application's own.
fn connection(folder: &Folder) -> Connection {
    Connection::open(folder.path()).unwrap()
}

#[tokio::test]
async fn one_in_memory_keeps_jobs_for_itself() {
    use contract::{claim, put};
    let [one, other] = [(); 2].map(|()| SqliteStore::open(":memory:").unwrap());
    put(&one, "k").await;
    assert_eq!(claim(&one, 9, contract::LEASE).await.len(), 1);
    assert!(claim(&other, 9, contract::LEASE).await.is_empty());
}
