//! The tables, version by version.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::error::Fault;

/// What leads from each version to the next one. Files that were released are never changed.
const MIGRATIONS: [&str; 1] = [include_str!("schema/1.sql")];

/// Leads a database to the latest version, in one transaction.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), Fault> {
    // Most times there is nothing to write, and nobody to wait for. Read at one time: somebody else may be making them.
    let reading = connection.transaction()?;
    if version(&reading)? == MIGRATIONS.len() {
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
         INSERT INTO atomic_breaker_schema VALUES ({});",
        MIGRATIONS.len()
    ))?;
    transaction.commit()?;
    Ok(())
}

/// The version that is there; 0 if none is.
fn version(connection: &Connection) -> Result<usize, Fault> {
    let is_there = |table: &str| {
        let found = "SELECT count(*) FROM sqlite_schema WHERE name = ?1";
        connection.query_one(found, [table], |row| row.get::<_, i64>(0))
    };
    if is_there("atomic_breaker_schema")? == 0 {
        return match is_there("atomic_breaker_job")? {
            0 => Ok(0),
            _ => Err(Fault::Foreign),
        };
    }
    let version = connection
        .query_one("SELECT version FROM atomic_breaker_schema", [], |row| {
            row.get(0)
        })
        .optional()?;
    match version.and_then(|version: i64| usize::try_from(version).ok()) {
        None | Some(0) => Err(Fault::Foreign),
        Some(version) if version > MIGRATIONS.len() => Err(Fault::Newer {
            found: version,
            known: MIGRATIONS.len(),
        }),
        Some(version) => Ok(version),
    }
}
