//! What is wrong, in words.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use atomic_breaker_std::steps::StoreError;

/// Why a store could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub struct PostgresStoreError(pub(crate) Fault);

/// Why something was not done.
#[derive(Debug)]
pub(crate) enum Fault {
    Postgres(tokio_postgres::Error),
    Slow(Duration),
    TooLong(Duration),
    Vanishes(String),
    Schema(String),
    Connections(usize),
    Limit(Duration),
    Encoding(String),
    Newer { found: usize, known: usize },
    Older { found: usize, oldest: usize },
    Foreign(String),
}

impl PostgresStoreError {
    /// Whether the tables were made by a newer version of this crate.
    pub const fn is_newer(&self) -> bool {
        matches!(self.0, Fault::Newer { .. })
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        Self::new(fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postgres(error) => postgres(error, f),
            Self::Slow(limit) => write!(f, "no answer within {limit:?}: it may be done or not"),
            Self::TooLong(time) => write!(
                f,
                "{time:?} is longer than 100,000 years: take a shorter time"
            ),
            Self::Vanishes(key) => write!(
                f,
                "a job with key {key:?} is there and is not: begin a transaction that reads what was committed"
            ),
            Self::Schema(name) => write!(
                f,
                "{name:?} is no name for the schema: take 1 to 63 of the characters a-z, 0-9 and _, a digit not first"
            ),
            Self::Connections(count) => {
                write!(f, "{count} connections: take 1 to 1,000")
            }
            Self::Limit(limit) => write!(f, "a time limit of {limit:?}: take 100 ms to an hour"),
            Self::Encoding(encoding) => write!(
                f,
                "the database has encoding {encoding}, which cannot hold any text: make one with UTF8"
            ),
            Self::Newer { found, known } => write!(
                f,
                "the tables are of version {found}, and this program knows {known}: update atomic-breaker-postgres, or \
                 take another schema"
            ),
            Self::Older { found, oldest } => write!(
                f,
                "the tables are of version {found}, from before the first release, and this program leads those from version \
                 {oldest} on to its own: finish their jobs with the program that made them, then take another schema"
            ),
            Self::Foreign(schema) => write!(
                f,
                "the tables in schema {schema:?} were not made by this crate: take another schema"
            ),
        }
    }
}

/// The error's own text leaves out the server's message.
fn postgres(error: &tokio_postgres::Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(error) = error.as_db_error() {
        write!(f, "{}", error.message())?;
        if let Some(detail) = error.detail() {
            write!(f, " ({detail})")?;
        }
        return write!(f, " [{}]", error.code().code());
    }
    write!(f, "{error}")?;
    let mut cause = error.source();
    while let Some(error) = cause {
        write!(f, ": {error}")?;
        cause = error.source();
    }
    Ok(())
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Postgres(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for PostgresStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for PostgresStoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
