// SPDX-License-Identifier: MIT OR Apache-2.0
//! The errors, in words.

use rusqlite::{Error, ErrorCode};

/// An error of SQLite, and how to fix it.
pub(crate) fn words(error: &Error) -> String {
    let advice = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another connection has been writing for 5 s: commit or roll back what is open"
        }
        Some(ErrorCode::DiskFull) => "make room on the disk",
        Some(ErrorCode::ReadOnly) => {
            "give this process the right to write to the file and its folder"
        }
        Some(ErrorCode::CannotOpen) => {
            "its folder must exist, and this process must be able to write there"
        }
        Some(ErrorCode::NotADatabase) => "use another path",
        Some(ErrorCode::DatabaseCorrupt) => "restore the file from a backup",
        _ if error.to_string().contains("no such table: atomic_breaker") => {
            "open a store on this very file first"
        }
        _ => return error.to_string(),
    };
    format!("{error}: {advice}")
}

/// An error that is not SQLite's.
pub(crate) fn error(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::ToSqlConversionFailure(error.into())
}
