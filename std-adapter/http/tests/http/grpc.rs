// SPDX-License-Identifier: MIT OR Apache-2.0
//! gRPC codes in the head.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use atomic_breaker_http::{
    AtHead, Config, Failure, GrpcClassifier, GrpcCode, Guard, Head, HttpRules, Outcome, Timed,
    UsualErrors, WithCauses, breaker,
};
use atomic_breaker_server::{Classify, Report, Resource};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::support::{ONE, Random, headers, response};

const GRPC: GrpcClassifier = GrpcClassifier::new();
const AT_HEAD: AtHead<GrpcClassifier> = GRPC.at_head();

fn at_head(status: u16, list: &[(&'static str, &str)]) -> Outcome {
    AT_HEAD.classify(&Ok::<_, Infallible>(response(status, list, ())))
}

const fn usual(code: i32) -> Outcome {
    match code {
        1 | 8 => Outcome::Ignored,
        0 | 3 | 5 | 6 | 7 | 9 | 10 | 11 | 12 | 16 => Outcome::Success,
        // 2, 4, 13, 14, 15, and everything that is not a code.
        _ => ONE,
    }
}

#[test]
fn codes_0_to_16_count_as_documented_and_the_rest_is_unknown() {
    for number in -3..200 {
        let text = number.to_string();
        let expected = usual(number);
        let code = GrpcCode::from(number);
        assert_eq!(code.outcome(), expected, "{number}");
        assert_eq!(
            at_head(200, &[("grpc-status", &text)]),
            expected,
            "{number}"
        );
        assert_eq!(
            code as i32,
            if (0..=16).contains(&number) {
                number
            } else {
                2
            }
        );
    }
    assert_eq!(GrpcCode::from(i32::MIN), GrpcCode::Unknown);
    assert_eq!(GrpcCode::from(i32::MAX), GrpcCode::Unknown);
}

#[test]
fn garbage_is_unknown() {
    for text in [
        "",
        " ",
        "00",
        "01",
        "007",
        "017",
        "+1",
        "-1",
        "0 ",
        " 0",
        "1.0",
        "0x0",
        "OK",
        "0,0",
        "99999999999999999999",
        "é",
        "\u{660}",
    ] {
        let headers = headers(&[("grpc-status", text)]);
        assert_eq!(
            GrpcCode::read(&headers),
            Some(GrpcCode::Unknown),
            "{text:?}"
        );
        assert_eq!(at_head(200, &[("grpc-status", text)]), ONE, "{text:?}");
    }
    let mut random = Random::new();
    for _ in 0..100_000 {
        let bytes: Vec<u8> = (0..random.below(4)).map(|_| random.next() as u8).collect();
        let Ok(value) = HeaderValue::from_bytes(&bytes) else {
            continue;
        };
        let mut headers = HeaderMap::new();
        headers.insert("grpc-status", value);
        let code = GrpcCode::read(&headers).expect("there is one");
        let written = (code as i32).to_string();
        assert!(
            code == GrpcCode::Unknown || written.as_bytes() == bytes,
            "{bytes:?}"
        );
    }
}

#[test]
fn an_http_status_is_mapped_where_no_code_is_given() {
    for status in 100..=999 {
        let expected = match status {
            400 => GrpcCode::Internal,
            401 => GrpcCode::Unauthenticated,
            403 => GrpcCode::PermissionDenied,
            404 => GrpcCode::Unimplemented,
            429 | 502 | 503 | 504 => GrpcCode::Unavailable,
            _ => GrpcCode::Unknown,
        };
        let code = GrpcCode::from_http(StatusCode::from_u16(status).unwrap());
        assert_eq!(code, expected, "{status}");
        if status != 200 {
            // The quota of a caller is no outage, whatever the table makes of it, nor is the answer to one request.
            let expected = match status {
                429 | 511 => Outcome::Ignored,
                501 | 505 | 507 => Outcome::Success,
                _ => usual(expected as i32),
            };
            assert_eq!(at_head(status, &[]), expected, "{status}");
            let given = [("grpc-status", "5")];
            assert_eq!(
                at_head(status, &given),
                Outcome::Success,
                "if given, it counts"
            );
        }
    }
}

#[test]
fn a_page_of_a_proxy_is_not_a_response_of_the_server() {
    assert_eq!(at_head(200, &[("content-type", "text/html")]), ONE);
    assert_eq!(at_head(200, &[("content-type", "application/json")]), ONE);
    for kind in [
        "application/grpc",
        "application/grpc+proto",
        "Application/GRPC; x=y",
        "",
    ] {
        assert_eq!(at_head(200, &[("content-type", kind)]), Outcome::Success);
    }
    assert_eq!(at_head(200, &[]), Outcome::Success);
}

#[test]
fn push_back_says_how_long_only_where_the_server_is_unavailable() {
    let pushed = Outcome::Failure(Failure::retry_after(Duration::from_millis(1_500)));
    for code in GrpcCode::ALL {
        let metadata = headers(&[("grpc-retry-pushback-ms", "1500")]);
        let expected = match code {
            GrpcCode::Unavailable => pushed,
            other => usual(other as i32),
        };
        assert_eq!(GRPC.code(code, &metadata), expected, "{code}");
        let plain = usual(code as i32);
        assert_eq!(GRPC.code(code, &HeaderMap::new()), plain, "{code}");
        let deaf = GRPC.max_push_back(Duration::ZERO);
        assert_eq!(deaf.code(code, &metadata), plain, "{code}");
        // Also what is not a 32-bit number, which is a request not to retry rather than a time.
        for value in ["0", "-1", "never", "", "99999999999", "2147483648", "0700"] {
            let metadata = headers(&[("grpc-retry-pushback-ms", value)]);
            assert_eq!(GRPC.code(code, &metadata), plain, "{code} {value:?}");
        }
    }
    let long = headers(&[("grpc-retry-pushback-ms", "2147483647")]);
    let limit = Duration::from_secs(300);
    let clamped = Outcome::Failure(Failure::retry_after(limit));
    assert_eq!(GRPC.code(GrpcCode::Unavailable, &long), clamped);
    assert_eq!(GRPC.retry_hint(&long), Some(limit));
    let ten = Duration::from_secs(10);
    let clamped = Outcome::Failure(Failure::retry_after(ten));
    assert_eq!(
        GRPC.max_push_back(ten).code(GrpcCode::Unavailable, &long),
        clamped
    );
}

#[test]
fn a_proxys_retry_after_says_how_long_and_a_quotas_does_not() {
    let retry = ("retry-after", "9");
    let hinted = Outcome::Failure(Failure::retry_after(Duration::from_secs(9)));
    assert_eq!(at_head(503, &[retry]), hinted);
    assert_eq!(at_head(429, &[retry]), Outcome::Ignored);
    assert_eq!(at_head(502, &[retry]), ONE);
    assert_eq!(
        at_head(503, &[retry, ("grpc-status", "14")]),
        ONE,
        "not a proxy"
    );
    let both = [retry, ("grpc-retry-pushback-ms", "4000")];
    let pushed = Outcome::Failure(Failure::retry_after(Duration::from_secs(4)));
    assert_eq!(at_head(503, &both), pushed);
    let deaf = GRPC.max_push_back(Duration::ZERO).at_head();
    let answer = Ok::<_, Infallible>(response(503, &[retry], ()));
    assert_eq!(deaf.classify(&answer), ONE);
}

#[test]
fn rules_are_replaced() {
    static BY_FUNCTION: GrpcClassifier = GrpcClassifier::new().codes(|_| Outcome::Ignored);

    let grpc = GRPC
        .codes(|code| match code {
            GrpcCode::NotFound => Failure::with_weight(2).into(),
            _ => Outcome::Success,
        })
        .errors(|_: &&str| Outcome::Ignored);
    let answer = response(200, &[("grpc-status", "5")], ());
    let found = grpc.at_head().classify(&Ok::<_, &str>(answer));
    assert_eq!(found, Failure::with_weight(2).into());
    let error = grpc.at_head().classify(&Err::<Response<()>, _>("refused"));
    assert_eq!(error, Outcome::Ignored);
    let busy = headers(&[("grpc-retry-pushback-ms", "4000")]);
    assert_eq!(
        grpc.code(GrpcCode::Unavailable, &busy),
        Outcome::Success,
        "no failure by rule"
    );

    assert_eq!(BY_FUNCTION.code(GrpcCode::Ok, &busy), Outcome::Ignored);
}

/// A handler that fails is not a server that says nothing.
#[test]
fn what_unknown_counts_as_is_no_rule_for_an_answer_without_a_code() {
    let grpc = GRPC.codes(|code| match code {
        GrpcCode::Unknown => Outcome::Success,
        other => other.outcome(),
    });
    for (status, list, expected) in [
        (200, &[("grpc-status", "2")][..], Outcome::Success),
        (200, &[("grpc-status", "99")], Outcome::Success),
        (200, &[("content-type", "text/html")], ONE),
        (500, &[], ONE),
        (500, &[("grpc-status", "2")], Outcome::Success),
        (503, &[], ONE),
    ] {
        let answer = Ok::<_, Infallible>(response(status, list, ()));
        assert_eq!(
            grpc.at_head().classify(&answer),
            expected,
            "{status} {list:?}"
        );
    }
    let Head::Open { without, .. } = grpc.head(&response(200, &[], ())) else {
        panic!("the end of the body decides");
    };
    assert_eq!(without, ONE);
}

#[test]
fn reasons_name_the_code() {
    let reason = |status, list: &[(&'static str, &str)]| {
        let answer = Ok::<_, Infallible>(response(status, list, ()));
        GRPC.reason(&answer)
    };
    assert_eq!(
        reason(200, &[("grpc-status", "14")]).as_deref(),
        Some("grpc UNAVAILABLE")
    );
    assert_eq!(reason(502, &[]).as_deref(), Some("grpc UNAVAILABLE"));
    assert_eq!(reason(200, &[("grpc-status", "5")]), None);
    assert_eq!(reason(200, &[]), None, "not yet");
    let refused = GRPC.reason(&Err::<Response<()>, _>("refused")).unwrap();
    assert_eq!(refused, "transport: refused");
    for code in GrpcCode::ALL {
        let debug = format!("{code:?}").to_uppercase();
        assert_eq!(code.to_string().replace('_', ""), debug);
    }
}

/// The error of tonic's `Channel`: its text does not name the cause.
#[derive(Debug)]
struct TransportError(io::Error);

impl std::fmt::Display for TransportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("transport error")
    }
}

impl std::error::Error for TransportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Below a time limit, as in the example `tonic`.
#[test]
fn the_last_failure_names_the_causes_of_a_channels_error() {
    let server = Resource::new(breaker(Config::new().consecutive_failures(1)));
    let refused = TransportError(io::Error::other("tcp connect error: refused"));
    let result = Err::<Response<String>, _>(Timed::Failed(WithCauses(refused)));
    let grpc = GRPC.errors(UsualErrors).at_end_of_body();
    assert!(grpc.report(server.acquire().unwrap(), result).is_err());
    let last = server.acquire().unwrap_err().last_failure.unwrap();
    let text = "transport: transport error: tcp connect error: refused";
    assert_eq!(&*last.text, text);
}
