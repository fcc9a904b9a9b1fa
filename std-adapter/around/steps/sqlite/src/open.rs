// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opens a file, with the tables of this version.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Result, TransactionBehavior};

use crate::error::error;
use crate::linked::Files;

/// The version that `schema.sql` makes.
const VERSION: i64 = 1;

/// The time for which another connection may hold the write lock.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn open(path: &Path) -> Result<(Connection, Files)> {
    // Used by one thread at a time; a path is taken literally, not as a URI.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(wait))?;
    if connection.is_readonly("main")? {
        return Err(error(
            "it can only be read: give this process the right to write to the file and its folder",
        ));
    }
    // Acknowledged changes survive a power cut.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let mode = journal_mode(&connection)?;
    // An in-memory database has no other mode.
    if mode != "wal" && mode != "memory" {
        return Err(error(format!(
            "it stays in journal mode {mode:?}: put it on a local file system, which supports \"wal\""
        )));
    }
    create(&mut connection)?;
    connection.set_prepared_statement_cache_capacity(64);
    let files = Files::of(&connection)?;
    Ok((connection, files))
}

/// WAL: readers and one writer at the same time. If two connections switch at once, SQLite itself does not wait.
fn journal_mode(connection: &Connection) -> Result<String> {
    let began = Instant::now();
    loop {
        let mode = connection.query_one("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        match mode {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && began.elapsed() < PATIENCE =>
            {
                sleep(Duration::from_millis(1));
            }
            mode => return mode,
        }
    }
}

/// Often enough that a process that writes all the time does not starve others: SQLite's own pauses grow to 100 ms.
/// Each pause here is a little longer than requested, so together they are no shorter than [`PATIENCE`].
fn wait(times: i32) -> bool {
    sleep(Duration::from_millis(1));
    u128::try_from(times).is_ok_and(|times| times < PATIENCE.as_millis())
}

/// Creates the tables if there are none.
fn create(connection: &mut Connection) -> Result<()> {
    // Usually there is nothing to write or wait for. Read in one transaction: another process may be creating the
    // tables.
    let reading = connection.transaction()?;
    if is_there(&reading)? {
        return Ok(());
    }
    drop(reading);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if !is_there(&transaction)? {
        transaction.execute_batch(include_str!("schema.sql"))?;
    }
    transaction.commit()
}

fn is_there(connection: &Connection) -> Result<bool> {
    let is_named = |table: &str| {
        let found = "SELECT count(*) > 0 FROM sqlite_schema WHERE name = ?1";
        connection.query_one(found, [table], |row| row.get::<_, bool>(0))
    };
    let mut version = None;
    if is_named("atomic_breaker_schema")? {
        let select = "SELECT version FROM atomic_breaker_schema";
        version = connection
            .query_one(select, [], |row| row.get(0))
            .optional()?;
    } else if !is_named("atomic_breaker_job")? {
        return Ok(false);
    }
    Err(error(match version {
        Some(VERSION) => return Ok(true),
        Some(found) => format!(
            "its tables are of version {found}, and this program needs {VERSION}: update atomic-breaker-steps-sqlite, or take \
             another file"
        ),
        None => "its tables named atomic_breaker_* were not made by this crate: rename them, or use another file"
            .to_owned(),
    }))
}
