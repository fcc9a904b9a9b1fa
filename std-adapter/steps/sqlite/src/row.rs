//! Rows and times as the tables hold them.

use std::time::SystemTime;

use atomic_breaker_steps::{JobId, JobRow, Status, micros};
use rusqlite::{Connection, OptionalExtension, Result, Row};

use crate::error::error;

/// A row that no job can have, because another program wrote to it, is shown as far as possible.
pub(crate) fn job(row: &Row<'_>) -> Result<(JobId, JobRow)> {
    let mut faults = Vec::new();
    let job = JobRow {
        kind: text(row, "kind", &mut faults)?,
        key: text(row, "key", &mut faults)?,
        step: text(row, "step", &mut faults)?,
        lane: text(row, "lane", &mut faults)?,
        state: text(row, "state", &mut faults)?,
        status: status(row, &mut faults)?,
        failures: count(row, "failures", &mut faults)?,
        fence: row.get("fence")?,
        due: row.get("due")?,
        first_due: row.get("first_due")?,
        ended: row.get("ended")?,
        is_suspect: row.get("is_suspect")?,
        is_alone: row.get("is_alone")?,
        is_told: row.get("is_told")?,
        is_unparked: row.get("is_unparked")?,
        held_up: count(row, "held_up", &mut faults)?,
        held_since: row.get("held_since")?,
        unknown_since: row.get("unknown_since")?,
        history: Vec::new(),
        faults,
    };
    Ok((JobId::new(row.get("id")?), job))
}

/// The text as far as it is readable.
pub(crate) fn text(row: &Row<'_>, column: &str, faults: &mut Vec<String>) -> Result<String> {
    let bytes = row.get_ref(column)?.as_bytes()?;
    if std::str::from_utf8(bytes).is_err() {
        faults.push(format!("{column} is not UTF-8"));
    }
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// An unknown status is shown as that of a job that no worker can run.
pub(crate) fn status(row: &Row<'_>, faults: &mut Vec<String>) -> Result<Status> {
    let name = text(row, "status", faults)?;
    Ok(Status::of(&name).unwrap_or_else(|| {
        faults.push(format!("status {name:?}"));
        Status::Parked
    }))
}

/// The nearest possible value.
pub(crate) fn count(row: &Row<'_>, column: &str, faults: &mut Vec<String>) -> Result<u32> {
    let count: i64 = row.get(column)?;
    Ok(u32::try_from(count).unwrap_or_else(|_| {
        faults.push(format!("{column} {count}"));
        if count < 0 { 0 } else { u32::MAX }
    }))
}

/// Changes a job, if there is one.
pub(crate) fn change<T: Default>(
    connection: &Connection,
    id: JobId,
    change: impl FnOnce(&mut JobRow) -> T,
) -> Result<T> {
    let mut select = connection.prepare_cached("SELECT * FROM atomic_breaker_job WHERE id = ?1")?;
    let found = select.query_one([id.get()], |row| Ok(job(row)?.1));
    let Some(before) = found.optional()? else {
        return Ok(T::default());
    };
    let mut job = before.clone();
    let changed = change(&mut job);
    if job == before {
        return Ok(changed);
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
             held_since = ?13, unknown_since = ?14, is_unparked = ?15 WHERE id = ?1",
        )?
        .execute((
            id.get(), texts.0, texts.1, texts.2, job.status.name(), job.failures, job.fence, job.due, job.ended,
            job.is_suspect, job.is_told, job.held_up, job.held_since, job.unknown_since, job.is_unparked,
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
    Ok(changed)
}

/// The time in microseconds since 1970, by the clock that all processes of the machine share, and that keeps running
/// while it is off.
pub(crate) fn now() -> Result<i64> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let since = since.map_err(|_| error("the clock of this machine is before 1970: set it"))?;
    micros(since).map_err(error)
}
