// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables: created if there are none, and refused if they are of another version.

use tokio_postgres::{Client, GenericClient};

use crate::error::Fault;

/// The version that `schema.sql` makes.
const VERSION: i64 = 1;

/// If several try at once, one does it. A role that may not create tables need not if they exist.
pub(crate) async fn create(client: &mut Client, schema: &str) -> Result<(), Fault> {
    let encoding: String = client.query_one("SHOW server_encoding", &[]).await?.get(0);
    if encoding != "UTF8" {
        return Err(Fault::new(format!(
            "the database has encoding {encoding}, which cannot hold every text: create one with UTF8"
        )));
    }
    if is_there(client, schema).await? {
        return Ok(());
    }
    let transaction = client.transaction().await?;
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('atomic_breaker.' || $1, 0))";
    transaction.execute(lock, &[&schema]).await?;
    if !is_there(&transaction, schema).await? {
        let tables = include_str!("schema.sql").replace("{schema}", schema);
        transaction.batch_execute(&tables).await?;
    }
    Ok(transaction.commit().await?)
}

async fn is_there(client: &impl GenericClient, schema: &str) -> Result<bool, Fault> {
    let tables =
        "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = $1 AND c.relname IN ('job', 'failed', 'version')";
    let tables = client.query(tables, &[&schema]).await?;
    if tables.is_empty() {
        return Ok(false);
    }
    let mut version = None;
    if tables.iter().any(|row| row.get::<_, &str>(0) == "version") {
        let select = format!("SELECT version::bigint FROM \"{schema}\".version");
        version = client.query_opt(&select, &[]).await?;
    }
    let says = match version.and_then(|row| row.get(0)) {
        Some(VERSION) => return Ok(true),
        Some(found) => format!(
            "are of version {found}, and this program needs {VERSION}: update atomic-breaker-steps-postgres, or use another \
             schema"
        ),
        None => "were not made by this crate: use another schema".to_owned(),
    };
    Err(Fault::new(format!(
        "the tables in schema {schema:?} {says}"
    )))
}
