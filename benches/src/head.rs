// SPDX-License-Identifier: MIT OR Apache-2.0
//! The head of a page of results: its title, the command that prints it, and the machine.

use std::process::Command;
use std::{fs, thread};

/// Prints the head of the page that `program` prints, in Markdown.
pub fn print(title: &str, program: &str) {
    println!("# {title}\n");
    println!("```console\ncargo run --release -p benches --bin {program}\n```\n");
    println!("{}, default release profile.\n", machine());
}

/// Cores, processor, system and compiler, as far as the system tells (Linux).
fn machine() -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of = |field: &str| {
        let line = processor.lines().find(|line| line.starts_with(field));
        let value = line.and_then(|line| line.split_once(": "));
        value.map_or("unknown", |(_, value)| value)
    };
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let system = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let compiler = Command::new("rustc").arg("--version").output();
    let compiler = compiler.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
    format!(
        "Virtual cores: {cores}, of {} (family {}, model {}); {}; {}",
        of("model name"),
        of("cpu family"),
        of("model\t"),
        system.unwrap_or("unknown system").trim_matches('"'),
        compiler.unwrap_or_else(|_| "unknown compiler".to_owned())
    )
}
