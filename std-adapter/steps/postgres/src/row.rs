//! Rows as the tables hold them. One that no job can have, because another program wrote to it, is shown as far as
//! possible.

use atomic_breaker_steps::{Job, JobId, JobRow, Status};
use tokio_postgres::Row;

/// Reads a row of jobs, with the time of the server as `now`.
pub(crate) fn job(row: &Row) -> Job {
    let kept = JobRow {
        kind: row.get("kind"),
        key: row.get("key"),
        step: row.get("step"),
        lane: row.get("lane"),
        state: row.get("state"),
        status: status(row.get("status")),
        failures: count(row.get("failures")),
        due: row.get("due"),
        first_due: row.get("first_due"),
        is_told: row.get("is_told"),
        held_up: count(row.get("held_up")),
        held_since: row.get("held_since"),
        unknown_since: row.get("unknown_since"),
        ..JobRow::default()
    };
    kept.job(JobId::new(row.get("id")), row.get("now"))
}

/// An unknown status is shown as that of a job that no worker can run.
pub(crate) fn status(name: &str) -> Status {
    Status::of(name).unwrap_or(Status::Parked)
}

/// The nearest possible value.
pub(crate) fn count(count: i64) -> u32 {
    u32::try_from(count.max(0)).unwrap_or(u32::MAX)
}
