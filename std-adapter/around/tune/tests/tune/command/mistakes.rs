// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mistakes in options and logs, and what the command says about them.

use super::{error, folder, log, text, tune};
use std::fmt::Write as _;
use std::fs;

#[test]
fn mistakes_are_explained_before_the_work() {
    let folder = folder("mistakes");
    let missing = folder.join("none/out.svg").display().to_string();
    let bad = folder.join("bad.toml").display().to_string();
    fs::write(&bad, "open_for = 7\n").unwrap();
    let none = folder.join("none.csv").display().to_string();
    for (arguments, code, words) in [
        (vec![none.as_str()], 1, "No such file"),
        (vec!["-", "--picture", &missing], 1, "cannot write"),
        (vec!["-", "--today", &bad], 1, "unknown field `open_for`"),
        (
            vec!["-", "--duration", "took"],
            1,
            "no column says the duration (looked for took): name it; found start_ms",
        ),
        (
            vec!["-", "--useful-within", "fast"],
            2,
            "write a number and us, ms, s, m or h",
        ),
        (vec!["-", "--callers", "8"], 2, "--every"),
        (vec!["-", "--callers", "0", "--every", "1ms"], 2, "0"),
        (
            vec!["-", "--every", "0s", "--callers", "1"],
            2,
            "write at least 1us",
        ),
        (
            vec!["-", "--healthy-rejected=-1"],
            2,
            "a weight must be at least 0",
        ),
        (vec!["-", "--tries", "0"], 2, "0 is not in 1..=1000000"),
        (vec![], 2, "<LOG>"),
    ] {
        let output = tune(&arguments, &log());
        let error = error(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?} {error}");
        assert!(error.contains(words), "{arguments:?}\n{error}");
    }
}

/// The calls of [`log`] with other names of columns.
fn named(columns: &str) -> String {
    log().replacen("start_ms,duration_ms,outcome,key", columns, 1)
}

#[test]
fn the_error_of_unknown_columns_has_the_options_to_paste() {
    let log = named("started,took,result,host");
    let output = tune(&["-"], &log);
    let error = error(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    let options = "--start started --duration took --outcome result";
    assert!(error.contains(options), "{error}");
    let mut arguments = vec!["-", "--tries", "3"];
    arguments.extend(options.split(' '));
    let output = tune(&arguments, &log);
    assert_eq!(output.status.code(), Some(0), "{}", self::error(&output));
    // A name that shells or terminals would take for something else is quoted, or left out.
    for (columns, words) in [
        ("begin time,took,result,x", "--start COLUMN --duration took"),
        ("start;time,took,result,x", "--start 'start;time'"),
        ("\u{1b}[2Jstarted,took,result,x", "--start COLUMN"),
        ("started',took,result,x", "--start COLUMN"),
        (
            "a,b,c,d",
            "--start COLUMN --duration COLUMN --outcome COLUMN",
        ),
    ] {
        let error = self::error(&tune(&["-"], &named(columns)));
        assert!(
            error.contains(words) && !error.contains('\u{1b}'),
            "{error:?}"
        );
    }
}

#[test]
fn a_key_that_is_not_read_is_told() {
    let output = tune(
        &["-", "--tries", "3"],
        &named("start_ms,duration_ms,outcome,server"),
    );
    let text = text(&output);
    assert!(
        text.contains("there is one breaker for all: perhaps --key server"),
        "{text}"
    );
}

#[test]
fn seconds_that_would_be_milliseconds_are_refused_or_told() {
    let log = |name: &str| {
        let mut log = format!("{name},duration_ms,outcome\n");
        for second in 0..200 {
            let outcome = if (100..130).contains(&second) {
                "no"
            } else {
                "ok"
            };
            let _ = writeln!(log, "{}.25,1,{outcome}", 1_795_521_600 + second);
        }
        log
    };
    let output = tune(&["-"], &log("timestamp"));
    assert_eq!(output.status.code(), Some(1));
    let error = error(&output);
    assert!(
        error.contains("\n--start-unit s if it is, --unit s if"),
        "{error}"
    );
    let output = tune(&["-", "--tries", "3"], &log("start_ms"));
    assert!(
        text(&output).contains("--start-unit s if it is"),
        "{}",
        text(&output)
    );
    let output = tune(
        &["-", "--tries", "3", "--start-unit", "s"],
        &log("start_ms"),
    );
    let text = text(&output);
    assert!(text.starts_with("-: 200 calls in 3 min 19 s\n"), "{text}");
}

#[test]
fn the_result_is_not_written_over_the_log() {
    let folder = folder("over");
    let [path, other] = ["calls.csv", "./calls.csv"].map(|it| folder.join(it));
    fs::write(&path, log()).unwrap();
    let (path, other) = (path.display().to_string(), other.display().to_string());
    for option in ["--json", "--picture"] {
        let output = tune(&[&path, option, &other, "--tries", "2"], "");
        assert_eq!(output.status.code(), Some(1));
        let error = error(&output);
        assert!(
            error.contains("that is the log, which would be lost"),
            "{error}"
        );
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), log());
}
