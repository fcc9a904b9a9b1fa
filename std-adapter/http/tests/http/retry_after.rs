// SPDX-License-Identifier: MIT OR Apache-2.0
//! `Retry-After` and push-back from hostile servers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use atomic_breaker_http::{GrpcClassifier, HttpClassifier, RetryAfter};
use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue};

use crate::support::{Random, headers};

/// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
const NOW_SECS: u64 = 784_111_777;
const LIMIT: Duration = RetryAfter::DEFAULT_LIMIT;

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(NOW_SECS)
}

fn hint(value: &str) -> Option<Duration> {
    RetryAfter::new().read_at(&headers(&[("retry-after", value)]), now())
}

#[expect(clippy::unnecessary_wraps, reason = "what is compared is an option")]
fn secs(secs: u64) -> Option<Duration> {
    Some(Duration::from_secs(secs))
}

#[test]
fn seconds_are_read_and_everything_else_is_no_hint() {
    for (value, expected) in [
        ("1", secs(1)),
        ("120", secs(120)),
        ("299", secs(299)),
        ("300", secs(300)),
        ("301", Some(LIMIT)),
        ("007", secs(7)),
        (" 7\t", secs(7)),
        ("4294967296", Some(LIMIT)),
        ("18446744073709551615", Some(LIMIT)),
        ("18446744073709551616", Some(LIMIT)),
        ("99999999999999999999999999999999999999999999", Some(LIMIT)),
        ("0", None),
        ("000", None),
        ("", None),
        ("   ", None),
        ("-1", None),
        ("-0", None),
        ("+1", None),
        ("1.5", None),
        ("1,5", None),
        ("1, 2", None),
        ("1 2", None),
        ("1e3", None),
        ("0x10", None),
        ("1s", None),
        ("soon", None),
        ("NaN", None),
        ("inf", None),
        ("\u{661}", None),
        ("\u{a0}1", None),
        ("é", None),
    ] {
        assert_eq!(hint(value), expected, "{value:?}");
    }
    for junk in [&b"\xff\xfe"[..], b"1\xff", b"\x801"] {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_bytes(junk).unwrap());
        assert_eq!(RetryAfter::new().read_at(&headers, now()), None);
    }
}

#[test]
fn values_of_ten_megabytes_are_passed_over() {
    for unit in ["9", " ", "Sun, ", "a"] {
        let value = unit.repeat(10_000_000 / unit.len());
        assert_eq!(hint(&value), None);
    }
    let padded = |bytes: usize| hint(&format!("{}1", " ".repeat(bytes - 1)));
    assert_eq!(padded(65), None, "as documented: above 64 bytes");
    assert_eq!(padded(64), secs(1));
}

#[test]
fn dates_of_all_three_forms_count_from_now_on() {
    for value in [
        "Sun, 06 Nov 1994 08:49:47 GMT",
        "Sunday, 06-Nov-94 08:49:47 GMT",
        "Sun Nov  6 08:49:47 1994",
    ] {
        assert_eq!(hint(value), secs(10), "{value}");
    }
    for (value, expected) in [
        ("Sun, 06 Nov 1994 08:49:38 GMT", secs(1)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 1994 08:49:36 GMT", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", Some(LIMIT)),
        ("Mon, 06 Nov 1994 08:49:47 GMT", None),
        ("Sun, 06 Nov 1994 08:49:60 GMT", None),
        ("Sun, 06 Nov 1994 24:00:00 GMT", None),
        ("Thu, 31 Feb 2000 00:00:00 GMT", None),
        ("Sun, 06 Nov 1994 08:49:47 CET", None),
        ("Sun, 06 Nov 0000 08:49:47 GMT", None),
        ("Sun, 06 Nov 1969 08:49:47 GMT", None),
        ("1994-11-06T08:49:47Z", None),
    ] {
        assert_eq!(hint(value), expected, "{value}");
    }
}

#[test]
fn a_date_counts_from_the_servers_own_date() {
    // The server's clock is a year ahead.
    let retry = "Mon, 06 Nov 1995 08:49:47 GMT";
    for (date, expected) in [
        ("Mon, 06 Nov 1995 08:49:37 GMT", secs(10)),
        ("Mon, 06 Nov 1995 08:50:37 GMT", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", Some(LIMIT)),
        // No date: the local clock counts.
        ("yesterday", Some(LIMIT)),
        ("", Some(LIMIT)),
    ] {
        let headers = headers(&[("date", date), ("retry-after", retry)]);
        let hint = RetryAfter::new().read_at(&headers, now());
        assert_eq!(hint, expected, "{date}");
    }
    // Seconds do not depend on clocks.
    let headers = headers(&[("date", "garbage"), ("retry-after", "5")]);
    assert_eq!(RetryAfter::new().read_at(&headers, now()), secs(5));
}

#[test]
fn of_several_headers_the_longest_counts_and_garbage_is_passed_over() {
    for (values, expected) in [
        (&["5", "10"][..], secs(10)),
        (&["10", "5"], secs(10)),
        (&["garbage", "5"], secs(5)),
        (&["5", "-1", "0", ""], secs(5)),
        (&["5", "Sun, 06 Nov 1994 08:49:47 GMT"], secs(10)),
        (&["99999999999999999999", "1"], Some(LIMIT)),
        (&["0", "0"], None),
    ] {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(RETRY_AFTER, value.parse().unwrap());
        }
        let hint = RetryAfter::new().read_at(&headers, now());
        assert_eq!(hint, expected, "{values:?}");
    }
}

#[test]
fn the_systems_clock_counts_where_no_other_does() {
    let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(100));
    let hint = RetryAfter::new().read(&headers(&[("retry-after", &soon)]));
    assert!(hint > secs(60) && hint <= secs(100), "{hint:?}");
}

#[test]
fn times_before_1970_and_after_9999_do_not_panic() {
    let retry = headers(&[("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT")]);
    for now in [
        UNIX_EPOCH - Duration::from_secs(1 << 40),
        UNIX_EPOCH + Duration::from_secs(1 << 40),
    ] {
        let hint = RetryAfter::new().read_at(&retry, now);
        assert_eq!(hint.is_some(), now < UNIX_EPOCH);
    }
}

#[test]
fn push_back_is_milliseconds_or_a_request_not_to_retry() {
    let after = |ms| Some(Duration::from_millis(ms));
    let never = None;
    for (value, expected) in [
        ("0", None),
        ("1", after(1)),
        ("2500", after(2_500)),
        ("300000", after(300_000)),
        ("300001", after(300_000)),
        ("2147483647", after(300_000)),
        ("2147483648", never),
        ("99999999999", never),
        ("99999999999999999999999", never),
        ("007", never),
        ("-1", never),
        ("", never),
        ("1.5", never),
        ("soon", never),
        ("é", never),
    ] {
        let headers = headers(&[("grpc-retry-pushback-ms", value)]);
        assert_eq!(RetryAfter::new().push_back(&headers), expected, "{value:?}");
    }
    assert_eq!(RetryAfter::new().push_back(&HeaderMap::new()), None);
    let name = "grpc-retry-pushback-ms";
    for (two, expected) in [(["7", "9"], after(9)), (["7", "-1"], None)] {
        let headers = headers(&two.map(|value| (name, value)));
        assert_eq!(RetryAfter::new().push_back(&headers), expected, "{two:?}");
    }
}

#[test]
fn a_server_that_asks_not_to_try_again_is_not_asked_again() {
    let hint = |values: &[&str]| {
        let all: Vec<_> = values
            .iter()
            .map(|value| ("grpc-retry-pushback-ms", *value))
            .collect();
        GrpcClassifier::new().retry_hint(&headers(&all))
    };
    assert_eq!(hint(&[]), None);
    assert_eq!(hint(&["0"]), None);
    assert_eq!(hint(&["2500"]), Some(Duration::from_millis(2_500)));
    for refuses in ["-1", "", "soon", "1.5", "2147483648", "007"] {
        assert_eq!(hint(&[refuses]), Some(Duration::MAX), "{refuses:?}");
        assert_eq!(hint(&["7", refuses]), Some(Duration::MAX), "{refuses:?}");
    }
}

/// Bytes that look a little like what is expected.
fn value(random: &mut Random) -> Vec<u8> {
    const SEEDS: [&[u8]; 6] = [
        b"Sun, 06 Nov 1994 08:49:37 GMT",
        b"Wednesday, 06-Nov-94 08:49:37 GMT",
        b"Sun Nov  6 08:49:37 1994",
        b"120",
        b"18446744073709551615",
        b"",
    ];
    let mut bytes = SEEDS[random.below(SEEDS.len())].to_vec();
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len() + 1);
        let byte = match random.below(3) {
            0 => b'0' + random.below(10) as u8,
            1 => b' ' + random.below(95) as u8,
            _ => random.next() as u8,
        };
        match random.below(3) {
            0 => bytes.insert(at, byte),
            1 if at < bytes.len() => bytes[at] = byte,
            _ => bytes.truncate(at),
        }
    }
    bytes
}

#[test]
fn random_headers_never_panic_and_never_pass_the_limit() {
    let mut random = Random::new();
    let classifiers = [
        HttpClassifier::new(),
        HttpClassifier::new().trip_on_429(true),
    ];
    let mut hints = 0_u32;
    for _ in 0..300_000 {
        let mut response = http::Response::new(());
        *response.status_mut() = [429, 503][random.below(2)].try_into().unwrap();
        for name in [RETRY_AFTER, RETRY_AFTER, DATE] {
            if let Ok(value) = HeaderValue::from_bytes(&value(&mut random)) {
                response.headers_mut().append(name, value);
            }
        }
        let now = UNIX_EPOCH + Duration::from_secs(random.next() >> random.below(64).max(2));
        let hint = RetryAfter::new().read_at(response.headers(), now);
        assert!(hint.is_none_or(|hint| !hint.is_zero() && hint <= LIMIT));
        hints += u32::from(hint.is_some());
        for http in classifiers {
            assert!(http.response(&response) != atomic_breaker_http::Outcome::Success);
        }
        let pushed = value(&mut random);
        if let Ok(pushed) = HeaderValue::from_bytes(&pushed) {
            response
                .headers_mut()
                .insert("grpc-retry-pushback-ms", pushed);
            let pushed = RetryAfter::new().push_back(response.headers());
            assert!(pushed.is_none_or(|time| !time.is_zero() && time <= LIMIT));
        }
    }
    assert!(hints > 10_000, "the fuzzer hits something: {hints}");
}
