// SPDX-License-Identifier: MIT OR Apache-2.0
//! Columns of a log: which there are in a line, what they are called, and in which unit.

use super::{OK, call, calls, read};
use atomic_breaker_tune::{
    Column, Completion, Failure, LogReader, LoggedCall, ReadError, TimeUnit,
};
use std::time::Duration;

#[test]
fn missing_columns_are_named_with_those_that_may_be_meant() {
    let error = |file: &str| LogReader::new().read(file.as_bytes()).unwrap_err();
    for file in [
        "started,took,result,host\n0,1,ok,a\n",
        "{\"started\": 0, \"took\": 1, \"result\": \"ok\", \"host\": \"a\"}\n",
    ] {
        let ReadError::NoColumn {
            missing, guesses, ..
        } = error(file)
        else {
            panic!("{file}")
        };
        let missing: Vec<Column> = missing.into_iter().map(|(column, _)| column).collect();
        assert_eq!(missing, [Column::Start, Column::Duration, Column::Outcome]);
        let guesses: Vec<&str> = guesses.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(guesses, ["started", "took", "result"]);
    }
    // A key that is called otherwise is no error, but it is told.
    let read = read("start_ms,duration_ms,Latency_ms,outcome,Upstream-Addr\n0,1,1,ok,a\n");
    let key = (Column::Key, "Upstream-Addr".to_owned());
    assert_eq!(read.summary.guesses, [key]);
}

#[test]
fn names_of_columns_are_shown_without_terminal_commands() {
    let mut file = "\u{1b}]0;owned\u{7}\u{1b}[2J,\u{202e}took,".to_owned() + &"x".repeat(5_000);
    for number in 0..10_000 {
        file += &format!(",c{number}");
    }
    let json = format!("{{{:?}: 1}}\n", "\u{1b}[2J").replace("\\u{1b}", "\\u001b");
    for file in [file, json] {
        let error = LogReader::new().read(file.as_bytes()).unwrap_err();
        let shown = error.to_string();
        assert!(
            !shown.contains(['\u{1b}', '\u{7}', '\u{202e}']),
            "{shown:?}"
        );
        assert!(shown.contains("\\u{1b}") && shown.len() < 1_500, "{shown}");
    }
}

#[test]
fn unix_time_in_seconds_is_not_silently_read_as_milliseconds() {
    let file = |start: &str| {
        let mut file = format!("{start},duration_ms,outcome\n");
        for number in 0..100 {
            file += &format!("{}.5,1,ok\n", 1_795_521_600 + number);
        }
        file
    };
    let error = LogReader::new().read(file("time").as_bytes()).unwrap_err();
    let ReadError::Unit(unit) = &error else {
        panic!("{error}")
    };
    assert_eq!(unit.seems, TimeUnit::Seconds);
    assert_eq!(
        error.to_string(),
        "the first call's start is 1795521600.5: Unix time of this century, if it is in seconds, but it is read in \
         milliseconds: say which unit it is"
    );
    let unnamed = file("time");
    let mut stream = LogReader::new().stream(unnamed.as_bytes()).unwrap();
    assert_eq!(stream.by_ref().count(), 0);
    assert!(matches!(stream.end(), Err(ReadError::Unit(_))));
    // A name that says milliseconds may be right: a device that has been up for three weeks.
    let named = read(&file("start_ms"));
    assert_eq!(named.summary.unit.as_ref(), Some(unit));
    assert_eq!(named.log.calls()[99].start_us, 99_000);
    // Said, it is neither doubted nor does it change the unit of durations.
    for (said, last) in [(TimeUnit::Seconds, 99_000_000), (TimeUnit::Millis, 99_000)] {
        for name in ["time", "start_ms"] {
            let reading = LogReader::new().start_unit(said);
            let read = reading.read(file(name).as_bytes()).unwrap();
            assert_eq!(read.summary.unit, None);
            let calls = read.log.calls();
            assert_eq!(
                (calls[99].start_us, calls[99].completion().duration_us),
                (last, 1_000)
            );
        }
    }
    // Other counts and times are what they are.
    for start in ["0", "86400000", "1795521600000", "2026-11-24T12:00:00Z"] {
        let file = format!("time,duration_ms,outcome\n{start},1,ok\n");
        assert_eq!(read(&file).summary.unit, None, "{start}");
    }
}

#[test]
fn each_line_of_json_has_columns_of_its_own() {
    // Neither the key nor the time until a retry are in the first line, and units change.
    let file = r#"
        {"start_ms": 0, "duration_ms": 1, "outcome": "ok"}
        {"start_ms": 1, "duration_s": 0.5, "status": 503, "host": "a", "retry_after_s": 2}
        {"msg": "a line of another kind", "time": "2026-01-01T00:00:00Z"}
        {"start_us": 2000, "duration_us": 7, "outcome": "ok", "key": "b", "attempt": 2}
    "#;
    let read = read(file);
    assert_eq!(read.summary.first, [(4, "has no outcome".to_owned())]);
    assert_eq!(read.log.keys(), ["".into(), "a".into(), "b".into()]);
    let asked = Failure::retry_after(Duration::from_secs(2)).into();
    let limited = Completion::new(asked, Duration::from_millis(500));
    let expected = [
        call(0, OK, 1_000),
        LoggedCall::new(1_000, limited).key(1),
        call(2_000, OK, 7).key(2).retry(),
    ];
    assert_eq!(read.log.calls(), expected);
}

#[test]
fn a_column_that_was_named_must_be_in_some_line_of_json() {
    let file = "{\"start_ms\":0,\"duration_ms\":1,\"outcome\":\"ok\"}\n\
        {\"start_ms\":1,\"duration_ms\":1,\"outcome\":\"ok\",\"server\":\"a\"}\n\
        {\"start_ms\":2,\"duration_ms\":1,\"outcome\":\"ok\",\"server\":{\"name\":\"b\"}}\n";
    let named = |name: &str| {
        let reading = LogReader::new().column(Column::Key, name);
        reading.read(file.as_bytes())
    };
    let read = named("server").unwrap();
    assert_eq!(read.log.keys(), ["".into(), "a".into()]);
    assert_eq!(
        read.summary.first,
        [(3, "its key is a list or an object".to_owned())]
    );
    let error = named("upstream").unwrap_err().to_string();
    assert!(error.contains("no column says the key"), "{error}");
    // An object beneath a usual name, as some servers write their requests, is another thing.
    let caddy = r#"{"start_ms": 0, "duration_ms": 1, "status": 200, "request": {"uri": "/"}}"#;
    assert_eq!(calls(caddy), [call(0, OK, 1_000)]);
}

#[test]
fn a_log_whose_starts_have_two_units_is_refused_with_words() {
    let file = |starts: [&str; 3], unit: &str| {
        let lines = starts.map(|start| format!("{start},5,ok\n")).concat();
        format!("start{unit},duration_ms,outcome\n{lines}")
    };
    let (seconds, millis) = ("1795521600", "1795521600250");
    for (starts, unit) in [
        ([millis, millis, seconds], "_ms"),
        ([seconds, millis, seconds], "_ms"),
        ([seconds, seconds, millis], "_s"),
    ] {
        let error = LogReader::new()
            .read(file(starts, unit).as_bytes())
            .unwrap_err();
        assert!(matches!(error, ReadError::Mixed { .. }), "{error}");
        let words = error.to_string();
        assert!(
            words.contains("but the first one is in") && words.contains("give all lines one unit"),
            "{words}"
        );
    }
    // The time since a start, in nanoseconds, passes numbers that are times of now in other units.
    let since = file(["1500000000", "1500000000000", "1500000000000000"], "_ns");
    assert_eq!(
        LogReader::new()
            .read(since.as_bytes())
            .unwrap()
            .log
            .calls()
            .len(),
        3
    );
}

#[test]
fn times_of_nginx_and_caddy_in_json_are_ends_in_seconds() {
    let nginx = "{\"msec\":\"1795521600.350\",\"request_time\":\"0.250\",\"status\":\"200\"}\n\
        {\"msec\":\"1795521601.000\",\"request_time\":\"0.500\",\"status\":\"502\"}\n";
    let iso = nginx
        .replace("msec", "time_iso8601")
        .replace("1795521600.350", "2026-11-24T12:00:00.350Z")
        .replace("1795521601.000", "2026-11-24T13:00:01.000+01:00");
    let caddy = "{\"ts\":1795521600.35,\"duration\":0.25,\"status\":200,\"request\":{\"host\":\"a\"}}\n\
        {\"ts\":1795521601,\"duration\":0.5,\"status\":502,\"request\":{\"host\":\"a\"}}\n";
    for (start, duration, file) in [
        ("msec", "request_time", nginx),
        ("time_iso8601", "request_time", &iso),
        ("ts", "duration", caddy),
    ] {
        let reader = LogReader::new()
            .column(Column::Start, start)
            .column(Column::Duration, duration);
        let read = reader.read(file.as_bytes()).unwrap();
        let failed = Completion::new(Failure::new().into(), Duration::from_millis(500));
        let expected = [call(0, OK, 250_000), LoggedCall::new(400_000, failed)];
        assert_eq!(read.log.calls(), expected, "{start}");
        assert_eq!(read.summary.ends.as_deref(), Some(start));
    }
    // Unless another unit is said.
    let reader = LogReader::new()
        .column(Column::Start, "ts")
        .start_unit(TimeUnit::Seconds)
        .unit(TimeUnit::Millis);
    let read = reader.read(caddy.as_bytes()).unwrap();
    assert_eq!(read.log.calls()[0], call(0, OK, 250));
}
