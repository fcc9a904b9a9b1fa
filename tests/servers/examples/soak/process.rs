// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system's figures for this process, and a check whether it grows.

use std::fmt;
use std::fs;
use std::time::Duration;

/// The resources that it holds at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    resident_kib: u64,
    files: usize,
    threads: usize,
}

impl Seen {
    pub(crate) fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").expect("a system with /proc");
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let resident = line("VmRSS:").and_then(|it| it.trim().strip_suffix(" kB"));
        let count = |folder: &str| fs::read_dir(folder).expect("a folder").count();
        Self {
            resident_kib: resident.and_then(|it| it.parse().ok()).expect("its memory"),
            files: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            resident_kib,
            files,
            threads,
        } = self;
        write!(f, "{resident_kib} KiB, {files} files, {threads} threads")
    }
}

/// The least that it held in the second quarter of the time, when all that is kept is there, and in the last one. A process
/// that is being started opens files for a moment; what grows is there at all times.
#[derive(Debug)]
pub(crate) struct Growth {
    time: Duration,
    second: Option<Seen>,
    last: Option<Seen>,
}

/// The memory that the allocator and the kernel may take besides.
const SLACK_KIB: u64 = 512;

impl Growth {
    pub(crate) fn new(time: Duration) -> Self {
        Self {
            time,
            second: None,
            last: None,
        }
    }

    pub(crate) fn look(&mut self, elapsed: Duration) {
        let least = match 4 * elapsed.as_millis() / self.time.as_millis() {
            1 => &mut self.second,
            3 => &mut self.last,
            _ => return,
        };
        let now = Seen::now();
        let before = least.unwrap_or(now);
        *least = Some(Seen {
            resident_kib: now.resident_kib.min(before.resident_kib),
            files: now.files.min(before.files),
            threads: now.threads.min(before.threads),
        });
    }

    pub(crate) fn judge(&self) -> Result<String, String> {
        let (Some(second), Some(last)) = (self.second, self.last) else {
            return Err("ended before its time: whether it grows is not known".to_owned());
        };
        let what = format!("at least {second} in the second quarter, {last} in the last");
        let grows = last.resident_kib > second.resident_kib + SLACK_KIB
            || last.files > second.files
            || last.threads > second.threads;
        if grows {
            Err(format!("it grows: {what}"))
        } else {
            Ok(what)
        }
    }
}
