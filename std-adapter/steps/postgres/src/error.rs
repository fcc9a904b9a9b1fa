//! What is wrong, in words.

use std::error::Error;
use std::fmt;

use atomic_breaker_steps::StoreError;

/// Why a store could not be made, or did not do what it was asked.
#[derive(Debug)]
#[non_exhaustive]
pub struct PostgresStoreError(Fault);

#[derive(Debug)]
enum Fault {
    Postgres(tokio_postgres::Error),
    Newer(usize),
    Other(String),
}

impl PostgresStoreError {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self(Fault::Other(words.into()))
    }

    /// The tables are of this version, which is newer than the one of this crate.
    pub(crate) const fn newer(version: usize) -> Self {
        Self(Fault::Newer(version))
    }

    /// Whether the tables were made by a newer version of this crate.
    pub const fn is_newer(&self) -> bool {
        matches!(self.0, Fault::Newer(_))
    }
}

impl From<tokio_postgres::Error> for PostgresStoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self(Fault::Postgres(error))
    }
}

/// A time that is too long.
impl From<StoreError> for PostgresStoreError {
    fn from(error: StoreError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<PostgresStoreError> for StoreError {
    fn from(error: PostgresStoreError) -> Self {
        Self::new(error)
    }
}

impl fmt::Display for PostgresStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Fault::Postgres(error) => postgres(error, f),
            Fault::Newer(version) => write!(
                f,
                "the tables are of version {version}, newer than this program: update atomic-breaker-postgres, or take \
                 another schema"
            ),
            Fault::Other(words) => f.write_str(words),
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

impl Error for PostgresStoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Fault::Postgres(error) => Some(error),
            _ => None,
        }
    }
}
