// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows and times as the tables hold them.

use std::time::SystemTime;

use atomic_breaker_steps::{JobId, JobRow, Status, micros};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

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
        status: JobRow::status(&text(row, "status", &mut faults)?, &mut faults),
        failures: JobRow::count("failures", row.get("failures")?, &mut faults),
        fence: row.get("fence")?,
        due: row.get("due")?,
        first_due: row.get("first_due")?,
        ended: row.get("ended")?,
        is_suspect: row.get("is_suspect")?,
        is_alone: row.get("is_alone")?,
        is_told: row.get("is_told")?,
        is_unparked: row.get("is_unparked")?,
        held_up: JobRow::count("held_up", row.get("held_up")?, &mut faults),
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

/// Changes a job, if there is one.
pub(crate) fn change<T: Default>(
    connection: &Connection,
    id: JobId,
    change: impl FnOnce(&mut JobRow) -> T,
) -> Result<T> {
    let mut select = connection.prepare_cached("SELECT * FROM atomic_breaker_job WHERE id = ?1")?;
    let found = select.query_one([id.get()], job).optional()?;
    found.map_or(Ok(T::default()), |found| {
        let mut rows = vec![found];
        change_all(connection, &mut rows, |rows| change(&mut rows[0].1))
    })
}

/// Changes jobs that were read, and writes those that have changed.
pub(crate) fn change_all<T>(
    connection: &Connection,
    jobs: &mut Vec<(JobId, JobRow)>,
    change: impl FnOnce(&mut Vec<(JobId, JobRow)>) -> T,
) -> Result<T> {
    let before = jobs.clone();
    let changed = change(jobs);
    for ((id, job), (_, before)) in jobs.iter().zip(&before) {
        if job != before {
            write(connection, *id, job, before)?;
        }
    }
    Ok(changed)
}

fn write(connection: &Connection, id: JobId, job: &JobRow, before: &JobRow) -> Result<()> {
    // One that is not UTF-8 stays as it is.
    let new = |now, before| (now != before).then_some(now);
    connection
        .prepare_cached(
            "UPDATE atomic_breaker_job SET step = coalesce(?2, step), lane = coalesce(?3, lane), state = coalesce(?4, state),
             status = ?5, failures = ?6, fence = ?7, due = ?8, ended = ?9, is_suspect = ?10, is_alone = ?11, is_told = ?12,
             is_unparked = ?13, held_up = ?14, held_since = ?15, unknown_since = ?16 WHERE id = ?1",
        )?
        .execute(params![
            id.get(), new(&job.step, &before.step), new(&job.lane, &before.lane), new(&job.state, &before.state),
            job.status.name(), job.failures, job.fence, job.due, job.ended, job.is_suspect, job.is_alone, job.is_told,
            job.is_unparked, job.held_up, job.held_since, job.unknown_since,
        ])?;
    let once = job.status == Status::Parked;
    let mut insert = connection.prepare_cached(
        "INSERT INTO atomic_breaker_failed (job, step, failures, error, at)
         SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT (?6 AND EXISTS (
             SELECT 1 FROM atomic_breaker_failed WHERE job = ?1 AND step = ?2 AND failures = ?3 AND error = ?4
         ))",
    )?;
    for line in &job.history {
        insert.execute(params![
            id.get(),
            line.step,
            line.failures,
            line.error,
            line.at,
            once
        ])?;
    }
    Ok(())
}

/// The time in microseconds since 1970, by the clock that all processes of the machine share, and that keeps running
/// while it is off.
pub(crate) fn now() -> Result<i64> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let since = since.map_err(|_| error("the clock of this machine is before 1970: set it"))?;
    micros(since).map_err(error)
}
