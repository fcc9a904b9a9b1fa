//! The tables, version by version.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::error::Fault;

/// Upgrades each version to the next, from none. Files that were released are never changed.
const MIGRATIONS: [&str; 1] = [include_str!("schema/1.sql")];

const LATEST: usize = MIGRATIONS.len();

/// Upgrades a database to the latest version, in one transaction.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), Fault> {
    // Usually there is nothing to write or wait for. Read in one transaction: another process may be creating the
    // tables.
    let reading = connection.transaction()?;
    if version(&reading)? == LATEST {
        return Ok(());
    }
    drop(reading);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = version(&transaction)?;
    for migration in &MIGRATIONS[from..] {
        transaction.execute_batch(migration)?;
    }
    transaction.execute_batch(&format!(
        "CREATE TABLE IF NOT EXISTS atomic_breaker_schema (version INTEGER NOT NULL) STRICT;
         DELETE FROM atomic_breaker_schema;
         INSERT INTO atomic_breaker_schema VALUES ({LATEST});"
    ))?;
    transaction.commit()?;
    Ok(())
}

/// The version of the tables, 0 if there are none.
fn version(connection: &Connection) -> Result<usize, Fault> {
    let is_there = |table: &str| {
        let found = "SELECT count(*) FROM sqlite_schema WHERE name = ?1";
        connection.query_one(found, [table], |row| row.get::<_, i64>(0))
    };
    if is_there("atomic_breaker_schema")? == 0 {
        return match is_there("atomic_breaker_job")? {
            0 => Ok(0),
            _ => Err(foreign()),
        };
    }
    let version = connection
        .query_one("SELECT version FROM atomic_breaker_schema", [], |row| {
            row.get(0)
        })
        .optional()?;
    match version.and_then(|version: i64| usize::try_from(version).ok()) {
        None | Some(0) => Err(foreign()),
        Some(found) if found > LATEST => Err(Fault::Newer(found)),
        Some(found) => Ok(found),
    }
}

fn foreign() -> Fault {
    Fault::Other(
        "its tables named atomic_breaker_* were not made by this crate: rename them, or take another file".to_owned(),
    )
}
