// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workers' log of their probes, and a check that it is consistent.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process;
use std::time::Duration;

/// Nanoseconds, the same in all processes.
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writes.
    let read = unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    assert_eq!(read, 0);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// A file to which many processes append, a line at a time.
pub(crate) struct Log(File);

impl Log {
    pub(crate) fn append(path: &Path) -> Self {
        let mut options = OpenOptions::new();
        Self(options.append(true).create(true).open(path).unwrap())
    }

    fn line(&mut self, line: &str) {
        // Written at once, so that lines of different processes do not mix.
        self.0.write_all(line.as_bytes()).unwrap();
    }

    /// A probe was granted between the two times.
    pub(crate) fn granted(&mut self, asked: u64, granted: u64) {
        self.line(&format!("{} granted {asked} {granted}\n", process::id()));
    }

    /// A probe was reported.
    pub(crate) fn reported(&mut self) {
        self.line(&format!("{} reported {} 0\n", process::id(), now()));
    }

    /// A probe is about to be reported.
    pub(crate) fn reports(&mut self) {
        self.line(&format!("{} reports {} 0\n", process::id(), now()));
    }
}

/// A probe, from when it was surely in flight to when it may have ended; without an end if its process was killed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    asked: u64,
    granted: u64,
    reported: Option<u64>,
    /// The time at which the report was over.
    over: Option<u64>,
}

impl Probe {
    /// Returns whether its report may have come after its round was lost and the other probe was granted: if it was a
    /// success, it has closed the breaker all the same, so that the next trip leads to a probe beside the other one.
    fn is_late_beside(&self, other: &Self, lease: u64) -> bool {
        let is_lost = self.asked + lease <= other.granted;
        is_lost && self.reported.is_some() && self.over.is_none_or(|over| over > other.asked)
    }
}

pub(crate) fn probes(log: &str) -> Vec<Probe> {
    let mut open: HashMap<u32, Probe> = HashMap::new();
    let mut all = Vec::new();
    for line in log.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| fields[index].parse::<u64>().unwrap();
        let pid = number(0) as u32;
        if fields[1] == "granted" {
            let probe = Probe {
                asked: number(2),
                granted: number(3),
                reported: None,
                over: None,
            };
            // This probe began before and was never reported: a process with the same number was killed.
            all.extend(open.insert(pid, probe));
        } else if let Some(probe) = open.get_mut(&pid) {
            match fields[1] {
                "reports" => probe.reported = Some(number(2)),
                _ => probe.over = Some(number(2)),
            }
        }
    }
    all.extend(open.into_values());
    all.sort_by_key(|probe| probe.granted);
    all
}

/// The number of probes that were never reported.
pub(crate) fn lost(probes: &[Probe]) -> usize {
    probes
        .iter()
        .filter(|probe| probe.reported.is_none())
        .count()
}

/// The longest time between the grants of two probes.
pub(crate) fn longest_pause(probes: &[Probe]) -> Duration {
    let pauses = probes.windows(2).map(|two| two[1].granted - two[0].granted);
    Duration::from_nanos(pauses.max().unwrap_or(u64::MAX))
}

/// Pairs of probes that were in flight at the same time although only one may be: the later one was granted before the
/// earlier one reported, and before it could be presumed lost; unless a late success may have closed the breaker meanwhile.
pub(crate) fn together(probes: &[Probe], lease: Duration) -> Vec<[Probe; 2]> {
    // The clock of the breakers counts whole milliseconds.
    let lease = lease.as_nanos() as u64 - 2_000_000;
    let mut found = Vec::new();
    for (index, one) in probes.iter().enumerate() {
        let until = one.reported.unwrap_or(u64::MAX).min(one.asked + lease);
        let others = probes[index + 1..].iter();
        let late = probes[..index]
            .iter()
            .filter(|it| it.is_late_beside(one, lease))
            .filter_map(|it| it.reported)
            .min();
        found.extend(
            others
                .take_while(|other| other.granted < until)
                .filter(|other| late.is_none_or(|late| late > other.granted))
                .map(|other| [*one, *other]),
        );
    }
    found
}

/// The check of the log itself: it must find what the storm looks for.
#[test]
fn two_probes_at_a_time_are_seen() {
    let lease = Duration::from_millis(10);
    let ms = |number: u64| number * 1_000_000;
    let log = |second: u64| {
        let (a, b) = (ms(100), ms(second));
        let end = ms(150);
        format!("1 granted {a} {a}\n2 granted {b} {b}\n1 reports {end} 0\n")
    };
    let seen = |second| together(&probes(&log(second)), lease).len();
    assert_eq!([seen(101), seen(107), seen(109), seen(151)], [1, 1, 0, 0]);
    assert_eq!(lost(&probes(&log(101))), 1);
}

/// A worker that was held up for longer than the lease succeeds after another one was granted a probe.
#[test]
fn a_late_success_explains_two_probes_at_a_time() {
    let lease = Duration::from_millis(10);
    let log = |reports: u64, over: u64| {
        let at = |pid: u32, what: &str, ms: u64| format!("{pid} {what} {0} {0}\n", ms * 1_000_000);
        [
            at(1, "granted", 100),
            at(2, "granted", 111),
            at(1, "reports", reports),
            at(1, "reported", over),
            at(3, "granted", 117),
            at(2, "reports", 119),
        ]
        .concat()
    };
    let seen = |reports, over| together(&probes(&log(reports, over)), lease).len();
    assert_eq!([seen(112, 113), seen(109, 113)], [0, 0]);
    // It was over before the second was granted, or begins after the third was.
    assert_eq!([seen(105, 106), seen(118, 119)], [1, 1]);
}
