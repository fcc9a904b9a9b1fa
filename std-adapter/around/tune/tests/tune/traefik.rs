// SPDX-License-Identifier: MIT OR Apache-2.0
//! Access logs as Traefik writes them.

use atomic_breaker_tune::{Column, Failure, LogFormat, LogReader, LoggedCall, Outcome, ReadLog};

const OK: Outcome = Outcome::Success;
const BAD: Outcome = Outcome::Failure(Failure::new());

/// A line of Traefik 3, with these fields before and after.
fn line(status: &str, service: &str, seconds: &str) -> String {
    format!(
        r#"{{"ClientAddr":"172.19.0.1:58094","ClientHost":"172.19.0.1","ClientPort":"58094","ClientUsername":"-","DownstreamContentSize":50,{status},"RequestAddr":"shop.example","RequestContentSize":0,"RequestCount":991,"RequestHost":"shop.example","RequestMethod":"GET","RequestPath":"/api/logs","RequestPort":"-","RequestProtocol":"HTTP/1.1","RequestScheme":"http","RetryAttempts":0,"RouterName":"shop@docker",{service}"StartLocal":"2026-08-25T17:44:{seconds}Z","StartUTC":"2026-08-25T17:44:{seconds}Z","entryPointName":"web","level":"info","msg":"","time":"2026-08-25T17:44:29Z"}}"#
    ) + "\n"
}

const SERVICE: &str = r#""ServiceAddr":"10.0.1.12:80","ServiceName":"shop@docker","ServiceURL":{"Scheme":"http","Opaque":"","User":null,"Host":"10.0.1.12:80","Path":""},"#;

/// Start and duration in microseconds, the outcome, and the key.
fn shown(read: &ReadLog) -> Vec<(u64, u32, Outcome, &str)> {
    let show = |call: &LoggedCall| {
        let completion = call.completion();
        let key = read.log.keys()[call.key as usize].as_ref();
        (
            call.start_us,
            completion.duration_us,
            completion.outcome,
            key,
        )
    };
    read.log.calls().iter().map(show).collect()
}

fn file() -> String {
    let fast = r#""DownstreamStatus":200,"Duration":2031842,"OriginContentSize":50,"OriginDuration":1927842,"OriginStatus":200,"Overhead":104000"#;
    let refused = r#""DownstreamStatus":502,"Duration":1100000,"OriginContentSize":11,"OriginDuration":1000000,"OriginStatus":502,"Overhead":100000"#;
    let slow = r#""DownstreamStatus":504,"Duration":30000100000,"OriginContentSize":15,"OriginDuration":30000000000,"OriginStatus":504,"Overhead":100000"#;
    let no_route = r#""DownstreamStatus":404,"Duration":73890,"OriginContentSize":0,"OriginDuration":0,"OriginStatus":0,"Overhead":73890"#;
    [
        line(fast, SERVICE, "29.274072471"),
        line(refused, SERVICE, "30.274072471"),
        line(no_route, "", "31.000000000"),
        line(slow, SERVICE, "31.274072471"),
        line(fast, SERVICE, "32.274072471"),
    ]
    .concat()
}

#[test]
fn durations_of_traefik_are_nanoseconds_and_those_of_the_service() {
    let read = LogReader::new().read(file().as_bytes()).unwrap();
    let server = "10.0.1.12:80";
    let expected = [
        (0, 1_927, OK, server),
        (999_996, 1_000, BAD, server),
        (1_999_996, 30_000_000, BAD, server),
        (3_000_000, 1_927, OK, server),
    ];
    assert_eq!(shown(&read), expected);
    assert_eq!((read.summary.lines, read.summary.skipped), (5, 0));
}

/// As people write them who read what the fields are called.
#[test]
fn columns_of_traefik_that_are_named_are_in_nanoseconds_as_well() {
    let reader = LogReader::new()
        .column(Column::Duration, "Duration")
        .column(Column::Outcome, "DownstreamStatus")
        .column(Column::Key, "RouterName");
    let read = reader.read(file().as_bytes()).unwrap();
    let key = "shop@docker";
    let expected = [
        (0, 2_031, OK, key),
        (1_000_000, 1_100, BAD, key),
        (2_000_000, 30_000_100, BAD, key),
        (3_000_000, 2_031, OK, key),
    ];
    assert_eq!(shown(&read), expected);
}

#[test]
fn the_common_format_of_traefik_is_read_in_milliseconds() {
    let line = |at: &str, status: &str, server: &str, took: &str| {
        format!(
            "172.19.0.1 - - [{at}] \"GET /api/logs HTTP/1.1\" {status} 50 \"-\" \"a \"b\" c\" 991 \"shop@docker\" \"{server}\" {took}\n"
        )
    };
    let server = "http://10.0.1.12:80";
    let file = [
        line("25/Aug/2026:17:44:29 +0000", "200", server, "2ms"),
        line("25/Aug/2026:17:44:30 +0000", "502", server, "0ms"),
        line("25/Aug/2026:17:44:30 +0000", "404", "-", "0ms"),
        line("25/Aug/2026:19:44:31 +0200", "504", server, "30000ms"),
        line("25/Foo/2026:19:44:31 +0200", "200", server, "1ms"),
        // The end of one month and the beginning of another.
        line("25/anF/2026:19:44:31 +0200", "200", server, "1ms"),
    ]
    .concat();
    let read = LogReader::new().read(file.as_bytes()).unwrap();
    let server = "10.0.1.12:80";
    let expected = [
        (0, 2_000, OK, server),
        (1_000_000, 0, BAD, server),
        (2_000_000, 30_000_000, BAD, server),
    ];
    assert_eq!(shown(&read), expected);
    let words = read.summary.to_string();
    assert!(
        read.summary.skipped == 2 && words.contains("line 5: its start is"),
        "{words}"
    );
    // It can be said as well.
    let reader = LogReader::new().format(LogFormat::Traefik);
    let said = reader.read(file.as_bytes()).unwrap();
    assert_eq!(shown(&said), expected);
}
