// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reader that leaves, and an interrupt.

use super::{error, log, started};
use std::io::{BufRead, BufReader};
use std::process::ChildStdout;

/// The output of a command that has read its log, and the first line of it.
fn first_line(out: Option<ChildStdout>) -> (BufReader<ChildStdout>, String) {
    let (mut out, mut line) = (BufReader::new(out.unwrap()), String::new());
    out.read_line(&mut line).unwrap();
    (out, line)
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let (mut child, _) = started(&["-", "--tries", "20"], &log());
    let (out, _) = first_line(child.stdout.take());
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert!(!error(&output).contains("panicked"), "{}", error(&output));
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
}

#[cfg(unix)]
#[test]
fn an_interrupted_search_keeps_the_best_so_far() {
    let (mut child, _) = started(&["-", "--tries", "1000000", "--threads", "1"], &log());
    let (mut out, mut text) = first_line(child.stdout.take());
    // It is given the time for some settings.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let id = child.id().to_string();
    let kill = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(kill.unwrap().success());
    std::io::Read::read_to_string(&mut out, &mut text).unwrap();
    let code = child.wait().unwrap().code();
    assert!(text.contains("tried, then stopped"), "{text}");
    assert!(text.contains("recommended"), "{text}");
    assert_eq!(code, Some(0));
}
