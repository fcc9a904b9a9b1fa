//! Rows, times and numbers as the tables have them.

use std::time::{Duration, SystemTime};

use atomic_breaker_std::steps::{Job, JobId, Status};
use rusqlite::{Error, Result, Row};

/// What [`job`] reads, in this order.
macro_rules! columns {
    () => {
        "id, kind, key, step, lane, state, status, failures, due, kept, is_told, fence, is_suspect, is_alone"
    };
}
pub(crate) use columns;

pub(crate) fn job(row: &Row<'_>, now: Now) -> Result<Job> {
    Ok(Job::new(
        JobId::new(row.get(0)?),
        row.get(1)?,
        row.get(2)?,
        row.get(3)?,
        row.get(4)?,
        row.get(5)?,
        status(row, 6)?,
        row.get(7)?,
        (row.get::<_, i64>(8)? - now.0).div_euclid(1_000),
        now.since(row.get(9)?),
        row.get(10)?,
    ))
}

pub(crate) fn status(row: &Row<'_>, column: usize) -> Result<Status> {
    let name: String = row.get(column)?;
    Status::of(&name).ok_or_else(|| error(format!("a job with status {name:?}, which is none")))
}

/// An error that is not SQLite's.
pub(crate) fn error(words: impl Into<String>) -> Error {
    Error::ToSqlConversionFailure(words.into().into())
}

/// The time, in microseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now(pub(crate) i64);

impl Now {
    /// The clock that all processes of the machine share, and that goes on when it is off.
    pub(crate) fn get() -> Result<Self> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let since = since.map_err(|_| error("the clock of this machine is before 1970: set it"))?;
        micros(since).map(Self)
    }

    pub(crate) fn plus(self, time: Duration) -> Result<i64> {
        let sum = self.0.checked_add(micros(time)?);
        sum.ok_or_else(|| too_long(time))
    }

    /// None so long ago that nothing was.
    pub(crate) fn minus(self, time: Duration) -> Option<i64> {
        self.0.checked_sub(i64::try_from(time.as_micros()).ok()?)
    }

    /// 0 if the clock was set back since.
    pub(crate) fn since(self, then: i64) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(then)).unwrap_or(0))
    }

    /// 0 if it is over.
    pub(crate) fn until(self, then: i64) -> Duration {
        Self(then).since(self.0)
    }
}

fn micros(time: Duration) -> Result<i64> {
    // Up, so that nothing is early.
    let micros = time.as_nanos().div_ceil(1_000);
    i64::try_from(micros).map_err(|_| too_long(time))
}

fn too_long(time: Duration) -> Error {
    error(format!(
        "{time:?} is longer than 290,000 years: take a shorter time"
    ))
}
