// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of other programs and versions, and files that cannot be opened or written.

use atomic_breaker_steps::{Status, Store};
use atomic_breaker_steps_sqlite::SqliteStore;

use crate::connection;
use crate::folder::Folder;
use test_support::stores::{LEASE, job, put};

fn error_of(folder: &Folder) -> String {
    let error = SqliteStore::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("jobs.db"), "{error}");
    error
}

#[tokio::test]
async fn jobs_are_there_when_the_file_is_opened_again() {
    let folder = Folder::new();
    let store = folder.store();
    let id = put(&store, "k").await;
    drop(store);
    let job = folder.store().job(id).await.unwrap().unwrap();
    assert_eq!((&*job.key, job.status), ("k", Status::Waiting));
}

#[test]
fn a_file_of_another_version_is_named_and_left_as_it_is() {
    let folder = Folder::new();
    drop(folder.store());
    let own = connection(&folder);
    for version in [0, 2, 999] {
        let update = "UPDATE atomic_breaker_schema SET version = ?1";
        own.execute(update, [version]).unwrap();
        let words = error_of(&folder);
        let says = format!("version {version}, and this program needs 1");
        assert!(words.contains(&says) && words.contains("update"), "{words}");
        let found = own.query_one("SELECT version FROM atomic_breaker_schema", [], |row| {
            row.get::<_, i64>(0)
        });
        assert_eq!(found.unwrap(), version);
    }
}

#[tokio::test]
async fn the_file_of_an_application_keeps_what_it_has() {
    let folder = Folder::new();
    let own = connection(&folder);
    let batch = "PRAGMA user_version = 17; PRAGMA application_id = 4711;
                 CREATE TABLE orders (amount INTEGER); INSERT INTO orders VALUES (42);";
    own.execute_batch(batch).unwrap();
    let store = folder.store();
    put(&store, "k").await;
    for (sql, value) in [
        ("PRAGMA user_version", 17),
        ("PRAGMA application_id", 4711),
        ("SELECT amount FROM orders", 42),
    ] {
        let found = own.query_one(sql, [], |row| row.get::<_, i64>(0));
        assert_eq!(found.unwrap(), value, "{sql}");
    }
}

#[test]
fn tables_of_that_name_made_by_another_program_are_named() {
    for tables in [
        "CREATE TABLE atomic_breaker_job (id INTEGER)",
        "CREATE TABLE atomic_breaker_schema (version INTEGER)",
    ] {
        let folder = Folder::new();
        connection(&folder).execute_batch(tables).unwrap();
        let words = error_of(&folder);
        assert!(words.contains("not made by this crate"), "{words}");
    }
}

#[test]
fn a_file_that_is_no_database_is_named_and_left_as_it_is() {
    let folder = Folder::new();
    let text = "a file of another kind\n".repeat(100);
    std::fs::write(folder.path(), &text).unwrap();
    let words = error_of(&folder);
    assert!(words.contains("not a database"), "{words}");
    assert_eq!(std::fs::read_to_string(folder.path()).unwrap(), text);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = Folder::new();
    let path = folder.as_ref().join("none/jobs.db");
    let words = SqliteStore::open(path).unwrap_err().to_string();
    assert!(
        words.contains("none/jobs.db") && words.contains("folder must exist"),
        "{words}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_is_acknowledged_into_a_file_that_was_deleted() {
    for name in ["jobs.db", "jobs.db-wal"] {
        let folder = Folder::new();
        let store = folder.store();
        put(&store, "before").await;
        let file = folder.as_ref().join(name);
        let elsewhere = folder.as_ref().join("elsewhere");
        std::fs::rename(&file, &elsewhere).unwrap();
        for round in 0..3 {
            let error = store.put(&job("lost"), None).await.unwrap_err().to_string();
            let says = format!("{name} was deleted, moved or replaced");
            assert!(
                error.contains(&says) && error.contains("put it back, or restart"),
                "{error}"
            );
            store.claim("a", 9, LEASE).await.unwrap_err();
            store.counts().await.unwrap_err();
            if round == 0 {
                // Another one of that name is not it.
                std::fs::copy(&elsewhere, &file).unwrap();
            }
        }
        std::fs::rename(&elsewhere, &file).unwrap();
        put(&store, "after").await;
        let id = put(&store, "again").await;
        std::fs::remove_file(&file).unwrap();
        store.job(id).await.unwrap_err();
        // Its folder is gone, too.
        drop(folder);
        store.put(&job("lost"), None).await.unwrap_err();
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_to_a_file_is_as_good_as_the_file() {
    let folder = Folder::new();
    let link = folder.as_ref().join("link.db");
    drop(folder.store());
    std::os::unix::fs::symlink(folder.path(), &link).unwrap();
    let store = SqliteStore::open(&link).unwrap();
    put(&store, "k").await;
    // Only the file counts.
    std::fs::remove_file(&link).unwrap();
    put(&store, "l").await;
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_can_only_be_read_is_named() {
    // This applies even to users who may write to everything.
    let words = SqliteStore::open("/proc/version").unwrap_err().to_string();
    assert!(words.contains("/proc/version"), "{words}");
}
