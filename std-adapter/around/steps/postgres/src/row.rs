// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rows as the tables hold them. A row that no job can have, because another program wrote to it, is shown as far as
//! possible.

use atomic_breaker_steps::{Job, JobId, JobRow};
use tokio_postgres::Row;

/// Reads a row of jobs.
pub(crate) fn row(row: &Row) -> (JobId, JobRow) {
    let mut faults = Vec::new();
    let job = JobRow {
        kind: row.get("kind"),
        key: row.get("key"),
        step: row.get("step"),
        lane: row.get("lane"),
        state: row.get("state"),
        status: JobRow::status(row.get("status"), &mut faults),
        failures: JobRow::count("failures", row.get("failures"), &mut faults),
        fence: row.get("fence"),
        due: row.get("due"),
        first_due: row.get("first_due"),
        ended: row.get("ended"),
        is_suspect: row.get("is_suspect"),
        is_alone: row.get("is_alone"),
        is_told: row.get("is_told"),
        is_unparked: row.get("is_unparked"),
        held_up: JobRow::count("held_up", row.get("held_up"), &mut faults),
        held_since: row.get("held_since"),
        unknown_since: row.get("unknown_since"),
        history: Vec::new(),
        faults,
    };
    (JobId::new(row.get("id")), job)
}

/// Reads a row of jobs, with the time of the server as `now`.
pub(crate) fn job(found: &Row) -> Job {
    let (id, row) = row(found);
    row.job(id, found.get("now"))
}
