//! A reader that leaves, and an interrupt.

use super::{error, log};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_atomic-breaker-tune"))
        .args(["-", "--tries", "20"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(log().as_bytes())
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert!(!error(&output).contains("panicked"), "{}", error(&output));
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
}

#[cfg(unix)]
#[test]
fn an_interrupted_search_keeps_the_best_so_far() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_atomic-breaker-tune"))
        .args(["-", "--tries", "1000000", "--threads", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(log().as_bytes())
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    // It has read the log; it is given the time for some settings.
    out.read_line(&mut text).unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    std::io::Read::read_to_string(&mut out, &mut text).unwrap();
    let code = child.wait().unwrap().code();
    assert!(text.contains("tried, then stopped"), "{text}");
    assert!(text.contains("recommended"), "{text}");
    assert_eq!(code, Some(0));
}
