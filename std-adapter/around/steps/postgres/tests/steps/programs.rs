// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs of a server, and how to start them. The example `registration` uses this file, too.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder in which Debian and others put the programs of the server, the latest version first.
pub(crate) fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let latest = versions
        .map(|each| each.path())
        .max_by_key(|path| number(path));
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = latest.map(|path| path.join("bin")).into_iter().collect();
    folders.extend(std::env::split_paths(&paths));
    folders
        .into_iter()
        .find(|folder| folder.join("initdb").is_file())
}

/// Runs as an ordinary user: the server does not run as root.
pub(crate) fn command(program: &Path) -> Command {
    let is_root = Command::new("id").arg("-u").output();
    if is_root.is_ok_and(|id| id.stdout == b"0\n") {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
        command.arg(program);
        return command;
    }
    Command::new(program)
}
