// SPDX-License-Identifier: MIT OR Apache-2.0
//! The store: what each call does.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_steps::{
    Claim, Counts, Failed, Filter, Job, JobId, JobRow, Line, NewJob, Put, Right, Save, Saved,
    Store, StoreError, micros, since,
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, Row, Transaction};

use crate::builder::PostgresStoreBuilder;
use crate::error::Fault;
use crate::pool::{Jobs, On, Pool, Session, Typed};
use crate::row::job;
use crate::sql;

const BEGIN: &str = "BEGIN";

/// The number of times that a job that existed may be gone when it is read, because it was forgotten in between.
const TIMES: u32 = 5;

/// Jobs in a PostgreSQL database. Clones are the same store.
///
/// Its tables are in a schema of their own, so a job may be kept in [the application's own transaction](Self::put_in).
/// Acknowledged changes survive a crash of the server, if its settings ensure that, except for claims and renewed
/// leases: without them a job goes to another worker sooner, and the right of the first one is gone.
///
/// Each call has a connection to itself and a time limit; when the server restarts, calls fail that are
/// under way, or that find their connection closed. A connection pooler in between must give each connection its own
/// server session.
///
/// Times are those of the server's clock. If that is set forward, jobs become due and leases end that much sooner; if
/// it is set back, that much later.
#[derive(Clone)]
pub struct PostgresStore(Arc<Connected>);

struct Connected {
    pool: Pool,
    schema: String,
}

impl PostgresStore {
    /// Connects without TLS, given a text such as `host=db user=app password=secret dbname=app`, or a URL such as
    /// `postgresql://app:secret@db/app`. Given several hosts, `target_session_attrs=read-write` picks a writable one.
    /// The [builder](Self::builder) has more options.
    ///
    /// # Errors
    /// [`StoreError`] says what is wrong: with the text, the server, or the tables.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn connect(config: &str) -> Result<Self, StoreError> {
        let config = config.parse().map_err(Fault::from)?;
        Self::builder(config).connect().await
    }

    /// Connects with TLS, another schema, or other limits.
    ///
    /// ```no_run
    /// use atomic_breaker_steps_postgres::{PostgresStore, tokio_postgres::Config};
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

    pub(crate) fn new(pool: Pool, schema: String) -> Self {
        Self(Arc::new(Connected { pool, schema }))
    }

    /// Keeps a job within a transaction of the caller's, on the caller's connection to the same database. The job
    /// exists once that is committed, and never did if it is rolled back. Workers find it by their
    /// [poll](atomic_breaker_steps::StepsBuilder::poll), those of this process at once when they are
    /// [woken](atomic_breaker_steps::Steps::wake) after the commit.
    ///
    /// ```no_run
    /// use atomic_breaker_steps_postgres::{PostgresStore, tokio_postgres::Client};
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
        Ok(put(On::Caller(transaction), &self.0.schema, job, None).await?)
    }
}

async fn put(
    mut on: On<'_>,
    schema: &str,
    new: &NewJob,
    lease: Option<Duration>,
) -> Result<Put, Fault> {
    // From now on, which only the server knows.
    let due = JobRow::new(new, lease, 0)?.due;
    let is_claimed = lease.is_some();
    let values: [Typed<'_>; 7] = [
        (&new.kind, Type::TEXT),
        (&new.key, Type::TEXT),
        (&new.step, Type::TEXT),
        (&new.lane, Type::TEXT),
        (&new.state, Type::TEXT),
        (&due, Type::INT8),
        (&is_claimed, Type::BOOL),
    ];
    let [insert, by_key] = [sql::INSERT, sql::BY_KEY].map(|text| sql::of(schema, text));
    for _ in 0..TIMES {
        let inserted = on.ask(&insert, &values).await?;
        if let Some(row) = inserted.first() {
            let id = JobId::new(row.get(0));
            let right = is_claimed.then_some(Right { id, fence: 1 });
            return Ok(Put::New(id, right));
        }
        let found = on.ask(&by_key, &values[..2]).await?;
        if let Some(row) = found.first() {
            return Ok(Put::Exists(job(row)));
        }
    }
    let words = "is there and is not: begin a transaction that reads what was committed";
    Err(Fault::new(format!("a job with key {:?} {words}", new.key)))
}

/// The time until the first job of a lane is due, as a statement has found it.
fn next(found: &[Row]) -> Option<Duration> {
    let row = found.first()?;
    let due: Option<i64> = row.get("due");
    due.map(|due| since(due, row.get("now")))
}

impl Connected {
    /// Changes one job by its id, if there is one.
    async fn change(
        &self,
        begin: &str,
        id: JobId,
        change: impl FnOnce(&mut JobRow, i64) -> bool,
    ) -> Result<bool, StoreError> {
        let change =
            |rows: &mut Jobs, now| rows.first_mut().is_some_and(|(_, row)| change(row, now));
        let ids = vec![id.get()];
        self.pool.change(begin, sql::BY_IDS, &[&ids], change).await
    }
}

impl Store for PostgresStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        let Connected { pool, schema } = &*self.0;
        let put = async |session: &mut Session| put(On::Ours(session), schema, job, lease).await;
        pool.call(put).await
    }

    async fn next_due(&self, lane: &str) -> Result<Option<Duration>, StoreError> {
        let rows = self.0.pool.query(sql::NEXT_DUE, &[&lane]).await?;
        Ok(next(&rows))
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        let values: [&(dyn ToSql + Sync); 2] = [&lane, &i64::from(most)];
        let claim = |rows: &mut Jobs, now: i64| {
            for (_, row) in &mut *rows {
                // A claim that a crash takes back does not leave its fence to the next one.
                if row.fence >= 0 {
                    row.fence = row.fence.max(now - 1);
                }
            }
            let found = rows.len();
            let jobs = JobRow::claim(rows, lease, now);
            (jobs.len() < found, jobs)
        };
        let call = async |session: &mut Session| {
            let change = session.change(sql::BEGIN_AT_EASE, sql::DUE, &values, claim);
            let (are_more, jobs) = change.await?;
            let next_due = if are_more {
                Some(Duration::ZERO)
            } else {
                next(&session.query(sql::NEXT_LATER, &[&lane]).await?)
            };
            let next_due = next_due.filter(|_| jobs.len() < most as usize);
            Ok(Claim { jobs, next_due })
        };
        self.0.pool.call(call).await
    }

    async fn renew(&self, right: Right, lease: Duration) -> Result<bool, StoreError> {
        let renew = |row: &mut JobRow, now| row.renew(right, lease, now);
        self.0.change(sql::BEGIN_AT_EASE, right.id, renew).await
    }

    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        let ids: Vec<_> = saves.iter().map(|save| save.right.id.get()).collect();
        let change = |rows: &mut Jobs, now| {
            let results = saves.iter().map(|Save { right, change }| {
                let found = rows.binary_search_by_key(&right.id, |(id, _)| *id);
                found.map_or(Saved::default(), |at| rows[at].1.save(*right, change, now))
            });
            results.collect()
        };
        let Connected { pool, .. } = &*self.0;
        pool.change(BEGIN, sql::BY_IDS, &[&ids], change).await
    }

    async fn unpark(
        &self,
        kind: &str,
        steps: &[&str],
        parked_before: Duration,
        most: u32,
    ) -> Result<u64, StoreError> {
        let Ok(before) = micros(parked_before) else {
            return Ok(0);
        };
        let values: [&(dyn ToSql + Sync); 4] = [&kind, &steps, &before, &i64::from(most)];
        let unpark = |rows: &mut Jobs, now| {
            let rows = rows.iter_mut();
            rows.map(|(_, row)| u64::from(row.unpark(kind, steps, parked_before, now)))
                .sum()
        };
        self.0
            .pool
            .change(BEGIN, sql::PARKED, &values, unpark)
            .await
    }

    async fn list(&self, filter: &Filter, most: u32) -> Result<Vec<Job>, StoreError> {
        let list = sql::list(filter);
        let (after, most) = (filter.after.map_or(0, JobId::get), i64::from(most));
        let values: [&(dyn ToSql + Sync); 4] = [&after, &filter.kind, &filter.key, &most];
        let rows = self.0.pool.query(&list, &values).await?;
        Ok(rows.iter().map(job).collect())
    }

    async fn history(&self, id: JobId) -> Result<Vec<Failed>, StoreError> {
        let lines = self.0.pool.query(sql::HISTORY, &[&id.get()]).await?;
        let failed = lines.iter().map(|row| {
            let line = Line {
                step: row.get("step"),
                failures: JobRow::count("failures", row.get("failures"), &mut Vec::new()),
                error: row.get("error"),
                at: row.get("at"),
            };
            line.failed(row.get("now"))
        });
        Ok(failed.collect())
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        self.0.change(BEGIN, id, JobRow::retry_now).await
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        self.0.change(BEGIN, id, JobRow::cancel).await
    }

    /// Runs in a transaction of its own, as it reads the whole table.
    async fn counts(&self) -> Result<Counts, StoreError> {
        let counts = async |session: &mut Session| {
            let begin = "BEGIN; SET LOCAL enable_seqscan = on";
            session.client.batch_execute(begin).await?;
            let rows = session.query(sql::COUNTS, &[]).await?;
            session.client.batch_execute("COMMIT").await?;
            Ok(Counts::sum(rows.iter().map(|row| {
                let [count, due] = [2, 3].map(|column| row.get::<_, i64>(column).cast_unsigned());
                let first: Option<i64> = row.get(4);
                let oldest = first.map(|first| since(row.get(5), first));
                let status = JobRow::status(row.get(1), &mut Vec::new());
                (row.get(0), status, count, due, oldest)
            })))
        };
        self.0.pool.call(counts).await
    }

    async fn forget(&self, ended_before: Duration, most: u32) -> Result<u64, StoreError> {
        let Ok(before) = micros(ended_before) else {
            return Ok(0);
        };
        let values: [&(dyn ToSql + Sync); 2] = [&before, &i64::from(most)];
        self.0.pool.execute(sql::FORGET, &values).await
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("schema", &self.0.schema)
            .finish_non_exhaustive()
    }
}
