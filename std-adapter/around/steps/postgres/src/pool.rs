// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections, one for each call at a time, dropped as soon as they are in doubt.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atomic_breaker_steps::{JobId, JobRow, Status, StoreError};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Row, Socket, Statement, Transaction};

use crate::error::Fault;
use crate::row::row;
use crate::sql;

pub(crate) type Connecting = Pin<Box<dyn Future<Output = Result<Session, Fault>> + Send>>;

pub(crate) struct Pool {
    connect: Box<dyn Fn() -> Connecting + Send + Sync>,
    idle: Mutex<Vec<Session>>,
    free: Semaphore,
    limit: Duration,
}

/// Jobs that were read for update.
pub(crate) type Jobs = Vec<(JobId, JobRow)>;

/// A connection with its prepared statements.
pub(crate) struct Session {
    pub(crate) client: Client,
    prepared: HashMap<String, Statement>,
    task: JoinHandle<()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may hang.
        self.task.abort();
    }
}

impl Session {
    /// Prepares it once.
    async fn statement(&mut self, sql: &str) -> Result<Statement, Fault> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    pub(crate) async fn query(
        &mut self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Fault> {
        let statement = self.statement(sql).await?;
        Ok(self.client.query(&statement, values).await?)
    }

    /// Locks rows of jobs, changes them, and writes those that have changed: one transaction of two round trips, as the
    /// server receives together what is joined here, in this order. `change` also receives the time of the server.
    pub(crate) async fn change<T>(
        &mut self,
        begin: &str,
        select: &str,
        values: &[&(dyn ToSql + Sync)],
        change: impl FnOnce(&mut Jobs, i64) -> T,
    ) -> Result<T, Fault> {
        let select = self.statement(select).await?;
        let [write, note] = [
            self.statement(sql::WRITE).await?,
            self.statement(sql::NOTE).await?,
        ];
        let client = &self.client;
        let (opened, found) =
            tokio::join!(client.batch_execute(begin), client.query(&select, values));
        opened?;
        let found = found?;
        let now = found.first().map_or(0, |row| row.get("now"));
        let before: Vec<_> = found.iter().map(row).collect();
        let mut jobs = before.clone();
        let result = change(&mut jobs, now);
        let (mut rows, mut lines) = (Vec::new(), Vec::new());
        for ((id, mut job), (_, before)) in jobs.into_iter().zip(before) {
            let once = job.status == Status::Parked;
            let history = std::mem::take(&mut job.history).into_iter();
            lines.extend(
                history.map(|line| with(&line, [("job", id.get().into()), ("once", once.into())])),
            );
            if job != before {
                if job.state == before.state {
                    job.state.clear();
                }
                rows.push(with(&job, [("id", id.get().into())]));
            }
        }
        let [rows, lines] = [rows, lines].map(|values| Value::from(values).to_string());
        let (rows, lines): ([&(dyn ToSql + Sync); 1], [_; 1]) = ([&rows], [&lines as _]);
        let (written, noted, committed) = tokio::join!(
            client.execute(&write, &rows),
            client.execute(&note, &lines),
            client.batch_execute("COMMIT"),
        );
        written.and(noted)?;
        committed?;
        Ok(result)
    }
}

/// As JSON, with more fields.
fn with<const N: usize>(row: &impl Serialize, fields: [(&str, Value); N]) -> Value {
    let mut value = serde_json::to_value(row).expect("texts and numbers");
    for (name, field) in fields {
        value[name] = field;
    }
    value
}

/// A value and its type in the database.
pub(crate) type Typed<'a> = (&'a (dyn ToSql + Sync), Type);

/// A connection of the store, or one of the application.
pub(crate) enum On<'a> {
    Ours(&'a mut Session),
    Caller(&'a Transaction<'a>),
}

impl On<'_> {
    pub(crate) async fn ask(&mut self, sql: &str, values: &[Typed<'_>]) -> Result<Vec<Row>, Fault> {
        match self {
            Self::Ours(session) => {
                let values: Vec<_> = values.iter().map(|(value, _)| *value).collect();
                session.query(sql, &values).await
            }
            // Leaves no named statements there.
            Self::Caller(transaction) => Ok(transaction.query_typed(sql, values).await?),
        }
    }
}

impl Pool {
    pub(crate) fn new(
        connect: impl Fn() -> Connecting + Send + Sync + 'static,
        connections: usize,
        limit: Duration,
    ) -> Self {
        Self {
            connect: Box::new(connect),
            idle: Mutex::default(),
            free: Semaphore::new(connections),
            limit,
        }
    }

    /// Asks with a statement of its own.
    pub(crate) async fn query(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        let query = async |session: &mut Session| session.query(sql, values).await;
        self.call(query).await
    }

    /// Returns how many rows it has changed.
    pub(crate) async fn execute(
        &self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, StoreError> {
        let execute = async |session: &mut Session| {
            let statement = session.statement(sql).await?;
            Ok(session.client.execute(&statement, values).await?)
        };
        self.call(execute).await
    }

    /// [`Session::change`] on a connection of its own.
    pub(crate) async fn change<T>(
        &self,
        begin: &str,
        select: &str,
        values: &[&(dyn ToSql + Sync)],
        change: impl FnOnce(&mut Jobs, i64) -> T,
    ) -> Result<T, StoreError> {
        let call =
            async |session: &mut Session| session.change(begin, select, values, change).await;
        self.call(call).await
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        // Nothing under the lock panics.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call on a connection of its own, within the time limit. If it fails or is dropped, its connection is
    /// closed.
    pub(crate) async fn call<T>(
        &self,
        call: impl AsyncFnOnce(&mut Session) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let call = async {
            // Never closed.
            let _turn = self.free.acquire().await.ok();
            let mut session = loop {
                let idle = self.idle().pop();
                match idle {
                    Some(session) if session.client.is_closed() => {}
                    Some(session) => break session,
                    None => break (self.connect)().await?,
                }
            };
            let done = call(&mut session).await?;
            self.idle().push(session);
            Ok(done)
        };
        let limit = self.limit;
        let late = |_| {
            let words = format!("no answer within {limit:?}: it may be done or not");
            Err(Fault::new(words))
        };
        Ok(timeout(limit, call).await.unwrap_or_else(late)?)
    }
}

pub(crate) async fn connect<T>(
    config: &Config,
    tls: T,
    schema: &str,
    limit: Duration,
) -> Result<Session, Fault>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, connection) = config.connect(tls).await?;
    let task = tokio::spawn(async move {
        // The caller that uses it sees the error.
        let _ = connection.await;
    });
    let session = Session {
        client,
        prepared: HashMap::new(),
        task,
    };
    // The server enforces limits of its own, so that it does not go on with work that no caller waits for. Plans that
    // read or sort whole tables are disabled: each of these statements has an index, and a fixed plan, as planning
    // takes longer than a claim.
    let limit = limit.as_millis();
    let settings = format!(
        "SET statement_timeout = {limit}; SET lock_timeout = {limit};
         SET idle_in_transaction_session_timeout = {limit};
         SET default_transaction_isolation = 'read committed'; SET search_path = \"{schema}\";
         SET jit = off; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off;
         SET enable_hashjoin = off; SET enable_mergejoin = off"
    );
    session.client.batch_execute(&settings).await?;
    Ok(session)
}
