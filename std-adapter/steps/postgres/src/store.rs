//! The store: what each call does.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use atomic_breaker_steps::{
    Claim, Claimed, Counts, Failed, Filter, Job, JobId, Line, NewJob, Put, Right, Save, Saved,
    Store, StoreError, micros, redacted, since,
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, Transaction};

use crate::builder::PostgresStoreBuilder;
use crate::error::Fault;
use crate::pool::{On, Pool, Session, Value};
use crate::row::{count, job, status};
use crate::sql;

/// How often a job that existed may be gone when it is read, because it was forgotten in between.
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
pub struct PostgresStore(Arc<Inner>);

struct Inner {
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

    pub(crate) fn new(pool: Pool, schema: String) -> Self {
        Self(Arc::new(Inner { pool, schema }))
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
        Ok(put(On::Caller(transaction), &self.0.schema, job, None).await?)
    }
}

async fn put(
    mut on: On<'_>,
    schema: &str,
    new: &NewJob,
    lease: Option<Duration>,
) -> Result<Put, Fault> {
    let due = micros(lease.unwrap_or(new.delay))?;
    let is_claimed = lease.is_some();
    let values: [Value<'_>; 7] = [
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

/// Saves by one statement; no job is in it twice.
async fn save(session: &mut Session, saves: &[Save]) -> Result<Vec<Saved>, Fault> {
    fn column<'a, T>(saves: &'a [Save], of: impl FnMut(&'a Save) -> T) -> Vec<T> {
        saves.iter().map(of).collect()
    }
    let due_in = saves.iter().map(|save| save.change.due_in);
    let due_in = due_in.map(|due_in| due_in.map(micros).transpose());
    let due_in = due_in.collect::<Result<Vec<_>, _>>()?;
    let id = column(saves, |save| save.right.id.get());
    let fence = column(saves, |save| save.right.fence);
    let status = column(saves, |save| save.change.status.name());
    let step = column(saves, |save| save.change.next.as_ref().map(|next| &next.0));
    let lane = column(saves, |save| save.change.next.as_ref().map(|next| &next.1));
    let state = column(saves, |save| save.change.state.as_deref());
    let counts_as = column(saves, |save| save.change.counts_as.name());
    let error = column(saves, |save| save.change.error.as_deref().map(redacted));
    let tell = column(saves, |save| save.change.tell);
    let values: [&(dyn ToSql + Sync); 10] = [
        &id, &fence, &status, &step, &lane, &state, &due_in, &counts_as, &error, &tell,
    ];
    let mut results = vec![Saved::default(); saves.len()];
    for row in session.query(sql::SAVE, &values).await? {
        let place = row.get::<_, i64>("place").cast_unsigned() as usize - 1;
        results[place] = Saved {
            is_held: true,
            tell: row.get("tell"),
        };
    }
    Ok(results)
}

impl Store for PostgresStore {
    async fn put(&self, job: &NewJob, lease: Option<Duration>) -> Result<Put, StoreError> {
        let Inner { pool, schema } = &*self.0;
        let put = async |session: &mut Session| put(On::Ours(session), schema, job, lease).await;
        pool.call(put).await
    }

    async fn next_due(&self, lane: &str) -> Result<Option<Duration>, StoreError> {
        let rows = self.0.pool.query(sql::NEXT_DUE, &[&lane]).await?;
        let next = rows.first().and_then(|row| {
            let due: Option<i64> = row.get("due");
            due.map(|due| since(due, row.get("now")))
        });
        Ok(next)
    }

    async fn claim(&self, lane: &str, most: u32, lease: Duration) -> Result<Claim, StoreError> {
        let (many, lease) = (i64::from(most), micros(lease)?);
        let values: [&(dyn ToSql + Sync); 3] = [&lane, &many, &lease];
        let mut claim = Claim::default();
        for row in &self.0.pool.query(sql::CLAIM, &values).await? {
            let next_due = row.get::<_, Option<i64>>("next_due");
            claim.next_due = next_due.map(|due| since(due, row.get("now")));
            // If none was claimed there is one row, which only says when the next one is due.
            if row.get::<_, Option<i64>>("id").is_none() {
                break;
            }
            let job = job(row);
            let (id, fence) = (job.id, row.get("fence"));
            let faults = row.get::<_, Option<&str>>("faults");
            claim.jobs.push(Claimed {
                right: Right { id, fence },
                job,
                is_lost: row.get("is_lost"),
                fault: faults.map(|faults| format!("no job can have what is in its row: {faults}")),
            });
        }
        Ok(claim)
    }

    async fn renew(&self, right: Right, lease: Duration) -> Result<bool, StoreError> {
        let values: [&(dyn ToSql + Sync); 3] = [&right.id.get(), &right.fence, &micros(lease)?];
        Ok(self.0.pool.execute(sql::RENEW, &values).await? == 1)
    }

    /// Saves by one statement, or by several in one transaction if a job occurs twice.
    async fn save(&self, saves: &[Save]) -> Result<Vec<Saved>, StoreError> {
        let call = async |session: &mut Session| {
            let (mut rest, mut results) = (saves, Vec::with_capacity(saves.len()));
            while !rest.is_empty() {
                let mut seen = HashSet::with_capacity(rest.len());
                let once = rest.iter().take_while(|save| seen.insert(save.right.id));
                let (part, later) = rest.split_at(once.count());
                if results.is_empty() && !later.is_empty() {
                    session.client.batch_execute("BEGIN").await?;
                }
                results.extend(save(session, part).await?);
                if results.len() > part.len() && later.is_empty() {
                    session.client.batch_execute("COMMIT").await?;
                }
                rest = later;
            }
            Ok(results)
        };
        self.0.pool.call(call).await
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
        self.0.pool.execute(sql::UNPARK, &values).await
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
                failures: count(row.get("failures")),
                error: row.get("error"),
                at: row.get("at"),
            };
            line.failed(row.get("now"))
        });
        Ok(failed.collect())
    }

    async fn retry_now(&self, id: JobId) -> Result<bool, StoreError> {
        Ok(self.0.pool.execute(sql::RETRY_NOW, &[&id.get()]).await? == 1)
    }

    async fn cancel(&self, id: JobId) -> Result<bool, StoreError> {
        Ok(self.0.pool.execute(sql::CANCEL, &[&id.get()]).await? == 1)
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
                (row.get(0), status(row.get(1)), count, due, oldest)
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
