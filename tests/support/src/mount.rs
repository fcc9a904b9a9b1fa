// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small file system in memory for one test, if the test may mount one.

use std::path::Path;
use std::process::Command;

const REQUIRED: &str = "ATOMIC_BREAKER_NEEDS_MOUNT";

/// A command that runs the given program with this much space in the folder. Returns `None` if mounting is not allowed:
/// it prints that, and fails if the environment demands the test.
pub fn with_room(size: &str, folder: &Path) -> Option<Command> {
    let tried = command(size, folder).arg("true").output();
    let why = match tried {
        Ok(output) if output.status.success() => return Some(command(size, folder)),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => format!("unshare: {error}"),
    };
    assert!(std::env::var_os(REQUIRED).is_none(), "{why}");
    println!("skipped: needs the right to mount a file system, run tests/engines/run");
    None
}

fn command(size: &str, folder: &Path) -> Command {
    let mut command = Command::new("unshare");
    let user = Command::new("id").arg("-u").output().unwrap();
    if user.stdout != b"0\n" {
        command.arg("--map-root-user");
    }
    let script = "mount -t tmpfs -o \"size=$1\" none \"$2\" && shift 2 && exec \"$@\"";
    command.args(["--mount", "sh", "-c", script, "sh", size]);
    command.arg(folder);
    command
}
