//! Which worker gets which jobs, and for how long.

use std::time::Duration;

use atomic_breaker_steps::{Claim, Right, Row, Save, Saved, since};
use rusqlite::{Connection, Result};

use crate::row::{after, change, columns, job, now};

pub(crate) fn claim(
    connection: &Connection,
    lane: &str,
    most: u32,
    lease: Duration,
) -> Result<Claim> {
    let now = now()?;
    let mut select = connection.prepare_cached(concat!(
        "SELECT ",
        columns!(),
        " FROM atomic_breaker_job WHERE lane = ?1 AND ended IS NULL AND due <= ?2 ORDER BY due, id LIMIT ?3"
    ))?;
    let due = select.query_map((lane, now, most), job)?;
    let mut due = due.collect::<Result<Vec<_>>>()?;
    let jobs = Row::claim(&mut due, lease, now);
    let mut update = connection.prepare_cached(
        "UPDATE atomic_breaker_job
         SET status = 'running', due = ?2, fence = ?3, is_suspect = ?4, is_alone = ?5
         WHERE id = ?1",
    )?;
    for (id, row) in due {
        update.execute((id.get(), row.due, row.fence, row.is_suspect, row.is_alone))?;
    }
    let next_due = if jobs.len() < most as usize {
        next_due(connection, lane, now)?
    } else {
        None
    };
    Ok(Claim { jobs, next_due })
}

fn next_due(connection: &Connection, lane: &str, now: i64) -> Result<Option<Duration>> {
    let mut select = connection.prepare_cached(
        "SELECT min(due) FROM atomic_breaker_job WHERE lane = ?1 AND ended IS NULL",
    )?;
    let next: Option<i64> = select.query_one([lane], |row| row.get(0))?;
    Ok(next.map(|due| since(due, now)))
}

pub(crate) fn renew(
    connection: &Connection,
    rights: &[Right],
    lease: Duration,
) -> Result<Vec<bool>> {
    let until = after(now()?, lease)?;
    let mut update = connection.prepare_cached(
        "UPDATE atomic_breaker_job SET due = ?3 WHERE id = ?1 AND fence = ?2 AND status = 'running'",
    )?;
    let mut renew = |right: &Right| {
        let renewed = update.execute((right.id.get(), right.fence, until))?;
        Ok(renewed == 1)
    };
    rights.iter().map(&mut renew).collect()
}

pub(crate) fn save(connection: &Connection, saves: &[Save]) -> Result<Vec<Saved>> {
    let now = now()?;
    let save = |save: &Save| {
        let result = change(connection, save.right.id, |row| {
            row.save(save.right, &save.change, now)
        });
        Ok(result?.unwrap_or_default())
    };
    saves.iter().map(save).collect()
}
