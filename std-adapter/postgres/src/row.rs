//! Rows, times and numbers as the tables have them.

use std::time::Duration;

use atomic_breaker_std::steps::{Job, JobId, Status};
use tokio_postgres::Row;

use crate::error::Fault;

/// What [`job`] reads, in this order, of a table named `job`.
macro_rules! columns {
    () => {
        "job.id, job.kind, job.key, job.step, job.lane, job.state, job.status, job.failures, \
         floor(date_part('epoch', job.due - statement_timestamp()) * 1000)::bigint AS due_ms, \
         floor(date_part('epoch', statement_timestamp() - job.kept) * 1000000)::bigint AS age_us, \
         job.is_told"
    };
}
pub(crate) use columns;

pub(crate) fn job(row: &Row) -> Result<Job, Fault> {
    Ok(Job::new(
        JobId::new(row.get("id")),
        row.get("kind"),
        row.get("key"),
        row.get("step"),
        row.get("lane"),
        row.get("state"),
        status(row.get("status"))?,
        u32::try_from(row.get::<_, i64>("failures")).unwrap_or(u32::MAX),
        row.get("due_ms"),
        time(row.get("age_us")),
        row.get("is_told"),
    ))
}

pub(crate) fn status(name: &str) -> Result<Status, Fault> {
    Status::of(name).ok_or_else(|| Fault::Status(name.to_owned()))
}

/// Of microseconds; 0 if the clock was set back since.
pub(crate) fn time(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

const LONGEST: Duration = Duration::from_secs(100_000 * 365 * 24 * 60 * 60);

/// In microseconds, up, so that nothing is early.
pub(crate) fn micros(time: Duration) -> Result<i64, Fault> {
    if time > LONGEST {
        return Err(Fault::TooLong(time));
    }
    Ok(time.as_nanos().div_ceil(1_000) as i64)
}
