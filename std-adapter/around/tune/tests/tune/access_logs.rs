// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logs of proxies, and spans.
#![expect(clippy::format_push_string, reason = "a file of a test")]

use atomic_breaker_tune::{Failure, LogReader, LoggedCall, Outcome, ReadLog};

use std::time::Duration;

fn read(file: &str) -> ReadLog {
    LogReader::new().read(file.as_bytes()).unwrap()
}

/// Start in milliseconds, its outcome, its duration in milliseconds, its key, whether it is a retry.
fn shown(read: &ReadLog) -> Vec<(u64, Outcome, u128, &str, bool)> {
    let show = |call: &LoggedCall| {
        let completion = call.completion();
        let took = Duration::from_micros(completion.duration_us.into()).as_millis();
        let key = read.log.keys()[call.key as usize].as_ref();
        (
            call.start_us / 1_000,
            completion.outcome,
            took,
            key,
            call.is_retry(),
        )
    };
    read.log.calls().iter().map(show).collect()
}

const OK: Outcome = Outcome::Success;
const BAD: Outcome = Outcome::Failure(Failure::new());

#[test]
fn each_upstream_of_nginx_is_a_call() {
    let file = "\
        msec=1795521600.350 request_time=0.350 upstream=10.0.0.1:80, 10.0.0.2:80 status=502, 200 time=0.250, 0.100\n\
        msec=1795521600.400 request_time=0.000 upstream=- status=- time=-\n\
        msec=1795521601.000 request_time=0.010 upstream=unix:/run/a.sock : 10.0.0.2:80 status=404 : 504 time=0.004 : 0.006\n\
        msec=1795521602.000 request_time=1.000 upstream=10.0.0.1:80 status=- time=-\n\
        msec=1795521603.000 request_time=1.000 upstream=10.0.0.1:80 status=200\n";
    let read = read(file);
    let expected = [
        (0, BAD, 250, "10.0.0.1:80", false),
        (250, OK, 100, "10.0.0.2:80", true),
        (990, OK, 4, "unix:/run/a.sock", false),
        (994, BAD, 6, "10.0.0.2:80", true),
        // Its caller has left, at the end of the request.
        (1_000, Outcome::Ignored, 1_000, "10.0.0.1:80", false),
    ];
    assert_eq!(shown(&read), expected);
    assert_eq!(read.summary.skipped, 1);
    assert!(
        read.summary.to_string().contains("line 5: has no time="),
        "{}",
        read.summary
    );
}

#[test]
fn a_group_of_nginx_without_live_upstreams_is_no_resource() {
    // Both refuse, and are then left alone for ten seconds: the group's name stands where an address would.
    let mut file = String::new();
    for number in 0..40 {
        let (upstreams, statuses, times) = match number {
            10 => ("10.0.0.1:80, [::1]:80", "502, 502", "0.001, 0.001"),
            11..20 => ("backend", "502", "0.000"),
            20 => ("unix:/run/a.sock, backend", "502, 502", "0.001, 0.000"),
            _ => ("10.0.0.1:80", "200", "0.004"),
        };
        file += &format!(
            "msec={} request_time=0.004 upstream={upstreams} status={statuses} time={times}\n",
            1_795_521_600 + number
        );
    }
    let read = read(&file);
    let keys = ["10.0.0.1:80", "[::1]:80", "backend", "unix:/run/a.sock"];
    assert_eq!(read.log.keys(), keys.map(Box::from));
    let calls = read.log.calls();
    let failed = calls.iter().filter(|call| call.completion().outcome == BAD);
    assert_eq!(failed.count(), 3);
    let rejected: Vec<&LoggedCall> = calls.iter().filter(|call| call.was_rejected()).collect();
    assert_eq!(rejected.len(), 10);
    assert!(rejected.iter().all(|call| call.key == 2));
    // Nothing is known of what they would have met; where all share a breaker, their neighbours met it.
    assert!(
        rejected
            .iter()
            .all(|call| call.completion().outcome == Outcome::Ignored)
    );
    let joined = LogReader::new().one_key().read(file.as_bytes()).unwrap();
    let outcome = |number: usize| joined.log.calls()[number].completion().outcome;
    assert_eq!([11, 12, 20, 23].map(outcome), [BAD, BAD, BAD, OK]);
}

#[test]
fn callers_that_left_are_calls_that_were_cancelled() {
    let nginx = "msec=10.5 request_time=3.000 upstream=10.0.0.1:80 status=- time=3.000\n\
        msec=11.5 request_time=3.000 upstream=10.0.0.1:80 status=499 time=3.000\n";
    let csv = "start_ms,duration_ms,status\n7500,3000,499\n8500,3000,cancelled\n";
    let span = |start: &str, end: &str| {
        format!(
            r#"{{"kind":3,"startTimeUnixNano":"{start}","endTimeUnixNano":"{end}","attributes":[{{"key":"rpc.grpc.status_code","value":{{"intValue":1}}}}],"status":{{"code":2}}}}"#
        )
    };
    let otlp = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{},{}]}}]}}]}}"#,
        span("7500000000", "10500000000"),
        span("8500000000", "11500000000")
    );
    let envoy = ["10.5", "11.5"].map(|at| {
        format!("[{at}] \"GET / HTTP/2\" 0 DC 0 0 3000 - \"-\" \"-\" \"-\" \"a\" \"10.0.2.1:80\"\n")
    });
    for file in [nginx, csv, &otlp, &envoy.concat()] {
        let calls = read(file).log.calls().to_vec();
        assert_eq!(calls.len(), 2, "{file}");
        for call in calls {
            assert!(call.completion().is_cancelled, "{file}");
            assert_eq!(call.completion().outcome, Outcome::Ignored, "{file}");
            assert_eq!(call.completion().duration_us, 3_000_000, "{file}");
        }
    }
}

#[test]
fn flags_of_envoy_decide_before_the_status() {
    let line = |time: &str, status: &str, flags: &str, upstream: &str, id: &str| {
        format!(
            "[2026-11-24T12:00:{time}Z] \"POST /api/v1 HTTP/2\" {status} {flags} 154 0 226 100 \"10.0.35.28\" \"a b\" \"{id}\" \"shop.example\" \"{upstream}\"\n"
        )
    };
    let file = [
        line("00.000", "204", "-", "tcp://10.0.2.1:80", "a"),
        line("01.000", "503", "UF,URX", "tcp://10.0.2.1:80", "b"),
        line("01.500", "504", "UT", "tcp://10.0.2.1:80", "b"),
        line("02.000", "0", "DC", "-", "c"),
        line("03.000", "503", "UO", "tcp://10.0.2.1:80", "-"),
        line("04.000", "404", "-", "tcp://10.0.2.1:80", "-"),
        line("05.000", "503", "UH", "-", "-"),
        line("06.000", "503", "NC", "-", "-"),
        "[2026-11-24T12:00:05Z] \"GET\n".to_owned(),
    ]
    .concat();
    let read = read(&file);
    let upstream = "tcp://10.0.2.1:80";
    let expected = [
        (0, OK, 226, upstream, false),
        (1_000, BAD, 226, upstream, false),
        (1_500, BAD, 226, upstream, true),
        (2_000, Outcome::Ignored, 226, "shop.example", false),
        // It would have met what its neighbour met.
        (3_000, OK, 226, upstream, false),
        (4_000, OK, 226, upstream, false),
        // No host was healthy, so none was called; nor was one that has no cluster.
        (5_000, Outcome::Ignored, 226, "shop.example", false),
        (6_000, Outcome::Ignored, 226, "shop.example", false),
    ];
    assert_eq!(shown(&read), expected);
    let rejected = |number: usize| read.log.calls()[number].was_rejected();
    assert_eq!(
        [3, 4, 5, 6, 7].map(rejected),
        [false, true, false, true, false]
    );
    assert!(
        read.summary
            .to_string()
            .contains("line 9: has a \" without an end")
    );
}

#[test]
fn spans_of_clients_are_calls() {
    let span = |kind: &str, from: u64, until: u64, more: &str| {
        format!(
            r#"{{"kind":{kind},"startTimeUnixNano":"{}","endTimeUnixNano":{},"attributes":[{{"key":"server.address","value":{{"stringValue":"db"}}}}{more}]}}"#,
            1_795_521_600_000_000_000 + from * 1_000_000,
            1_795_521_600_000_000_000 + until * 1_000_000
        )
    };
    let status = |code: &str| {
        format!(r#",{{"key":"http.response.status_code","value":{{"intValue":"{code}"}}}}"#)
    };
    let grpc = r#",{"key":"rpc.grpc.status_code","value":{"intValue":14}}"#;
    let resent = r#",{"key":"http.request.resend_count","value":{"intValue":"1"}}"#;
    let batch = |spans: &[String]| {
        let spans = spans.join(",");
        format!(r#"{{"resourceSpans":[{{"resource":{{}},"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#)
            + "\n"
    };
    let file = [
        batch(&[
            span("3", 0, 20, &status("200")),
            span("2", 1, 5, ""),
            span("\"SPAN_KIND_CLIENT\"", 10, 15, &status("503")),
        ]),
        batch(&[
            span("3", 20, 30, grpc),
            span("3", 40, 50, &format!("{resent}{}", status("404"))),
        ]),
        batch(&[span("1", 0, 1, "")]),
        batch(&[span("3", 60, 50, "")]),
        batch(&[r#"{"kind":3,"startTimeUnixNano":"1795521600070000000","endTimeUnixNano":"1795521600071000000","status":{"code":"STATUS_CODE_ERROR"}}"#.to_owned()]),
    ]
    .concat();
    let read = read(&file);
    let expected = [
        (0, OK, 20, "db", false),
        (10, BAD, 5, "db", false),
        (20, BAD, 10, "db", false),
        (40, OK, 10, "db", true),
        (70, BAD, 1, "", false),
    ];
    assert_eq!(shown(&read), expected);
    assert_eq!(
        read.summary.first,
        [(4, "a duration is -10000000 ns".to_owned())]
    );
}

#[test]
fn codes_of_rpc_and_sql_and_ports_are_read_from_spans() {
    let span = |name: &str, value: &str| {
        format!(
            r#"{{"kind":3,"startTimeUnixNano":"5","endTimeUnixNano":"6","status":{{"code":2}},"attributes":[{{"key":"{name}","value":{{"stringValue":"{value}"}}}}]}}"#
        )
    };
    let (rpc, sql) = ("rpc.response.status_code", "db.response.status_code");
    for (name, value, outcome) in [
        (rpc, "UNAVAILABLE", BAD),
        (rpc, "14", BAD),
        (rpc, "NOT_FOUND", OK),
        (rpc, "5", OK),
        (rpc, "RESOURCE_EXHAUSTED", Outcome::Ignored),
        (rpc, "CANCELLED", Outcome::Ignored),
        (sql, "23505", OK),
        (sql, "40001", OK),
        (sql, "57P01", BAD),
        (sql, "53300", BAD),
        (sql, "25006", BAD),
        (sql, "XX000", Outcome::Ignored),
        // Of another database: the status of the span decides.
        (sql, "1040", BAD),
    ] {
        let span = span(name, value);
        let read = read(&format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span}]}}]}}]}}"#
        ));
        assert_eq!(shown(&read)[0].1, outcome, "{name} {value}");
    }
    let port = r#"},{"key":"server.port","value":{"intValue":"5432"}}]"#;
    let span = span("server.address", "db").replace("}]", port);
    let read = read(&format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span}]}}]}}]}}"#
    ));
    assert_eq!(shown(&read)[0].3, "db:5432");
}

#[test]
fn a_span_that_is_wrong_takes_none_of_its_batch_with_it() {
    let span = |from: u64, until: u64| {
        format!(r#"{{"kind":3,"startTimeUnixNano":"{from}","endTimeUnixNano":"{until}"}}"#)
    };
    let spans = [span(1_000, 2_000), span(9_000, 1_000), span(3_000, 5_000)].join(",");
    let file = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#);
    let read = read(&file);
    assert_eq!(read.log.calls().len(), 2);
    assert_eq!(
        read.summary.first,
        [(1, "a duration is -8000 ns".to_owned())]
    );
}

#[test]
fn connections_of_tcp_that_envoy_made_are_successes() {
    let line = |at: u32, flags: &str| {
        format!(
            "[2016-04-15T20:17:0{at}.000Z] \"- - -\" 0 {flags} 9 8 30 - \"-\" \"-\" \"-\" \"-\" \"10.0.2.1:5432\"\n"
        )
    };
    let read = read(&(line(0, "-") + &line(1, "UF,URX") + &line(2, "-")));
    let outcomes: Vec<_> = shown(&read).into_iter().map(|it| it.1).collect();
    assert_eq!((outcomes, read.summary.skipped), (vec![OK, BAD, OK], 0));
    // Of HTTP, no status is no answer.
    let http = line(0, "-").replace("- - -", "GET / HTTP/2");
    assert_eq!(self::read(&http).log.calls()[0].completion().outcome, BAD);
}
