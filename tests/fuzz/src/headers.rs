// SPDX-License-Identifier: MIT OR Apache-2.0
//! The headers of a response: a header per line.

use std::time::{Duration, SystemTime};

use atomic_breaker::{Failure, Outcome};
use atomic_breaker_http::{GrpcClassifier, GrpcCode, RetryAfter};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::waits;

/// The names that are read, by the first byte of a line.
const NAMES: [&str; 14] = [
    "retry-after",
    "retry-after-ms",
    "ratelimit",
    "ratelimit-reset",
    "ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-reset-requests",
    "x-rate-limit-reset",
    "date",
    "ratelimit-policy",
    "x-ratelimit-remaining",
    "x-ratelimit-reset-after",
    "x-ratelimit-reset-tokens",
    "x-ratelimit-remaining-tokens",
];
const GRPC: [&str; 3] = ["grpc-status", "grpc-retry-pushback-ms", "retry-after"];

fn headers(bytes: &[u8], names: &[&'static str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n').take(16) {
        let Some((which, value)) = line.split_first() else {
            continue;
        };
        let name = HeaderName::from_static(names[usize::from(*which) % names.len()]);
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.append(name, value);
        }
    }
    headers
}

/// 2026-01-01.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600)
}

fn is_within(hint: Option<Duration>, limit: Duration) {
    let is_right = hint.is_none_or(|hint| !hint.is_zero() && hint <= limit);
    assert!(is_right, "{hint:?} of {limit:?}");
}

pub(crate) fn retry_after(bytes: &[u8]) {
    let headers = headers(bytes, &NAMES);
    for limit in [0, 1, 300, u64::MAX].map(Duration::from_secs) {
        let reader = RetryAfter::with_limit(limit);
        let asked = reader.read_at(&headers, now());
        let quota = reader.read_quota_at(&headers, now());
        is_within(asked, limit);
        is_within(quota, limit);
        assert!(
            asked.is_none() || quota == asked,
            "what is asked for comes first"
        );
    }
    is_as_read_once_more(&headers);
}

/// Up to limits at which no number saturates.
fn is_as_read_once_more(headers: &HeaderMap) {
    let ms = |hint: Duration| hint.as_millis();
    for limit in [0, 1, 300, 86_400].map(Duration::from_secs) {
        let reader = RetryAfter::with_limit(limit);
        let cut = |hint: Option<u128>| hint.map(|it| it.min(ms(limit))).filter(|it| *it > 0);
        let since_1970 = now().duration_since(SystemTime::UNIX_EPOCH);
        let since_1970 = ms(since_1970.expect("later"));
        if let Ok(asked) = waits::asked(headers, since_1970) {
            let read = reader.read_at(headers, now());
            assert_eq!(read.map(ms), cut(asked), "{headers:?}");
        }
        if let Ok(quota) = waits::quota(headers, since_1970) {
            let read = reader.read_quota_at(headers, now());
            assert_eq!(read.map(ms), cut(quota), "{headers:?}");
        }
    }
}

pub(crate) fn grpc(bytes: &[u8]) {
    let headers = headers(bytes, &GRPC);
    let classifier: GrpcClassifier = GrpcClassifier::default();
    let asked = pushed_back(&headers);
    // The longest there is, for a server that asks not to try again.
    let hint = asked.unwrap_or(Some(Duration::MAX));
    let asked = asked.unwrap_or_default();
    assert_eq!(classifier.retry_hint(&headers), hint, "{headers:?}");
    assert_eq!(RetryAfter::new().push_back(&headers), asked, "{headers:?}");
    is_within(asked, RetryAfter::DEFAULT_LIMIT);
    let code = headers.get("grpc-status").map(|it| code_of(it.as_bytes()));
    assert_eq!(GrpcCode::read(&headers), code, "{headers:?}");
    if let Some(code) = code {
        let outcome = classifier.code(code, &headers);
        assert_eq!(outcome, outcome_of(code, asked), "{headers:?}");
    }
}

/// The time that the server asks for; `Err` if it asks not to try again.
fn pushed_back(headers: &HeaderMap) -> Result<Option<Duration>, ()> {
    let values = headers.get_all("grpc-retry-pushback-ms");
    let read = values.iter().map(|value| {
        let text = value.to_str().map_err(drop)?.trim();
        let ms = text.parse::<i32>().map_err(drop)?;
        // Written as it would be by others: without a sign or needless zeros.
        let is_plain = value.len() <= 64 && ms.to_string() == text;
        u64::try_from(ms).ok().filter(|_| is_plain).ok_or(())
    });
    let longest = read.collect::<Result<Vec<_>, ()>>()?.into_iter().max();
    let longest = longest.map(|ms| Duration::from_millis(ms).min(RetryAfter::DEFAULT_LIMIT));
    Ok(longest.filter(|time| !time.is_zero()))
}

fn code_of(text: &[u8]) -> GrpcCode {
    let mut all = GrpcCode::ALL.into_iter().enumerate();
    let found = all.find(|(number, _)| number.to_string().as_bytes() == text);
    found.map_or(GrpcCode::Unknown, |(_, code)| code)
}

fn outcome_of(code: GrpcCode, asked: Option<Duration>) -> Outcome {
    match (code, asked) {
        (GrpcCode::Unavailable, Some(time)) => Failure::retry_after(time).into(),
        (
            GrpcCode::Unavailable
            | GrpcCode::Internal
            | GrpcCode::DataLoss
            | GrpcCode::Unknown
            | GrpcCode::DeadlineExceeded,
            _,
        ) => Failure::new().into(),
        (GrpcCode::Cancelled | GrpcCode::ResourceExhausted, _) => Outcome::Ignored,
        _ => Outcome::Success,
    }
}
