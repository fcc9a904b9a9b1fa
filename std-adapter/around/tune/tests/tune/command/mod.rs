// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command, as a process.

mod leaving;
mod mistakes;
mod result;
mod traefik;

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;

/// A folder of a test's own.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Twenty minutes, 25 calls a second; every two minutes it is down, for 6 to 24 seconds.
fn log() -> String {
    let mut log = String::from("start_ms,duration_ms,outcome,key\n");
    for number in 0..30_000_u64 {
        let second = number / 25;
        let length = 2 * (3 + second / 120 * 7 % 10);
        let down = (30..30 + length).contains(&(second % 120));
        let outcome = if down { "timeout" } else { "ok" };
        let _ = writeln!(
            log,
            "{},{},{outcome},db",
            number * 40,
            if down { 300 } else { 10 }
        );
    }
    log
}

/// The command, and the thread that writes the log to it.
fn started(arguments: &[&str], log: &str) -> (Child, JoinHandle<()>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_atomic-breaker-tune"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let log = log.to_owned();
    // A command that ends early leaves its input unread.
    let writing = std::thread::spawn(move || drop(input.write_all(log.as_bytes())));
    (child, writing)
}

fn tune(arguments: &[&str], log: &str) -> Output {
    let (child, writing) = started(arguments, log);
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    output
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn error(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
