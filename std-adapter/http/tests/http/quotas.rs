// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time at which a caller's quota is full again, from hostile servers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use atomic_breaker_http::{Failure, HttpClassifier, Outcome, RetryAfter};
use http::StatusCode;

use crate::support::{Random, headers};

/// Sun, 06 Nov 1994 08:49:37 GMT would be no time since 2001: this is Wed, 01 Jan 2025 00:00:00 GMT.
const NOW_SECS: u64 = 1_735_689_600;

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(NOW_SECS)
}

fn ms(hint: Option<Duration>) -> Option<u64> {
    hint.map(|hint| u64::try_from(hint.as_millis()).unwrap())
}

fn quota(fields: &[(&'static str, &str)]) -> Option<u64> {
    ms(RetryAfter::new().read_quota_at(&headers(fields), now()))
}

#[test]
fn each_form_of_a_reset_is_read() {
    for (field, value, expected) in [
        ("retry-after-ms", "1500", Some(1_500)),
        ("retry-after-ms", "0.5", Some(1)),
        ("retry-after-ms", "0.0000000001", Some(1)),
        ("retry-after-ms", "99999999999999999999999", Some(300_000)),
        ("retry-after-ms", "0.0000000000", None),
        ("x-ratelimit-reset-after", "0.0010000000001", Some(2)),
        (
            "x-ratelimit-reset-after",
            "0.9999999999999999999",
            Some(1_000),
        ),
        ("x-ratelimit-reset-after", "1.001", Some(1_001)),
        ("ratelimit", "\"minute\";r=0;t=30", Some(30_000)),
        ("ratelimit", "\"a;b,c\";r=0;t=7", Some(7_000)),
        ("ratelimit", r#""a\"b";r=0;t=7"#, Some(7_000)),
        ("ratelimit", r#""a\";r=0;t=9;\"";r=5;t=7"#, None),
        ("ratelimit", r#""a\\";r=0;t=7, "b";r=0;t=8"#, Some(8_000)),
        ("ratelimit", "\"s\";r=0;t=9, \"d\";r=5;t=4000", Some(9_000)),
        ("ratelimit", "\"s\";r=0;t=9, \"d\";r=0;t=200", Some(200_000)),
        ("ratelimit", "\"s\";r=9, \"d\";r=0;t=20", Some(20_000)),
        ("ratelimit", "\"minute\";r=3;t=30", None),
        ("ratelimit", "\"minute\";r=0", None),
        ("ratelimit", "\"minute\";t=30", None),
        (
            "ratelimit",
            "limit=100, remaining=0, reset=30",
            Some(30_000),
        ),
        ("ratelimit", "limit=100, remaining=2, reset=30", None),
        ("ratelimit", "reset=30", Some(30_000)),
        ("ratelimit-reset", "30", Some(30_000)),
        ("x-ratelimit-reset", "30", Some(30_000)),
        ("x-ratelimit-reset", "1735689630", Some(30_000)),
        ("x-ratelimit-reset", "1735689630500", Some(30_500)),
        ("x-ratelimit-reset", "1735689600", None),
        ("x-ratelimit-reset", "1735689000", None),
        (
            "x-ratelimit-reset",
            "99999999999999999999999999",
            Some(300_000),
        ),
        ("x-rate-limit-reset", "1735689630", Some(30_000)),
        ("x-ratelimit-reset-after", "0.25", Some(250)),
        ("x-ratelimit-reset-requests", "1s", Some(1_000)),
        ("x-ratelimit-reset-tokens", "2m3.5s", Some(123_500)),
        ("x-ratelimit-reset-tokens", "250ms", Some(250)),
        ("x-ratelimit-reset-tokens", "17.5ms", Some(18)),
        ("x-ratelimit-reset-tokens", "90us", Some(1)),
        ("x-ratelimit-reset-tokens", "9h", Some(300_000)),
        ("x-ratelimit-reset-tokens", "0s", None),
    ] {
        assert_eq!(quota(&[(field, value)]), expected, "{field}: {value}");
    }
}

#[test]
fn a_quota_of_which_something_remains_is_not_waited_for() {
    let of = |remaining| {
        quota(&[
            ("x-ratelimit-remaining-requests", remaining),
            ("x-ratelimit-reset-requests", "50s"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "2s"),
        ])
    };
    assert_eq!((of("7"), of("0")), (Some(2_000), Some(50_000)));
}

/// The server's clock is ten minutes fast.
#[test]
fn a_time_of_the_server_is_compared_with_its_own_date() {
    let fields = [
        ("date", "Wed, 01 Jan 2025 00:10:00 GMT"),
        ("x-ratelimit-reset", "1735690215"),
    ];
    assert_eq!(quota(&fields), Some(15_000));
}

#[test]
fn what_the_server_asks_for_comes_first() {
    let fields = [("retry-after", "2"), ("x-ratelimit-reset", "60")];
    assert_eq!(quota(&fields), Some(2_000));
    let fields = [("retry-after", "2"), ("retry-after-ms", "1200")];
    assert_eq!(quota(&fields), Some(1_200));
    for none in ["soon", "0", "0.0"] {
        let fields = [("retry-after", "2"), ("retry-after-ms", none)];
        assert_eq!(quota(&fields), Some(2_000), "{none}");
    }
}

#[test]
fn only_a_429_has_a_quota_and_it_opens_no_breaker() {
    let http = HttpClassifier::new();
    let fields = headers(&[("x-ratelimit-reset", "60")]);
    let response = |status| (status, &fields);
    let limited = response(StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(ms(http.retry_hint(&limited)), Some(60_000));
    assert_eq!(http.response(&limited), Outcome::Ignored);
    let down = response(StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(http.retry_hint(&down), None);
    assert_eq!(http.response(&down), Failure::new().into());
}

#[test]
fn reading_what_a_server_asks_for_does_not_allocate() {
    for (field, value) in [
        ("retry-after", "120"),
        ("retry-after", "Wed, 01 Jan 2025 00:00:30 GMT"),
        ("retry-after", "soon"),
        ("retry-after-ms", "1500"),
        ("retry-after-ms", "1.5"),
        ("x-ratelimit-reset", "1735689630.5"),
        ("x-ratelimit-reset-tokens", "2m3.5s"),
        ("ratelimit", "\"minute\";r=0;t=30"),
    ] {
        let fields = headers(&[(field, value)]);
        let used = allocation_counter::measure(|| {
            let _ = RetryAfter::new().read_quota_at(&fields, now());
        });
        assert_eq!(used.count_total, 0, "{field}: {value}");
    }
}

#[test]
fn junk_is_no_hint_and_never_above_the_limit() {
    let names = [
        "retry-after-ms",
        "ratelimit",
        "ratelimit-reset",
        "x-ratelimit-reset",
        "x-ratelimit-reset-tokens",
    ];
    for junk in [
        "", " ", "-1", "soon", "1.", ".5", "1.2.3", "1e9", "\"", "\"\"\"", ";;;", ",,,", "r=0;t=",
        "t=1;r", "ms", "5x", "1h-1m", "=", "\u{661}s", "NaN", "inf",
    ] {
        for name in names {
            assert_eq!(quota(&[(name, junk)]), None, "{name}: {junk:?}");
        }
    }
    let mut random = Random::new();
    for _ in 0..100_000 {
        let alphabet = b"0123456789.hms\",;=rt uremainingst -";
        let text: String = (0..random.next() % 40)
            .map(|_| char::from(alphabet[(random.next() % alphabet.len() as u64) as usize]))
            .collect();
        let name = names[(random.next() % names.len() as u64) as usize];
        let hint = quota(&[(name, &text)]);
        assert!(
            hint.is_none_or(|ms| (1..=300_000).contains(&ms)),
            "{name}: {text}"
        );
    }
    assert_eq!(quota(&[("ratelimit", &"9".repeat(10_000_000))]), None);
}
