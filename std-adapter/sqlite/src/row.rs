//! Rows, times and numbers as the tables hold them.

use std::time::{Duration, SystemTime};

use atomic_breaker_std::steps::{HeldUp, Job, JobId, Status};
use rusqlite::{Error, Result, Row};

/// What [`job`] reads, in this order.
macro_rules! columns {
    () => {
        "id, kind, key, step, lane, state, status, failures, due, kept, is_told, fence, is_suspect, is_alone, \
         held_up, held_since, unknown_since"
    };
}
pub(crate) use columns;

/// A row that no job can have, because another program wrote to it, is shown as far as possible.
pub(crate) fn job(row: &Row<'_>, now: Now) -> Result<Job> {
    Ok(found(row, now)?.0)
}

/// The job, and the values in its row that no job can have.
pub(crate) fn found(row: &Row<'_>, now: Now) -> Result<(Job, Faults)> {
    let mut faults = Faults::default();
    let since = |column| -> Result<Duration> {
        let since: Option<i64> = row.get(column)?;
        Ok(since.map_or(Duration::ZERO, |since| now.since(since)))
    };
    let job = Job::new(
        JobId::new(row.get(0)?),
        faults.text(row, 1, "kind")?,
        faults.text(row, 2, "key")?,
        faults.text(row, 3, "step")?,
        faults.text(row, 4, "lane")?,
        faults.text(row, 5, "state")?,
        faults.status(row, 6)?,
        faults.count(row, 7, "failures")?,
        row.get::<_, i64>(8)?
            .saturating_sub(now.0)
            .div_euclid(1_000),
        now.since(row.get(9)?),
        row.get(10)?,
        HeldUp {
            times: faults.count(row, 14, "held_up")?,
            time: since(15)?,
            unknown: since(16)?,
        },
    );
    Ok((job, faults))
}

/// Values in a row that no job can have, in words.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<String>);

impl Faults {
    pub(crate) fn add(&mut self, words: String) {
        self.0.push(words);
    }

    pub(crate) fn words(&self) -> Option<String> {
        let what = self.0.join(", ");
        (!what.is_empty()).then(|| format!("no job can have what is in its row: {what}"))
    }

    /// The text as far as it is readable.
    fn text(&mut self, row: &Row<'_>, column: usize, name: &str) -> Result<String> {
        let bytes = row.get_ref(column)?.as_bytes()?;
        Ok(std::str::from_utf8(bytes).map_or_else(
            |_| {
                self.add(format!("{name} is not UTF-8"));
                String::from_utf8_lossy(bytes).into_owned()
            },
            str::to_owned,
        ))
    }

    fn status(&mut self, row: &Row<'_>, column: usize) -> Result<Status> {
        let name = text(row, column)?;
        Ok(Status::of(&name).unwrap_or_else(|| {
            self.add(format!("status {name:?}"));
            Status::Parked
        }))
    }

    fn count(&mut self, row: &Row<'_>, column: usize, name: &str) -> Result<u32> {
        let count: i64 = row.get(column)?;
        Ok(u32::try_from(count).unwrap_or_else(|_| {
            self.add(format!("{name} {count}"));
            within(count)
        }))
    }
}

/// The nearest possible value.
pub(crate) fn within(count: i64) -> u32 {
    u32::try_from(count.max(0)).unwrap_or(u32::MAX)
}

/// The text as far as it is readable.
pub(crate) fn text(row: &Row<'_>, column: usize) -> Result<String> {
    let bytes = row.get_ref(column)?.as_bytes()?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// An unknown status is shown as that of a job that no worker can run.
pub(crate) fn status(row: &Row<'_>, column: usize) -> Result<Status> {
    Ok(Status::of(&text(row, column)?).unwrap_or(Status::Parked))
}

/// An error that is not SQLite's.
pub(crate) fn error(words: impl Into<String>) -> Error {
    Error::ToSqlConversionFailure(words.into().into())
}

/// The time, in microseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now(pub(crate) i64);

impl Now {
    /// The clock that all processes of the machine share, and that keeps running while it is off.
    pub(crate) fn get() -> Result<Self> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let since = since.map_err(|_| error("the clock of this machine is before 1970: set it"))?;
        micros(since).map(Self)
    }

    pub(crate) fn plus(self, time: Duration) -> Result<i64> {
        let sum = self.0.checked_add(micros(time)?);
        sum.ok_or_else(|| too_long(time))
    }

    /// `None` for a time so far back that nothing is older.
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
    // Rounded up, so that nothing is early.
    let micros = time.as_nanos().div_ceil(1_000);
    i64::try_from(micros).map_err(|_| too_long(time))
}

fn too_long(time: Duration) -> Error {
    error(format!(
        "{time:?} is longer than 290,000 years: take a shorter time"
    ))
}
