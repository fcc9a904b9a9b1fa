// SPDX-License-Identifier: MIT OR Apache-2.0
//! `claims`: how many jobs are claimed in a second. `storm`: two worker processes on one file, killed at random.
//! Without arguments both, small ones; `tests/engines/run` has them large.

#[path = "../steps/folder.rs"]
mod folder;

use atomic_breaker_steps_sqlite::SqliteStore;
use folder::Folder;
use test_support::stores::storm::{self, Storm};
use test_support::stores::{claims, is_asked_for};

#[tokio::main]
async fn main() {
    if let Some(place) = storm::place() {
        return storm::work(SqliteStore::open(place).unwrap()).await;
    }
    if is_asked_for("claims") {
        let folder = Folder::new();
        claims::measure("SQLite", folder.store()).await;
    }
    if is_asked_for("storm") {
        let folder = Folder::new();
        let storm = Storm {
            name: "SQLite",
            processes: 2,
            folder: folder.as_ref().to_owned(),
            place: folder.path().display().to_string(),
        };
        storm.run(folder.store(), async || {}).await;
    }
}
