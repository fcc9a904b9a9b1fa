//! What operators and the passing of time do.

use std::time::Duration;

use atomic_breaker_steps::{Counts, Failed, Filter, Job, JobId, Line, since};
use rusqlite::{Connection, Result};

use crate::row::{before, columns, count, job, now, status, text};

pub(crate) fn list(connection: &Connection, filter: &Filter, most: u32) -> Result<Vec<Job>> {
    let now = now()?;
    // Written as a literal, so that the index of stuck jobs can be used.
    let status = match filter.status {
        Some(status) => format!("AND status = '{}'", status.name()),
        None => String::new(),
    };
    // Written so that the index of kinds and keys can be used.
    let of = match (&filter.kind, &filter.key) {
        (Some(_), Some(_)) => "kind = ?2 AND key = ?3",
        _ => "(?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR key = ?3)",
    };
    let sql = format!(
        "SELECT {} FROM atomic_breaker_job WHERE id > ?1 {status} AND {of} ORDER BY id LIMIT ?4",
        columns!()
    );
    let mut select = connection.prepare_cached(&sql)?;
    let after = filter.after.map_or(0, JobId::get);
    let jobs = select.query_map((after, &filter.kind, &filter.key, most), |row| {
        let (id, row) = job(row)?;
        Ok(row.job(id, now))
    })?;
    jobs.collect()
}

pub(crate) fn history(connection: &Connection, id: JobId) -> Result<Vec<Failed>> {
    let now = now()?;
    let mut select = connection.prepare_cached(
        "SELECT step, failures, error, at FROM atomic_breaker_failed WHERE job = ?1 ORDER BY id",
    )?;
    let history = select.query_map([id.get()], |row| {
        let line = Line {
            step: text(row, 0)?,
            failures: count(row, 1, "failures", &mut Vec::new())?,
            error: text(row, 2)?,
            at: row.get(3)?,
        };
        Ok(line.failed(now))
    })?;
    history.collect()
}

pub(crate) fn unpark(
    connection: &Connection,
    kind: &str,
    steps: &[String],
    parked_before: Duration,
    most: u32,
) -> Result<u64> {
    let now = now()?;
    let Some(before) = before(now, parked_before) else {
        return Ok(0);
    };
    let mut update = connection.prepare_cached(
        "UPDATE atomic_breaker_job SET status = 'waiting', due = ?3, ended = NULL, held_up = 0, held_since = NULL
         WHERE id IN (
             SELECT id FROM atomic_breaker_job
             WHERE status = 'parked' AND kind = ?1 AND step = ?2 AND ended <= ?4
             ORDER BY id LIMIT ?5
         )",
    )?;
    let mut left = most;
    for step in steps {
        left -= update.execute((kind, step, now, before, left))? as u32;
    }
    Ok(u64::from(most - left))
}

pub(crate) fn counts(connection: &Connection) -> Result<Counts> {
    let now = now()?;
    let mut select = connection.prepare_cached(
        "SELECT lane, status, count(*), sum(status = 'waiting' AND (due <= ?1 OR held_since IS NOT NULL))
         FROM atomic_breaker_job GROUP BY lane, status",
    )?;
    let (mut jobs, mut due) = (Vec::new(), Vec::new());
    let mut rows = select.query([now])?;
    while let Some(row) = rows.next()? {
        let lane = text(row, 0)?;
        let [count, of_them]: [i64; 2] = [row.get(2)?, row.get(3)?];
        if of_them > 0 {
            due.push((lane.clone(), of_them.cast_unsigned()));
        }
        jobs.push((
            lane,
            status(row, 1, &mut Vec::new())?,
            count.cast_unsigned(),
        ));
    }
    jobs.sort_unstable();
    due.sort_unstable();
    let mut select = connection.prepare_cached(
        "SELECT min(coalesce(held_since, due)) FROM atomic_breaker_job WHERE ended IS NULL AND status = 'waiting'",
    )?;
    let first: Option<i64> = select.query_one([], |row| row.get(0))?;
    let first = first.filter(|due| *due <= now);
    Ok(Counts {
        jobs,
        due,
        oldest_due: first.map(|due| since(now, due)),
    })
}

pub(crate) fn forget(connection: &Connection, ended_before: Duration, most: u32) -> Result<u64> {
    let now = now()?;
    let Some(before) = before(now, ended_before) else {
        return Ok(0);
    };
    let mut delete = connection.prepare_cached(
        "DELETE FROM atomic_breaker_job WHERE id IN (
             SELECT id FROM atomic_breaker_job
             WHERE status IN ('done', 'cancelled') AND ended <= ?1
             ORDER BY ended LIMIT ?2
         )",
    )?;
    Ok(delete.execute((before, most))? as u64)
}
