// SPDX-License-Identifier: MIT OR Apache-2.0
//! Temporary directories, and other processes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PART: &str = "PART_OF_THE_OTHER_PROCESS";

/// A directory for one test, in memory if possible.
pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() {
            memory.into()
        } else {
            env::temp_dir()
        };
        Self::within(&parent)
    }

    pub(crate) fn within(parent: &Path) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("mapped-test-{}-{number}", process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The task that the parent gave this process, if it is a child.
pub(crate) fn part() -> Option<Vec<String>> {
    let part = env::var(PART).ok()?;
    Some(part.split(' ').map(Into::into).collect())
}

/// This program again, restricted to the named test, in the part of another process.
pub(crate) fn command(test: &str, part: &[&str]) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(PART, part.join(" "))
        .stdout(Stdio::piped());
    command
}

pub(crate) fn other(test: &str, part: &[&str]) -> Child {
    command(test, part).spawn().unwrap()
}

/// The output of a child, between the lines of the test harness.
pub(crate) fn say(words: &str) -> ! {
    println!();
    println!("says {words}");
    process::exit(0);
}

pub(crate) fn heard(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let said = text.lines().find_map(|line| line.strip_prefix("says "));
    said.unwrap_or_else(|| panic!("the other process failed, {}: {text}", output.status))
        .into()
}

/// Waits until this is so, at most ten seconds.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(10), "never {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Numbers that differ from run to run; xorshift (Marsaglia, 2003).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new() -> Self {
        use std::hash::{BuildHasher, RandomState};
        Self(RandomState::new().hash_one(0) | 1)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// Manual changes of a file: the 64-bit word at an index.
pub(crate) fn set_word(path: &Path, index: usize, value: u64) {
    let mut bytes = fs::read(path).unwrap();
    bytes[index * 8..][..8].copy_from_slice(&value.to_ne_bytes());
    write_in_place(path, &bytes);
}

pub(crate) fn word(path: &Path, index: usize) -> u64 {
    let bytes = fs::read(path).unwrap();
    u64::from_ne_bytes(bytes[index * 8..][..8].try_into().unwrap())
}

/// Without a moment in which the file is shorter.
pub(crate) fn write_in_place(path: &Path, bytes: &[u8]) {
    use std::os::unix::fs::FileExt;
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, 0).unwrap();
}

/// Readable by its owner alone, like those of breakers.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}
