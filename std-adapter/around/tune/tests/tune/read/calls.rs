// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of a log, and the calls that they describe.

use super::{BAD, OK, call, calls, read};
use atomic_breaker_tune::{
    Column, Completion, Failure, LogReader, LogStream, LoggedCall, Outcome, ReadError, TimeUnit,
};
use std::io::{self, BufRead, BufReader, Read};
use std::time::Duration;

#[test]
fn columns_are_found_by_their_names_in_any_order() {
    let file = "key,outcome,duration_ms,start_ms\r\na,ok,1.5,1000\r\n\r\nb,failed,20,1000.25\na,OK,3,1001\n";
    let expected = [
        call(0, OK, 1_500),
        call(250, BAD, 20_000).key(1),
        call(1_000, OK, 3_000),
    ];
    assert_eq!(calls(file), expected);
    assert_eq!(read(file).log.keys(), ["a".into(), "b".into()]);
    let quoted = "\u{feff}\"start_ms\",\"outcome\", duration_ms ,note\n5,\"ok\",1,\"a, b\"\"c\"\n";
    assert_eq!(calls(quoted), [call(0, OK, 1_000)]);
}

#[test]
fn units_are_those_of_the_names_or_of_the_reading() {
    for (file, unit) in [
        (
            "start_s,duration_s,outcome\n1700000000.000001,0.25,ok\n1700000000.5,2,ok",
            TimeUnit::Millis,
        ),
        (
            "start_us,duration_us,outcome\n1700000000000001,250000,ok\n1700000000500000,2000000,ok",
            TimeUnit::Seconds,
        ),
        (
            "start_ns,duration_ns,outcome\n1700000000000001000,250000000,ok\n1700000000500000000,2000000000,ok",
            TimeUnit::Seconds,
        ),
        (
            "start,duration,outcome\n1700000000.000001,0.25,ok\n1700000000.5,2,ok",
            TimeUnit::Seconds,
        ),
        (
            "timestamp,duration_ms,outcome\n2023-11-14T22:13:20.000001Z,250,ok\n2023-11-15T00:13:20.5+02:00,2e3,ok",
            TimeUnit::Nanos,
        ),
    ] {
        let read = LogReader::new().unit(unit).read(file.as_bytes()).unwrap();
        let expected = [call(0, OK, 250_000), call(499_999, OK, 2_000_000)];
        assert_eq!(read.log.calls(), expected, "{file}");
    }
}

#[test]
fn lines_may_be_in_any_order_and_calls_overlap() {
    let file = "start_ms,duration_ms,outcome\n500,10,ok\n0,900,ok\n250,1,failure\n";
    let expected = [
        call(0, OK, 900_000),
        call(250_000, BAD, 1_000),
        call(500_000, OK, 10_000),
    ];
    assert_eq!(calls(file), expected);
}

#[test]
fn outcomes_are_words_or_statuses() {
    let outcomes = [
        ("ok", OK),
        ("Success", OK),
        ("true", OK),
        ("200", OK),
        ("302", OK),
        ("404", OK),
        ("408", BAD),
        ("429", Outcome::Ignored),
        ("0", BAD),
        ("000", BAD),
        ("-1", BAD),
        ("500", BAD),
        ("501", OK),
        ("505", OK),
        ("507", OK),
        ("511", Outcome::Ignored),
        ("599", BAD),
        ("timeout", BAD),
        ("slow", BAD),
        ("ERROR", BAD),
        ("false", BAD),
        ("ignored", Outcome::Ignored),
    ];
    for (word, outcome) in outcomes {
        let file = format!("start_ms,duration_ms,outcome\n0,0,{word}\n");
        assert_eq!(calls(&file), [call(0, outcome, 0)], "{word}");
    }
    for word in ["cancelled", "canceled", "499"] {
        let file = format!("start_ms,duration_ms,outcome\n0,0,{word}\n");
        let left = LoggedCall::new(0, Completion::cancelled(Duration::ZERO));
        assert_eq!(calls(&file), [left], "{word}");
    }
}

#[test]
fn words_that_are_taken_for_failures_are_listed() {
    let mut file = String::from("start_ms,duration_ms,outcome\n");
    for number in 0..100 {
        let outcome = ["ok", "okay", "refused", "504"][number % 4];
        file += &format!("{number},1,{outcome}\n");
    }
    for number in 0..40 {
        file += &format!("{number},1,error{number}\n");
    }
    let read = read(&file);
    assert_eq!(
        read.log
            .calls()
            .iter()
            .filter(|call| call.completion().outcome == BAD)
            .count(),
        115
    );
    let words = &read.summary.failures;
    assert_eq!((words.found().len(), words.others()), (20, 23));
    let shown = words.to_string();
    assert!(
        shown.starts_with("okay (25), refused (25), 504 (25), error0 (1), "),
        "{shown}"
    );
    assert!(shown.ends_with(" and 23 others"), "{shown}");
}

#[test]
fn what_a_breaker_rejected_ends_as_its_neighbour_did() {
    let file =
        "start_ms,duration_ms,outcome\n0,5,failure\n10,,rejected\n900,0,rejected\n1000,7,ok\n";
    let calls = calls(file);
    assert!(calls[1].was_rejected() && calls[2].was_rejected());
    assert_eq!(
        (calls[1].completion(), calls[2].completion()),
        (calls[0].completion(), calls[3].completion())
    );
}

#[test]
fn retries_are_marked_or_recognised() {
    let file = "start_ms,duration_ms,outcome,attempt,request_id\n0,1,failed,1,a\n1,1,failed,2,\n2,1,ok,1,b\n3,1,ok,,a\n4,1,ok,,\n";
    let retries: Vec<bool> = calls(file).iter().map(LoggedCall::is_retry).collect();
    assert_eq!(retries, [false, true, false, true, false]);
    // Only the last 65,536 requests are remembered.
    let mut file = String::from("start_ms,duration_ms,outcome,request\n");
    for number in 0..100_000 {
        file += &format!("{number},1,ok,{number}\n");
    }
    file += "100000,1,ok,99999\n100001,1,ok,0\n";
    let calls = calls(&file);
    let retries: Vec<usize> = (0..calls.len())
        .filter(|it| calls[*it].is_retry())
        .collect();
    assert_eq!(retries, [100_000]);
}

#[test]
fn a_retry_after_is_kept() {
    let file = "start_ms,duration_ms,outcome,retry_after_s\n0,1,503,2.5\n1,1,ok,9\n";
    let asked = Failure::retry_after(Duration::from_millis(2_500)).into();
    let limited = Completion::new(asked, Duration::from_millis(1));
    assert_eq!(calls(file)[0].completion(), limited);
    assert_eq!(calls(file)[1].completion().outcome, OK);
}

#[test]
fn json_lines_are_recognised_and_read() {
    let file = r#"
        {"start_ms": 5, "duration_ms": 1.5, "outcome": "ok", "key": "a", "more": [1, {}]}
        {"outcome": 503, "duration_ms": "2", "start_ms": 6.5e0, "key": null}
    "#;
    let mut calls = calls(file);
    assert_eq!(calls.remove(0), call(0, OK, 1_500));
    assert_eq!(calls, [call(1_500, BAD, 2_000).key(1)]);
    let nested = r#"{"http": {"status": true, "took": 3}, "at": "2026-01-01T00:00:00Z"}"#;
    let reading = LogReader::new()
        .column(Column::Start, "at")
        .column(Column::Outcome, "http.status")
        .column(Column::Duration, "http.took");
    let read = reading.read(nested.as_bytes()).unwrap();
    assert_eq!(read.log.calls(), [call(0, OK, 3_000)]);
}

#[test]
fn one_key_joins_the_calls_of_all_keys() {
    let file = "start_ms,duration_ms,outcome,key\n0,1,ok,a\n1,1,ok,b\n";
    let read = LogReader::new().one_key().read(file.as_bytes()).unwrap();
    assert!(read.log.calls().iter().all(|call| call.key == 0));
    assert!(read.log.keys().is_empty());
}

#[test]
fn bad_lines_are_counted_and_shown_with_their_numbers() {
    let file = "start_ms,duration_ms,outcome\n\
        0,1,ok\nNaN,1,ok\n2,-1,ok\n3,inf,ok\n4,1,?\n5,1\n6,4300000,ok\n\
        1e30,1,ok\n9223372036854775807,1,ok\n10,1,999\n11,0x10,ok\n12,1,\n";
    let read = read(file);
    assert_eq!(read.log.calls().len(), 1);
    assert_eq!((read.summary.skipped, read.summary.lines), (11, 12));
    let shown = read.summary.to_string();
    for line in [
        "11 of 12 lines were skipped",
        "line 3: its start is \"NaN\", which is not a time",
        "line 4: a duration is \"-1\"",
        "line 5: \"inf\" is not a duration",
        "line 6: its outcome is \"?\": write ok, failure, ignored, rejected or a status of HTTP",
        "line 7: has no outcome",
        "line 8: took longer than 71 minutes",
        "line 10: began more than a century before or after the first call",
        "line 11: 999 is not a status of HTTP",
        "and 1 more",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
}

#[test]
fn a_log_without_what_is_needed_is_refused_with_what_is_missing() {
    let error = |file: &str| {
        LogReader::new()
            .read(file.as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(error(""), "the log is empty");
    assert_eq!(error("\n \n"), "the log is empty");
    assert_eq!(
        error("start_ms,outcome,took\n0,ok,1\n"),
        "no column says the duration (looked for duration_ms, duration_s, duration_us, duration_ns, duration): name it; \
         found start_ms, outcome, took; perhaps took is the duration"
    );
    assert!(error("{\"a\": 1}").contains("found a"));
    let only_bad = "start_ms,duration_ms,outcome\nx,1,ok\n";
    assert!(error(only_bad).starts_with("no line is a call: 1 of 1 lines"));
    assert!(error("start_ms,duration_ms,outcome\n").starts_with("no line is a call"));
    let named = LogReader::new().column(Column::Key, "server");
    let error = named
        .read("start_ms,duration_ms,outcome\n".as_bytes())
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no column says the key (looked for server): name it")
    );
}

#[test]
fn a_stream_gives_the_calls_of_the_log_in_order() {
    // As a server writes it: when calls end.
    let mut random = fastrand::Rng::with_seed(5);
    let mut lines: Vec<(u64, String)> = (0..200_000_u64)
        .map(|number| {
            let took = random.u64(..2_000);
            (
                number + took,
                format!("{number},{took},ok,{}\n", number % 7),
            )
        })
        .collect();
    lines.sort();
    let file: String = lines.into_iter().map(|(_, line)| line).collect();
    let file = format!("start_ms,duration_ms,outcome,key\n{file}");
    let whole = read(&file);
    let mut stream = LogReader::new().stream(file.as_bytes()).unwrap();
    let streamed: Vec<LoggedCall> = stream.by_ref().collect();
    assert_eq!(streamed.len(), whole.log.calls().len());
    let times = |calls: &[LoggedCall]| {
        calls
            .iter()
            .map(|call| (call.start_us, call.completion()))
            .collect::<Vec<_>>()
    };
    assert!(times(&streamed) == times(whole.log.calls()));
    assert_eq!(stream.end().unwrap().skipped, 0);
}

#[test]
fn what_comes_too_late_for_a_stream_is_counted() {
    let mut file = String::from("start_ms,duration_ms,outcome\nx,1,ok\n");
    for number in 0..LogStream::<&[u8]>::WINDOW + 10 {
        file += &format!("{},1,ok\n", number + 100);
    }
    file += "1,1,ok\n2,1,ok\n";
    let mut stream = LogReader::new().stream(file.as_bytes()).unwrap();
    assert_eq!(stream.by_ref().count(), LogStream::<&[u8]>::WINDOW + 10);
    let summary = stream.end().unwrap();
    assert_eq!((summary.skipped, summary.late), (3, 2));
    assert_eq!(
        summary.to_string(),
        "3 of 65549 lines were skipped\n  line 2: its start is \"x\", which is not a time\n  \
         2 came too late: the stream was past them"
    );
}

#[test]
fn an_error_of_the_file_is_not_the_end_of_the_log() {
    struct Breaks(bool);
    impl Read for Breaks {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Err(io::Error::other("the disk is gone"));
            }
            let text = b"start_ms,duration_ms,outcome\n0,1,ok\n";
            buffer[..text.len()].copy_from_slice(text);
            Ok(text.len())
        }
    }
    let input = || BufReader::new(Breaks(false));
    let error = LogReader::new().read(input()).unwrap_err();
    assert!(matches!(error, ReadError::Io(_)), "{error}");
    let mut stream = LogReader::new().stream(input()).unwrap();
    assert_eq!(stream.by_ref().count(), 1);
    assert!(stream.end().is_err());
    assert!(input().fill_buf().is_ok());
}
