//! The store.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_steps::{
    Claim, Counts, Failed, Filter, Job, JobId, NewJob, Put, Right, Save, Saved, Store, StoreError,
};
use tokio_postgres::{Config, Transaction};

use crate::builder::PostgresStoreBuilder;
use crate::error::PostgresStoreError as Fault;
use crate::pool::Pool;
use crate::sql::Sql;
use crate::{claim, operate, put, save};

/// Jobs in a PostgreSQL database. Clones are the same store.
///
/// Its tables are in a schema of their own, so a job may be kept in [the application's own transaction](Self::put_in).
/// Acknowledged changes survive a crash of the server, if its settings ensure that, except for claims and renewed
/// leases: without them a job goes to another worker sooner, and the right of the first one is gone.
///
/// Each call has a connection to itself and a time limit; a restart of the server makes those calls fail that were
/// under way, or that find their connection closed. A connection pooler in between must give each connection its own
/// server session.
///
/// Times are those of the server's clock. If that is set forward, jobs become due and leases end that much sooner; if
/// it is set back, that much later.
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

struct Inner {
    pool: Pool,
    sql: Sql,
    schema: String,
}

/// Runs a call with a connection, within the time limit.
macro_rules! call {
    ($store:ident, $call:path $(, $value:expr)*) => {{
        let Inner { pool, sql, .. } = &*$store.0;
        let call = async {
            let mut session = pool.get().await?;
            let done = $call(&mut *session, sql $(, $value)*).await?;
            session.answered();
            Ok::<_, Fault>(done)
        };
        Ok(pool.limited(call).await?)
    }};
}

impl PostgresStore {
    /// Connects without TLS, given a text such as `host=db user=app password=secret dbname=app`, or a URL such as
    /// `postgresql://app:secret@db/app`. Given several hosts, `target_session_attrs=read-write` picks a writable one.
    /// The [builder](Self::builder) has more options.
    ///
    /// # Errors
    /// [`PostgresStoreError`](crate::PostgresStoreError) says what is wrong: with the text, the server, or the tables.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn connect(config: &str) -> Result<Self, Fault> {
        Self::builder(config.parse()?).connect().await
    }

    /// Connects with TLS, another schema, or other limits.
    ///
    /// ```no_run
    /// use atomic_breaker_postgres::{PostgresStore, tokio_postgres::Config};
    ///
    /// # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut config = Config::new();
    /// config.host("db").user("app").dbname("app");
    /// let store = PostgresStore::builder(config).schema("shop_jobs").connections(8).connect().await?;
    /// # let _ = store;
    /// # Ok(()) }
    /// ```
    pub fn builder(config: Config) -> PostgresStoreBuilder {
        PostgresStoreBuilder::new(config)
    }

    pub(crate) fn new(pool: Pool, sql: Sql, schema: String) -> Self {
        Self(Arc::new(Inner { pool, sql, schema }))
    }

    /// Keeps a job within a transaction of the caller's, on the caller's connection to the same database. The job
    /// exists once that is committed, and never did if it is rolled back. Workers find it by their
    /// [poll](atomic_breaker_steps::StepsBuilder::poll), those of this process at once when they are
    /// [woken](atomic_breaker_steps::Steps::wake) after the commit.
    ///
    /// ```no_run
    /// use atomic_breaker_postgres::{PostgresStore, tokio_postgres::Client};
    /// use atomic_breaker_steps::Workflow;
    ///
    /// # async fn order(store: PostgresStore, mut client: Client, orders: Workflow<i64>)
    /// # -> Result<(), Box<dyn std::error::Error>> {
    /// let transaction = client.transaction().await?;
    /// let insert = "INSERT INTO orders (amount) VALUES (42) RETURNING id";
    /// let order: i64 = transaction.query_one(insert, &[]).await?.get(0);
    /// store.put_in(&transaction, &orders.job(order.to_string(), &order)?).await?;
    /// transaction.commit().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`StoreError`]: no job is kept, and what the transaction did is lost unless it rolls back to a savepoint.
    pub async fn put_in(
        &self,
        transaction: &Transaction<'_>,
        job: &NewJob,
    ) -> Result<Put, StoreError> {
        Ok(put::put(&mut &*transaction, &self.0.sql, job, None).await?)
    }
}

impl Store for PostgresStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        call!(self, put::put, job, lease)
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        call!(self, claim::claim, lane, most, lease)
    }

    async fn renew(&self, rights: &[Right], lease: Duration) -> Result<Vec<bool>, StoreError> {
        call!(self, claim::renew, rights, lease)
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        call!(self, save::save, saves)
    }

    async fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        call!(self, operate::unpark, kind, steps, parked_before, most)
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        call!(self, operate::find, id)
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        call!(self, operate::list, filter, most)
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        call!(self, operate::history, id)
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        call!(self, operate::retry_now, id)
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        call!(self, operate::cancel, id)
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        call!(self, operate::counts)
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        call!(self, operate::forget, ended_before, most)
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("schema", &self.0.schema)
            .finish_non_exhaustive()
    }
}
