//! The command, as a process.
#![cfg(feature = "command")]

use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder of a test's own.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Ten minutes, 50 calls a second; once a minute it is down, for three to twelve seconds.
fn log() -> String {
    let mut log = String::from("start_ms,duration_ms,outcome,key\n");
    for number in 0..30_000_u64 {
        let second = number / 50;
        let length = 3 + second / 60 * 7 % 10;
        let down = (30..30 + length).contains(&(second % 60));
        let outcome = if down { "timeout" } else { "ok" };
        let _ = writeln!(
            log,
            "{},{},{outcome},db",
            number * 20,
            if down { 300 } else { 10 }
        );
    }
    log
}

fn tune(arguments: &[&str], log: &str) -> Output {
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

#[test]
fn it_reads_searches_prints_writes_and_draws() {
    let folder = folder("whole");
    let path = |name: &str| folder.join(name).display().to_string();
    fs::write(
        path("today.toml"),
        "consecutive_failures = 20\nopen_for_ms = 10000\n",
    )
    .unwrap();
    let output = tune(
        &[
            "-",
            "--tries",
            "100",
            "--today",
            &path("today.toml"),
            "--json",
            &path("out.json"),
            "--picture",
            &path("out.svg"),
        ],
        &log(),
    );
    let text = text(&output);
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    for words in [
        "-: 30,000 calls in 9 min 59 s",
        "outcomes taken for failures: timeout (",
        "10 incidents:",
        "after 30.0 s: 150 of 150 calls in vain within",
        "without a breaker",
        "today's rules",
        "The recommended settings save ",
        // 150 calls of 300 ms.
        "    costs 195 without a breaker, ",
        "On 3 incidents that the search did not know",
        "the better choice if it costs ",
        "Config::new().",
        "jitter_percent = 20",
        "What a replay cannot know",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    // What is printed to be pasted is what the file for machines has.
    let json: Value = serde_json::from_str(&fs::read_to_string(path("out.json")).unwrap()).unwrap();
    assert_eq!(json["tried"], 100);
    assert_eq!(json["incidents"].as_array().unwrap().len(), 10);
    assert!(json["saves"].as_f64() > Some(0.5) && json["is_better_than_none"] == true);
    assert!(json["recommended"]["cost"].as_f64() < json["today"]["cost"].as_f64());
    assert_eq!(json["today"]["settings"]["open_for_ms"], 10_000);
    let open = format!(
        "open_for_ms = {}\n",
        json["recommended"]["settings"]["open_for_ms"]
    );
    assert!(
        text.contains(&open) || open == "open_for_ms = 5000\n",
        "{open}"
    );
    let picture = fs::read_to_string(path("out.svg")).unwrap();
    for words in [
        "<svg",
        "With today&apos;s rules",
        "With the recommended rules",
        "half-open",
    ] {
        assert!(
            picture.contains(words) || picture.contains(&words.replace("&apos;", "'")),
            "{words}"
        );
    }
    // The recommended rules alone, from their file.
    let rules = text
        .lines()
        .skip_while(|line| !line.starts_with("Config::new()"))
        .skip_while(|line| !line.is_empty());
    let rules: Vec<&str> = rules
        .take_while(|line| !line.contains("Others") && !line.contains("memory"))
        .collect();
    fs::write(path("rules.toml"), rules.join("\n")).unwrap();
    let output = tune(&["-", "--only", &path("rules.toml")], &log());
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    assert!(
        self::text(&output).contains("30,000 calls"),
        "{}",
        self::text(&output)
    );
}

#[test]
fn a_log_without_an_incident_ends_with_three() {
    let log: String = log()
        .lines()
        .map(|line| line.replace("timeout", "ok") + "\n")
        .collect();
    let json = folder("nothing").join("out.json");
    let output = tune(&["-", "--json", &json.display().to_string()], &log);
    assert_eq!(output.status.code(), Some(3));
    assert!(!json.exists(), "a file of nothing");
    assert!(
        text(&output).contains("Nothing to recommend: no incident: 0 of 30000 calls"),
        "{}",
        text(&output)
    );
}

#[test]
fn bad_lines_are_shown_and_the_rest_counts() {
    let log = log().replacen("\n0,", "\nnever,", 1);
    let output = tune(&["-", "--tries", "10"], &log);
    assert_eq!(output.status.code(), Some(0));
    let text = text(&output);
    assert!(
        text.contains("1 of 30000 lines were skipped\n  line 2: its start is \"never\""),
        "{text}"
    );
}

#[test]
fn rejections_and_retries_of_the_log_are_told() {
    let log = log()
        .lines()
        .enumerate()
        .map(|(number, line)| match number {
            0 => format!("{line},attempt\n"),
            number if number % 100 == 0 => line.replace(",ok,", ",rejected,") + ",1\n",
            number if number % 50 == 1 => format!("{line},2\n"),
            _ => format!("{line},\n"),
        })
        .collect::<String>();
    let output = tune(&["-", "--tries", "3"], &log);
    let text = text(&output);
    assert!(
        text.contains("\n600 of them are further tries of a request"),
        "{text}"
    );
    assert!(
        text.contains("of them were rejected when the log was written"),
        "{text}"
    );
}

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
            "at least 1us",
        ),
        (
            vec!["-", "--healthy-rejected=-1"],
            2,
            "a weight is at least 0",
        ),
        (vec!["-", "--tries", "0"], 2, "from 1 to 1000000"),
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
fn an_interrupt_keeps_the_best_so_far() {
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
