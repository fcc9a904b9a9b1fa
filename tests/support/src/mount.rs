//! A file system of a test's own, in memory and small, where the test may mount one.

use std::path::Path;
use std::process::Command;

const REQUIRED: &str = "ATOMIC_BREAKER_NEEDS_MOUNT";

/// What runs the program that is added, with so much room in the folder. `None` where nothing may be mounted: that is
/// said, and fails where the environment demands it.
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
