//! Keeps jobs.

use std::time::Duration;

use atomic_breaker_steps::{JobId, NewJob, Put, Right, micros};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, Transaction};

use crate::error::PostgresStoreError as Fault;
use crate::pool::Session;
use crate::row::job;
use crate::sql::Sql;

/// How often a job that existed may be gone when it is read, because it was forgotten in between.
const TIMES: u32 = 5;

type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// Where a statement runs.
pub(crate) trait Asks {
    async fn ask(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault>;
}

impl Asks for Session {
    async fn ask(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        let values: Vec<_> = values.iter().map(|(value, _)| *value).collect();
        self.query(sql, &values).await
    }
}

/// Without named statements: the connection belongs to the caller.
impl Asks for &Transaction<'_> {
    async fn ask(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        Ok(self.query_typed(sql, values).await?)
    }
}

pub(crate) async fn put(
    asks: &mut impl Asks,
    sql: &Sql,
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
    for _ in 0..TIMES {
        let inserted = asks.ask(&sql.insert, &values).await?;
        if let Some(row) = inserted.first() {
            let id = JobId::new(row.get(0));
            let right = is_claimed.then_some(Right { id, fence: 1 });
            return Ok(Put::New(id, right));
        }
        let found = asks.ask(&sql.by_key, &values[..2]).await?;
        if let Some(row) = found.first() {
            return Ok(Put::Exists(job(row)));
        }
    }
    let words = "is there and is not: begin a transaction that reads what was committed";
    Err(Fault::new(format!("a job with key {:?} {words}", new.key)))
}
