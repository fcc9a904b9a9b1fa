//! Keeps jobs.

use std::time::Duration;

use atomic_breaker_std::steps::{JobId, NewJob, Put, Right};
use tokio_postgres::Transaction;
use tokio_postgres::types::{ToSql, Type};

use crate::error::Fault;
use crate::pool::Session;
use crate::row::{job, micros};
use crate::sql::Sql;

/// How often a job that existed may be gone when it is read, because it was forgotten in between.
const TIMES: u32 = 5;

fn is_new(id: JobId, is_claimed: bool) -> Put {
    Put::New(id, is_claimed.then_some(Right { id, fence: 1 }))
}

pub(crate) async fn put(
    session: &mut Session,
    sql: &Sql,
    new: &NewJob,
    lease: Option<Duration>,
) -> Result<Put, Fault> {
    let due = micros(lease.unwrap_or(new.delay))?;
    let is_claimed = lease.is_some();
    let mut left = TIMES;
    loop {
        let values: [&(dyn ToSql + Sync); 7] = [
            &new.kind,
            &new.key,
            &new.step,
            &new.lane,
            &new.state,
            &due,
            &is_claimed,
        ];
        let inserted = session.query(&sql.insert, &values).await?;
        if let Some(row) = inserted.first() {
            return Ok(is_new(JobId::new(row.get(0)), is_claimed));
        }
        let found = session.query(&sql.by_key, &[&new.kind, &new.key]).await?;
        if let Some(row) = found.first() {
            return Ok(Put::Exists(job(row)));
        }
        left -= 1;
        if left == 0 {
            return Err(Fault::Vanishes(new.key.clone()));
        }
    }
}

/// Without named statements: the connection belongs to the caller.
pub(crate) async fn put_in(
    transaction: &Transaction<'_>,
    sql: &Sql,
    new: &NewJob,
) -> Result<Put, Fault> {
    let due = micros(new.delay)?;
    for _ in 0..TIMES {
        let values: [(&(dyn ToSql + Sync), Type); 7] = [
            (&new.kind, Type::TEXT),
            (&new.key, Type::TEXT),
            (&new.step, Type::TEXT),
            (&new.lane, Type::TEXT),
            (&new.state, Type::TEXT),
            (&due, Type::INT8),
            (&false, Type::BOOL),
        ];
        let inserted = transaction.query_typed(&sql.insert, &values).await?;
        if let Some(row) = inserted.first() {
            return Ok(is_new(JobId::new(row.get(0)), false));
        }
        let key: [(&(dyn ToSql + Sync), Type); 2] =
            [(&new.kind, Type::TEXT), (&new.key, Type::TEXT)];
        let found = transaction.query_typed(&sql.by_key, &key).await?;
        if let Some(row) = found.first() {
            return Ok(Put::Exists(job(row)));
        }
    }
    Err(Fault::Vanishes(new.key.clone()))
}
