// SPDX-License-Identifier: MIT OR Apache-2.0
//! The headers of a response: a header per line.

use std::time::{Duration, SystemTime};

use atomic_breaker::Outcome;
use atomic_breaker_http::{GrpcClassifier, GrpcCode, RetryAfter};
use http::{HeaderMap, HeaderName, HeaderValue};

/// The names that are read, by the first byte of a line.
const NAMES: [&str; 10] = [
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
    // What a number says is what is read, whatever stands beside it.
    let only = headers.get("retry-after").filter(|_| headers.len() == 1);
    let seconds = only.and_then(|it| {
        it.to_str()
            .ok()
            .filter(|text| !text.starts_with('+'))?
            .parse::<u32>()
            .ok()
    });
    if let Some(seconds @ 1..) = seconds {
        let asked = RetryAfter::with_limit(Duration::MAX).read_at(&headers, now());
        assert_eq!(asked, Some(Duration::from_secs(seconds.into())));
    }
}

pub(crate) fn grpc(bytes: &[u8]) {
    let headers = headers(bytes, &GRPC);
    let classifier: GrpcClassifier = GrpcClassifier::default();
    // The longest there is, for a server that asks not to try again.
    let hint = classifier
        .retry_hint(&headers)
        .filter(|hint| *hint != Duration::MAX);
    is_within(hint, RetryAfter::DEFAULT_LIMIT);
    is_within(
        RetryAfter::new().push_back(&headers),
        RetryAfter::DEFAULT_LIMIT,
    );
    if let Some(code) = GrpcCode::read(&headers) {
        let outcome = classifier.code(code, &headers);
        let is_ok = headers.get("grpc-status").is_some_and(|it| it == "0");
        assert!(
            !is_ok || outcome == Outcome::Success,
            "{code:?}: {outcome:?}"
        );
    }
}
