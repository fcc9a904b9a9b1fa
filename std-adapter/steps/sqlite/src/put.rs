//! Keeps jobs.

use std::time::Duration;

use atomic_breaker_steps::{JobId, NewJob, Put, Row};
use rusqlite::{Connection, OptionalExtension, Result};

use crate::row::{columns, error, job, now};

pub(crate) fn put(connection: &Connection, new: &NewJob, lease: Option<Duration>) -> Result<Put> {
    let now = now()?;
    let row = Row::new(new, lease, now).map_err(error)?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO atomic_breaker_job (kind, key, step, lane, state, status, due, kept, fence, is_alone)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (kind, key) DO NOTHING
         RETURNING id",
    )?;
    let values = (
        &row.kind,
        &row.key,
        &row.step,
        &row.lane,
        &row.state,
        row.status.name(),
        row.due,
        row.first_due,
        row.fence,
        row.is_alone,
    );
    let id = insert.query_one(values, |row| row.get(0)).optional()?;
    if let Some(id) = id.map(JobId::new) {
        return Ok(Put::New(id, row.right(id)));
    }
    let mut select = connection.prepare_cached(concat!(
        "SELECT ",
        columns!(),
        " FROM atomic_breaker_job WHERE kind = ?1 AND key = ?2"
    ))?;
    let (id, found) = select.query_one((&new.kind, &new.key), job)?;
    Ok(Put::Exists(found.job(id, now)))
}
