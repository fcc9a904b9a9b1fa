//! The tables, version by version.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::error::Fault;

/// Creates [`FIRST`], then upgrades each version to the next. Files that were released are never changed.
const MIGRATIONS: [&str; 1] = [include_str!("schema/2.sql")];

/// There is no upgrade from version 1, which was never released.
const FIRST: usize = 2;

const LATEST: usize = FIRST + MIGRATIONS.len() - 1;

/// Upgrades a database to the latest version, in one transaction.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), Fault> {
    // Usually there is nothing to write or wait for. Read in one transaction: another process may be creating the
    // tables.
    let reading = connection.transaction()?;
    if version(&reading)? == Some(LATEST) {
        return Ok(());
    }
    drop(reading);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = version(&transaction)?.map_or(0, |version| version + 1 - FIRST);
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

/// The version of the tables.
fn version(connection: &Connection) -> Result<Option<usize>, Fault> {
    let is_there = |table: &str| {
        let found = "SELECT count(*) FROM sqlite_schema WHERE name = ?1";
        connection.query_one(found, [table], |row| row.get::<_, i64>(0))
    };
    if is_there("atomic_breaker_schema")? == 0 {
        return match is_there("atomic_breaker_job")? {
            0 => Ok(None),
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
        Some(found) if found < FIRST => Err(Fault::Older {
            found,
            oldest: FIRST,
        }),
        Some(found) if found > LATEST => Err(Fault::Newer {
            found,
            known: LATEST,
        }),
        found => Ok(found),
    }
}
