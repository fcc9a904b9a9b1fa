//! Rows and times as the tables hold them.

use std::time::{Duration, SystemTime};

use atomic_breaker_steps::{JobId, Row as Job, Status, micros};
use rusqlite::{Connection, Error, OptionalExtension, Result, Row};

/// What [`job`] reads, in this order.
macro_rules! columns {
    () => {
        "id, kind, key, step, lane, state, status, failures, fence, due, kept, ended, is_suspect, is_alone, is_told, \
         held_up, held_since, unknown_since"
    };
}
pub(crate) use columns;

/// A row that no job can have, because another program wrote to it, is shown as far as possible.
pub(crate) fn job(row: &Row<'_>) -> Result<(JobId, Job)> {
    let mut faults = Vec::new();
    let job = Job {
        kind: readable(row, 1, "kind", &mut faults)?,
        key: readable(row, 2, "key", &mut faults)?,
        step: readable(row, 3, "step", &mut faults)?,
        lane: readable(row, 4, "lane", &mut faults)?,
        state: readable(row, 5, "state", &mut faults)?,
        status: status(row, 6, &mut faults)?,
        failures: count(row, 7, "failures", &mut faults)?,
        fence: row.get(8)?,
        due: row.get(9)?,
        first_due: row.get(10)?,
        ended: row.get(11)?,
        is_suspect: row.get(12)?,
        is_alone: row.get(13)?,
        is_told: row.get(14)?,
        held_up: count(row, 15, "held_up", &mut faults)?,
        held_since: row.get(16)?,
        unknown_since: row.get(17)?,
        history: Vec::new(),
        faults,
    };
    Ok((JobId::new(row.get(0)?), job))
}

fn readable(row: &Row<'_>, column: usize, name: &str, faults: &mut Vec<String>) -> Result<String> {
    let bytes = row.get_ref(column)?.as_bytes()?;
    if std::str::from_utf8(bytes).is_err() {
        faults.push(format!("{name} is not UTF-8"));
    }
    text(row, column)
}

/// The text as far as it is readable.
pub(crate) fn text(row: &Row<'_>, column: usize) -> Result<String> {
    let bytes = row.get_ref(column)?.as_bytes()?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// An unknown status is shown as that of a job that no worker can run.
pub(crate) fn status(row: &Row<'_>, column: usize, faults: &mut Vec<String>) -> Result<Status> {
    let name = text(row, column)?;
    Ok(Status::of(&name).unwrap_or_else(|| {
        faults.push(format!("status {name:?}"));
        Status::Parked
    }))
}

/// The nearest possible value.
pub(crate) fn count(
    row: &Row<'_>,
    column: usize,
    name: &str,
    faults: &mut Vec<String>,
) -> Result<u32> {
    let count: i64 = row.get(column)?;
    Ok(u32::try_from(count).unwrap_or_else(|_| {
        faults.push(format!("{name} {count}"));
        if count < 0 { 0 } else { u32::MAX }
    }))
}

pub(crate) fn find(connection: &Connection, id: JobId) -> Result<Option<Job>> {
    let mut select = connection.prepare_cached(concat!(
        "SELECT ",
        columns!(),
        " FROM atomic_breaker_job WHERE id = ?1"
    ))?;
    let found = select.query_one([id.get()], |row| Ok(job(row)?.1));
    found.optional()
}

/// Changes a job, and returns what that returned; `None` if there is no such job.
pub(crate) fn change<T>(
    connection: &Connection,
    id: JobId,
    change: impl FnOnce(&mut Job) -> T,
) -> Result<Option<T>> {
    let Some(before) = find(connection, id)? else {
        return Ok(None);
    };
    let mut job = before.clone();
    let changed = change(&mut job);
    if job == before {
        return Ok(Some(changed));
    }
    // One that is not UTF-8 stays as it is.
    let text = |now, before| (now != before).then_some(now);
    let texts = (
        text(&job.step, &before.step),
        text(&job.lane, &before.lane),
        text(&job.state, &before.state),
    );
    connection
        .prepare_cached(
            "UPDATE atomic_breaker_job SET step = coalesce(?2, step), lane = coalesce(?3, lane), state = coalesce(?4, state),
             status = ?5, failures = ?6, fence = ?7, due = ?8, ended = ?9, is_suspect = ?10, is_told = ?11, held_up = ?12,
             held_since = ?13, unknown_since = ?14 WHERE id = ?1",
        )?
        .execute((
            id.get(), texts.0, texts.1, texts.2, job.status.name(), job.failures, job.fence, job.due, job.ended,
            job.is_suspect, job.is_told, job.held_up, job.held_since, job.unknown_since,
        ))?;
    let once = job.status == Status::Parked;
    let mut insert = connection.prepare_cached(
        "INSERT INTO atomic_breaker_failed (job, step, failures, error, at)
         SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT (?6 AND EXISTS (
             SELECT 1 FROM atomic_breaker_failed WHERE job = ?1 AND step = ?2 AND failures = ?3 AND error = ?4
         ))",
    )?;
    for line in job.history {
        insert.execute((
            id.get(),
            line.step,
            line.failures,
            line.error,
            line.at,
            once,
        ))?;
    }
    Ok(Some(changed))
}

/// The time in microseconds since 1970, by the clock that all processes of the machine share, and that keeps running
/// while it is off.
pub(crate) fn now() -> Result<i64> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let since = since.map_err(|_| error("the clock of this machine is before 1970: set it"))?;
    micros(since).map_err(error)
}

pub(crate) fn after(now: i64, time: Duration) -> Result<i64> {
    Ok(now.saturating_add(micros(time).map_err(error)?))
}

/// The time that long ago; `None` if it is so far back that nothing is older.
pub(crate) fn before(now: i64, time: Duration) -> Option<i64> {
    micros(time).ok().map(|time| now - time)
}

/// An error that is not SQLite's.
pub(crate) fn error(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::ToSqlConversionFailure(error.into())
}
