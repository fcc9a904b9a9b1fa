//! The tables, version by version.

use tokio_postgres::{Client, GenericClient};

use crate::error::PostgresStoreError as Fault;

/// Upgrades each version to the next, from none. Files that were released are never changed.
const MIGRATIONS: [&str; 1] = [include_str!("schema/1.sql")];

const LATEST: usize = MIGRATIONS.len();

/// Whether the tables are of the latest version: then a role that may not create tables need not.
pub(crate) async fn is_current(client: &Client, schema: &str) -> Result<bool, Fault> {
    let encoding: String = client.query_one("SHOW server_encoding", &[]).await?.get(0);
    if encoding != "UTF8" {
        return Err(Fault::new(format!(
            "the database has encoding {encoding}, which cannot hold any text: make one with UTF8"
        )));
    }
    Ok(version(client, schema).await? == LATEST)
}

/// Upgrades a database to the latest version, in one transaction. If several try at once, one does it.
pub(crate) async fn migrate(client: &mut Client, schema: &str) -> Result<(), Fault> {
    let transaction = client.transaction().await?;
    // The others wait for as long as it takes.
    transaction
        .batch_execute("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0")
        .await?;
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('atomic_breaker.' || $1, 0))";
    transaction.execute(lock, &[&schema]).await?;
    let from = version(&transaction, schema).await?;
    let is_there = "SELECT count(*) FROM pg_namespace WHERE nspname = $1";
    let is_there: i64 = transaction.query_one(is_there, &[&schema]).await?.get(0);
    if is_there == 0 {
        transaction
            .batch_execute(&format!("CREATE SCHEMA \"{schema}\""))
            .await?;
    }
    for migration in &MIGRATIONS[from..] {
        let migration = migration.replace("{schema}", &format!("\"{schema}\""));
        transaction.batch_execute(&migration).await?;
    }
    transaction
        .batch_execute(&format!(
            "CREATE TABLE IF NOT EXISTS \"{schema}\".version (version bigint NOT NULL);
             DELETE FROM \"{schema}\".version;
             INSERT INTO \"{schema}\".version VALUES ({LATEST});"
        ))
        .await?;
    transaction.commit().await?;
    Ok(())
}

/// The version of the tables, 0 if there are none.
async fn version(client: &impl GenericClient, schema: &str) -> Result<usize, Fault> {
    let tables =
        "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                  WHERE n.nspname = $1 AND c.relname IN ('job', 'failed', 'version')";
    let tables = client.query(tables, &[&schema]).await?;
    let foreign = || {
        let words = "were not made by this crate: take another schema";
        Fault::new(format!("the tables in schema {schema:?} {words}"))
    };
    if tables.is_empty() {
        return Ok(0);
    }
    if !tables.iter().any(|row| row.get::<_, &str>(0) == "version") {
        return Err(foreign());
    }
    let version = format!("SELECT version::bigint FROM \"{schema}\".version");
    let version = client.query_opt(&version, &[]).await?;
    let version = version.map(|row| row.get::<_, i64>(0));
    match version.and_then(|version| usize::try_from(version).ok()) {
        None | Some(0) => Err(foreign()),
        Some(found) if found > LATEST => Err(Fault::newer(found)),
        Some(found) => Ok(found),
    }
}
