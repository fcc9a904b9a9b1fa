//! Which worker gets which jobs, and for how long.

use std::time::Duration;

use atomic_breaker_std::steps::{Claim, Claimed, Job, Right, Status};
use rusqlite::{Connection, Result};

use crate::row::{Faults, Now, columns, found};

/// The last fence that a row may have.
const LAST: i64 = i64::MAX - 1;

/// A job that is due.
struct Due {
    job: Job,
    faults: Faults,
    fence: i64,
    is_suspect: bool,
    /// Its lease is over, and it was claimed alone.
    is_lost: bool,
}

impl Due {
    fn comes_alone(&self) -> bool {
        self.is_suspect || self.job.status == Status::Running
    }

    /// Greater than all before it. One that cannot grow is replaced by the time, which no count comes near.
    fn next_fence(&mut self, now: Now) -> i64 {
        match self.fence {
            fence @ 0..LAST => fence + 1,
            fence => {
                self.faults.add(format!("fence {fence}"));
                now.0
            }
        }
    }
}

pub(crate) fn claim(
    connection: &Connection,
    lane: &str,
    most: u32,
    lease: Duration,
) -> Result<Claim> {
    let now = Now::get()?;
    let until = now.plus(lease)?;
    let mut due = due(connection, lane, most, now)?;
    let count = match due.first() {
        Some(first) if first.comes_alone() => 1,
        _ => due.iter().take_while(|due| !due.comes_alone()).count(),
    };
    due.truncate(count);
    let is_alone = count == 1;
    let mut update = connection.prepare_cached(
        "UPDATE atomic_breaker_job
         SET status = 'running', due = ?2, fence = ?3, is_suspect = ?4, is_alone = ?5
         WHERE id = ?1",
    )?;
    let mut jobs = Vec::with_capacity(count);
    for mut due in due {
        let id = due.job.id;
        let fence = due.next_fence(now);
        update.execute((id.get(), until, fence, due.comes_alone(), is_alone))?;
        due.job.status = Status::Running;
        due.job.due_in_ms = (until - now.0).div_euclid(1_000);
        jobs.push(Claimed {
            right: Right { id, fence },
            job: due.job,
            is_lost: due.is_lost,
            fault: due.faults.words(),
        });
    }
    let next_due = if jobs.len() < most as usize {
        next_due(connection, lane, now)?
    } else {
        None
    };
    Ok(Claim { jobs, next_due })
}

fn due(connection: &Connection, lane: &str, most: u32, now: Now) -> Result<Vec<Due>> {
    let mut select = connection.prepare_cached(concat!(
        "SELECT ",
        columns!(),
        " FROM atomic_breaker_job WHERE lane = ?1 AND ended IS NULL AND due <= ?2 ORDER BY due, id LIMIT ?3"
    ))?;
    let due = select.query_map((lane, now.0, most), |row| {
        let (job, mut faults) = found(row, now)?;
        if job.status.is_final() {
            faults.add(format!(
                "status {:?} of one that has not ended",
                job.status.name()
            ));
        }
        Ok(Due {
            faults,
            fence: row.get(11)?,
            is_suspect: row.get(12)?,
            is_lost: job.status == Status::Running && row.get(13)?,
            job,
        })
    })?;
    due.collect()
}

fn next_due(connection: &Connection, lane: &str, now: Now) -> Result<Option<Duration>> {
    let mut select = connection.prepare_cached(
        "SELECT min(due) FROM atomic_breaker_job WHERE lane = ?1 AND ended IS NULL",
    )?;
    let next: Option<i64> = select.query_one([lane], |row| row.get(0))?;
    Ok(next.map(|due| now.until(due)))
}

pub(crate) fn renew(
    connection: &Connection,
    rights: &[Right],
    lease: Duration,
) -> Result<Vec<bool>> {
    let until = Now::get()?.plus(lease)?;
    let mut update = connection.prepare_cached(
        "UPDATE atomic_breaker_job SET due = ?3 WHERE id = ?1 AND fence = ?2 AND status = 'running'",
    )?;
    let mut renew = |right: &Right| {
        let renewed = update.execute((right.id.get(), right.fence, until))?;
        Ok(renewed == 1)
    };
    rights.iter().map(&mut renew).collect()
}
