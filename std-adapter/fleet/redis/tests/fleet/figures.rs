//! What was measured: a line for each figure, and what it may be.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

/// Set by `tests/engines/run`: the file that collects the lines.
const FILE: &str = "ATOMIC_BREAKER_FIGURES";

/// Set by it, too, while it runs what is timed with nothing else: the limits are then those that are promised.
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
        // At once, as other tests write to it.
        file.write_all(line.as_bytes()).unwrap();
    }
}
