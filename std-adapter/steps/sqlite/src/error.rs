//! What is wrong with a file, in words.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why a file cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub struct SqliteStoreError {
    path: PathBuf,
    fault: Fault,
}

#[derive(Debug)]
pub(crate) enum Fault {
    Sql(rusqlite::Error),
    Newer(usize),
    Other(String),
}

impl SqliteStoreError {
    pub(crate) fn new(path: &Path, fault: Fault) -> Self {
        Self {
            path: path.to_owned(),
            fault,
        }
    }

    /// Whether the file was written by a newer version of this crate.
    pub const fn is_newer(&self) -> bool {
        matches!(self.fault, Fault::Newer(_))
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// An error of SQLite, and how to fix it.
pub(crate) fn words(error: &rusqlite::Error) -> String {
    let advice = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another connection has written for 5 s without an end: commit or roll back what is open"
        }
        Some(ErrorCode::DiskFull) => "make room on the disk",
        Some(ErrorCode::ReadOnly) => {
            "give this process the right to write to the file and its folder"
        }
        Some(ErrorCode::CannotOpen) => {
            "its folder must exist, and this process must be able to write there"
        }
        Some(ErrorCode::NotADatabase) => "take another path",
        Some(ErrorCode::DatabaseCorrupt) => "restore the file from a backup",
        _ if error.to_string().contains("no such table: atomic_breaker") => {
            "open a store on this very file first"
        }
        _ => return error.to_string(),
    };
    format!("{error}: {advice}")
}

impl fmt::Display for SqliteStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match &self.fault {
            Fault::Sql(error) => f.write_str(&words(error)),
            Fault::Newer(version) => write!(
                f,
                "its tables are of version {version}, newer than this program: update atomic-breaker-sqlite, or restore an \
                 older file"
            ),
            Fault::Other(words) => f.write_str(words),
        }
    }
}

impl Error for SqliteStoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.fault {
            Fault::Sql(error) => Some(error),
            _ => None,
        }
    }
}
