//! Saves the results of jobs.

use std::time::Duration;

use atomic_breaker_std::steps::{Change, Right, Save, Saved, Status, kept};
use rusqlite::{Connection, OptionalExtension, Result};

use crate::row::{Now, within};

pub(crate) fn save(connection: &Connection, saves: &[Save]) -> Result<Vec<Saved>> {
    let now = Now::get()?;
    let mut results = Vec::with_capacity(saves.len());
    for save in saves {
        let held = Held::find(connection, save.right)?;
        results.push(match held {
            Some(held) => held.save(connection, &save.change, now)?,
            None => Saved::NOT_HELD,
        });
    }
    Ok(results)
}

/// A job whose right is held.
struct Held {
    id: i64,
    is_told: bool,
    failures: u32,
}

impl Held {
    fn find(connection: &Connection, right: Right) -> Result<Option<Self>> {
        let mut select = connection.prepare_cached(
            "SELECT is_told, failures FROM atomic_breaker_job WHERE id = ?1 AND fence = ?2 AND status = 'running'",
        )?;
        let id = right.id.get();
        let held = select.query_one([id, right.fence], |row| {
            Ok(Self {
                id,
                is_told: row.get(0)?,
                failures: within(row.get(1)?),
            })
        });
        held.optional()
    }

    fn save(&self, connection: &Connection, change: &Change, now: Now) -> Result<Saved> {
        let mut tell = false;
        match change {
            Change::Next {
                step,
                lane,
                state,
                keep,
            } => {
                let due = now.plus(keep.unwrap_or(Duration::ZERO))?;
                let status = if keep.is_some() { "running" } else { "waiting" };
                connection
                    .prepare_cached(
                        "UPDATE atomic_breaker_job SET step = ?2, lane = ?3, state = ?4, status = ?5, due = ?6,
                         failures = 0, is_suspect = 0, held_up = 0, held_since = NULL, unknown_since = NULL WHERE id = ?1",
                    )?
                    .execute((self.id, step, lane, state, status, due))?;
            }
            Change::Done { state } => {
                connection
                    .prepare_cached("UPDATE atomic_breaker_job SET state = ?2 WHERE id = ?1")?
                    .execute((self.id, state))?;
                self.go_on(connection)?;
                self.end(connection, Status::Done, now)?;
            }
            Change::Again {
                due_in,
                error,
                tell: wants,
            } => {
                self.note(
                    connection,
                    error,
                    self.failures.saturating_add(1),
                    now,
                    false,
                )?;
                self.wait(connection, now.plus(*due_in)?)?;
                self.count_try(connection)?;
                self.go_on(connection)?;
                tell = *wants;
            }
            Change::Back { due_in } => self.wait(connection, now.plus(*due_in)?)?,
            Change::HeldUp {
                due_in,
                is_known,
                error,
                tell: wants,
            } => {
                self.wait(connection, now.plus(*due_in)?)?;
                self.hold_up(connection, *is_known, now)?;
                tell = *wants;
                if tell && !self.is_told {
                    self.note(connection, error, 0, now, false)?;
                }
            }
            Change::End {
                status,
                error,
                is_try,
                tell: wants,
            } => {
                let failures = if *is_try {
                    self.failures.saturating_add(1)
                } else {
                    0
                };
                let is_parked = *status == Status::Parked;
                self.note(connection, error, failures, now, is_parked)?;
                if *is_try {
                    self.count_try(connection)?;
                }
                if !is_parked {
                    self.go_on(connection)?;
                }
                self.end(connection, *status, now)?;
                tell = *wants;
            }
        }
        tell &= !self.is_told;
        if tell {
            connection
                .prepare_cached("UPDATE atomic_breaker_job SET is_told = 1 WHERE id = ?1")?
                .execute([self.id])?;
        }
        Ok(Saved {
            is_held: true,
            tell,
        })
    }

    fn wait(&self, connection: &Connection, due: i64) -> Result<()> {
        connection
            .prepare_cached(
                "UPDATE atomic_breaker_job SET status = 'waiting', due = ?2 WHERE id = ?1",
            )?
            .execute((self.id, due))?;
        Ok(())
    }

    fn count_try(&self, connection: &Connection) -> Result<()> {
        connection
            .prepare_cached("UPDATE atomic_breaker_job SET failures = ?2 WHERE id = ?1")?
            .execute((self.id, self.failures.saturating_add(1)))?;
        Ok(())
    }

    /// It is no longer held up.
    fn go_on(&self, connection: &Connection) -> Result<()> {
        connection
            .prepare_cached(
                "UPDATE atomic_breaker_job SET held_up = 0, held_since = NULL, unknown_since = NULL
                 WHERE id = ?1 AND (held_up > 0 OR unknown_since IS NOT NULL)",
            )?
            .execute([self.id])?;
        Ok(())
    }

    fn hold_up(&self, connection: &Connection, is_known: bool, now: Now) -> Result<()> {
        connection
            .prepare_cached(
                "UPDATE atomic_breaker_job SET held_up = min(max(held_up, 0), 4294967294) + 1,
                 held_since = coalesce(held_since, ?3),
                 unknown_since = CASE WHEN ?2 THEN NULL ELSE coalesce(unknown_since, ?3) END
                 WHERE id = ?1",
            )?
            .execute((self.id, is_known, now.0))?;
        Ok(())
    }

    fn end(&self, connection: &Connection, status: Status, now: Now) -> Result<()> {
        connection
            .prepare_cached("UPDATE atomic_breaker_job SET status = ?2, ended = ?3, is_suspect = 0 WHERE id = ?1")?
            .execute((self.id, status.name(), now.0))?;
        Ok(())
    }

    /// A line that is to exist only `once` is not written again.
    fn note(
        &self,
        connection: &Connection,
        error: &str,
        failures: u32,
        now: Now,
        once: bool,
    ) -> Result<()> {
        connection
            .prepare_cached(
                "INSERT INTO atomic_breaker_failed (job, step, failures, error, at)
                 SELECT id, step, ?2, ?3, ?4 FROM atomic_breaker_job AS job WHERE id = ?1 AND NOT (?5 AND EXISTS (
                     SELECT 1 FROM atomic_breaker_failed AS failed
                     WHERE failed.job = ?1 AND failed.step = job.step AND failed.failures = ?2 AND failed.error = ?3
                 ))",
            )?
            .execute((self.id, failures, kept(error), now.0, once))?;
        Ok(())
    }
}
