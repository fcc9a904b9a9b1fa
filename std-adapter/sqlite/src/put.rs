//! Keeps jobs.

use std::time::Duration;

use atomic_breaker_std::steps::{JobId, NewJob, Put, Right};
use rusqlite::{Connection, OptionalExtension, Result};

use crate::row::{Now, columns, job};

pub(crate) fn put(connection: &Connection, new: &NewJob, lease: Option<Duration>) -> Result<Put> {
    let now = Now::get()?;
    let due = now.plus(lease.unwrap_or(new.delay))?;
    let is_claimed = lease.is_some();
    let first_due = if is_claimed { now.0 } else { due };
    let status = if is_claimed { "running" } else { "waiting" };
    let mut insert = connection.prepare_cached(
        "INSERT INTO atomic_breaker_job (kind, key, step, lane, state, status, due, kept, fence, is_alone)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)
         ON CONFLICT (kind, key) DO NOTHING
         RETURNING id",
    )?;
    let values = (
        &new.kind, &new.key, &new.step, &new.lane, &new.state, status, due, first_due, is_claimed,
    );
    let id = insert.query_one(values, |row| row.get(0)).optional()?;
    if let Some(id) = id.map(JobId::new) {
        let right = is_claimed.then_some(Right { id, fence: 1 });
        return Ok(Put::New(id, right));
    }
    let mut select = connection.prepare_cached(concat!(
        "SELECT ",
        columns!(),
        " FROM atomic_breaker_job WHERE kind = ?1 AND key = ?2"
    ))?;
    let found = select.query_one((&new.kind, &new.key), |row| job(row, now));
    Ok(Put::Exists(found?))
}
