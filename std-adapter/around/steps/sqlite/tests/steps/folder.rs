// SPDX-License-Identifier: MIT OR Apache-2.0
//! A folder for the files of a test, gone with it.

use std::path::{Path, PathBuf};

use atomic_breaker_steps_sqlite::SqliteStore;

pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let name = format!("atomic-breaker-steps-sqlite-{:x}", fastrand::u64(..));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.join("jobs.db")
    }

    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::open(self.path()).unwrap()
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
