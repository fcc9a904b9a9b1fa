// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logs from files.
#![expect(clippy::format_push_string, reason = "files of a test")]

mod calls;
mod columns;

use atomic_breaker_tune::{Completion, Failure, LogReader, LoggedCall, Outcome, ReadLog};
use std::time::Duration;

pub(crate) const OK: Outcome = Outcome::Success;
pub(crate) const BAD: Outcome = Outcome::Failure(Failure::new());

pub(crate) fn read(file: &str) -> ReadLog {
    LogReader::new().read(file.as_bytes()).unwrap()
}

/// The calls of a file of which no line is skipped.
pub(crate) fn calls(file: &str) -> Vec<LoggedCall> {
    let read = read(file);
    assert_eq!(read.summary.skipped, 0, "{}", read.summary);
    read.log.calls().to_vec()
}

pub(crate) fn call(start_us: u64, outcome: Outcome, duration_us: u64) -> LoggedCall {
    let duration = Duration::from_micros(duration_us);
    LoggedCall::new(start_us, Completion::new(outcome, duration))
}
