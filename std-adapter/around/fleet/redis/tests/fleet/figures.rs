// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measurements: a line for each figure, with its limit.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

/// Set by `tests/engines/run`: the file that collects the lines.
const FILE: &str = "ATOMIC_BREAKER_FIGURES";

/// Also set by it, while it runs the timed tests alone: the promised limits apply then.
const ALONE: &str = "ATOMIC_BREAKER_ALONE";

pub(crate) fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

pub(crate) fn figure(what: &str, value: impl Display, limit: impl Display) {
    let line = format!("{what}: {value} ({limit})\n");
    print!("figure: {line}");
    if let Some(file) = std::env::var_os(FILE) {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(file)
            .unwrap();
        // Written in one call, because other tests write to the file.
        file.write_all(line.as_bytes()).unwrap();
    }
}
