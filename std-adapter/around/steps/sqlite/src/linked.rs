// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds out whether the open files of a database are still at their paths: one that was deleted or replaced can be
//! written to for as long as it is open, and is lost then.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Error, Result};

use crate::error::error;

type Inode = (u64, u64);

/// The paths of the database and of its write-ahead log, and the file that was opened at each.
#[derive(Debug)]
pub(crate) struct Files(Vec<(PathBuf, Inode)>);

impl Files {
    /// The files of a connection that has read; none if it is in memory.
    pub(crate) fn of(connection: &Connection) -> Result<Self> {
        let mut files = Vec::new();
        if let Some(path) = connection.path().filter(|path| !path.is_empty()) {
            let mut log = OsString::from(path);
            log.push("-wal");
            for path in [PathBuf::from(path), PathBuf::from(log)] {
                let opened = inode(&path).ok_or_else(|| gone(&path))?;
                files.push((path, opened));
            }
        }
        Ok(Self(files))
    }

    /// Errs if another file is at a path, or none.
    pub(crate) fn check(&self) -> Result<()> {
        let is_gone = |(path, opened): &&(PathBuf, Inode)| inode(path) != Some(*opened);
        match self.0.iter().find(is_gone) {
            Some((path, _)) => Err(gone(path)),
            None => Ok(()),
        }
    }
}

/// The device and the inode. By the path alone: closing another descriptor of the file would end SQLite's locks on it.
#[cfg(unix)]
fn inode(path: &Path) -> Option<Inode> {
    use std::os::unix::fs::MetadataExt;

    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino()))
}

/// Open files cannot be deleted there.
#[cfg(not(unix))]
fn inode(_: &Path) -> Option<Inode> {
    Some((0, 0))
}

fn gone(path: &Path) -> Error {
    error(format!(
        "{} was deleted, moved or replaced while it was open, and what is written now would be lost: put it back, or \
         restart this program",
        path.display()
    ))
}
