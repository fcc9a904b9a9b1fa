//! Rows, times and numbers as the tables hold them.

use std::time::Duration;

use atomic_breaker_steps::{Job, JobId, Row as Kept, Status, since};
use tokio_postgres::Row;

/// What [`job`] reads of a table named `job`. Times outside the range of microseconds are replaced by nearer ones.
macro_rules! columns {
    () => {
        "job.id, job.kind, job.key, job.step, job.lane, job.state, job.status, job.failures, \
         floor(date_part('epoch', \
             greatest(least(job.due, '200000-01-01'), '0001-01-01') - statement_timestamp()) * 1000)::bigint AS due_ms, \
         floor(date_part('epoch', \
             statement_timestamp() - greatest(least(job.kept, '200000-01-01'), '0001-01-01')) * 1000000)::bigint AS age_us, \
         job.is_told, job.held_up, \
         CASE WHEN job.held_since IS NULL THEN 0 ELSE floor(date_part('epoch', \
             statement_timestamp() - greatest(job.held_since, '0001-01-01')) * 1000000)::bigint END AS held_us, \
         CASE WHEN job.unknown_since IS NULL THEN 0 ELSE floor(date_part('epoch', \
             statement_timestamp() - greatest(job.unknown_since, '0001-01-01')) * 1000000)::bigint END AS unknown_us"
    };
}
pub(crate) use columns;

/// Values in a row that no job can have, in words; NULL if there are none. For a table named `job`.
macro_rules! fault {
    () => {
        "'no job can have what is in its row: ' || nullif(concat_ws(', ', \
             CASE WHEN job.failures NOT BETWEEN 0 AND 4294967295 THEN 'failures ' || job.failures END, \
             CASE WHEN job.held_up NOT BETWEEN 0 AND 4294967295 THEN 'held_up ' || job.held_up END, \
             CASE WHEN job.fence NOT BETWEEN 0 AND 9223372036854775806 THEN 'fence ' || job.fence END, \
             CASE WHEN job.status NOT IN ('waiting', 'running') \
                 THEN 'status ' || quote_literal(job.status) || ' of one that has not ended' END \
         ), '')"
    };
}
pub(crate) use fault;

/// A row that no job can have, because another program wrote to it, is shown as far as possible. The server says how long
/// ago each time is.
pub(crate) fn job(row: &Row) -> Job {
    let since = |column| row.get::<_, Option<i64>>(column).map(|ago| -ago);
    let job = Kept {
        kind: row.get("kind"),
        key: row.get("key"),
        step: row.get("step"),
        lane: row.get("lane"),
        state: row.get("state"),
        status: status(row.get("status")),
        failures: within(row.get("failures")),
        fence: 0,
        due: row.get::<_, i64>("due_ms") * 1_000,
        first_due: -row.get::<_, i64>("age_us"),
        ended: None,
        is_suspect: false,
        is_alone: false,
        is_told: row.get("is_told"),
        held_up: within(row.get("held_up")),
        held_since: since("held_us"),
        unknown_since: since("unknown_us"),
        history: Vec::new(),
        faults: Vec::new(),
    };
    job.job(JobId::new(row.get("id")), 0)
}

/// An unknown status is shown as that of a job that no worker can run.
pub(crate) fn status(name: &str) -> Status {
    Status::of(name).unwrap_or(Status::Parked)
}

/// The nearest possible value.
pub(crate) fn within(count: i64) -> u32 {
    u32::try_from(count.max(0)).unwrap_or(u32::MAX)
}

/// From microseconds; 0 if the clock was set back since.
pub(crate) fn time(micros: i64) -> Duration {
    since(micros, 0)
}
