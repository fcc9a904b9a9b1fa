// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time at which a caller's quota is full again, by the headers of rate limiters.
//!
//! | header | who sends it | value |
//! |---|---|---|
//! | `RateLimit` | the [draft](https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/) since its version 8 | `"minute";r=0;t=30`: remaining, seconds until the reset |
//! | `RateLimit` | versions up to 7 | `limit=100, remaining=0, reset=30` |
//! | `RateLimit-Reset` | versions up to 6 | seconds |
//! | `X-RateLimit-Reset`, `X-Rate-Limit-Reset`, `X-RateLimit-Reset-After` | many | seconds, or a time as seconds or milliseconds since 1970 |
//! | `X-RateLimit-Reset-Requests`, `-Tokens` | APIs of language models | `6m0s`, `250ms` |
//!
//! A quota whose `..-Remaining..` is more than 0 is not the one that is used up.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderValue};

/// Longer values are not read.
const MAX_BYTES: usize = 256;

/// The names of headers with a time until the reset, and of those that say how much remains until then.
const PAIRS: [(&str, &str); 6] = [
    ("ratelimit-reset", "ratelimit-remaining"),
    ("x-ratelimit-reset", "x-ratelimit-remaining"),
    ("x-rate-limit-reset", "x-rate-limit-remaining"),
    ("x-ratelimit-reset-after", "x-ratelimit-remaining"),
    (
        "x-ratelimit-reset-requests",
        "x-ratelimit-remaining-requests",
    ),
    ("x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens"),
];

/// The time until all quotas that are used up are full again. `now` is the time at which the response was written.
pub(crate) fn reset_in(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let fields = headers.get_all("ratelimit").iter().filter_map(text);
    let of_fields = fields.filter_map(|field| of_draft(field).max(of_earlier_draft(field)));
    let of_pairs = PAIRS.iter().filter_map(|(reset, remaining)| {
        let remains = headers.get(*remaining).and_then(text).and_then(seconds);
        let reset = headers.get(*reset).and_then(text)?;
        is_used_up(remains).then(|| time(reset, now)).flatten()
    });
    of_fields.chain(of_pairs).max()
}

/// Returns whether a quota may be the one that is used up, as one of which nothing is known may.
fn is_used_up(remains: Option<Duration>) -> bool {
    remains.is_none_or(|remains| remains.is_zero())
}

fn text(value: &HeaderValue) -> Option<&str> {
    let text = value.to_str().ok()?;
    (text.len() <= MAX_BYTES).then_some(text)
}

/// The parts of a text between marks that are not within quotation marks, where `\` escapes the next character.
fn split(text: &str, mark: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |char| {
        is_quoted ^= char == '"' && !is_escaped;
        is_escaped = is_quoted && char == '\\' && !is_escaped;
        char == mark && !is_quoted
    })
    .map(str::trim)
}

/// The longest reset of the quotas that are used up: `"minute";r=0;t=30, "day";r=9;t=3600`.
fn of_draft(field: &str) -> Option<Duration> {
    let resets = split(field, ',').filter_map(|quota| {
        let remains = parameter(split(quota, ';'), "r")?;
        remains
            .is_zero()
            .then(|| parameter(split(quota, ';'), "t"))?
    });
    resets.max()
}

/// `limit=100, remaining=0, reset=30`.
fn of_earlier_draft(field: &str) -> Option<Duration> {
    let remains = parameter(split(field, ','), "remaining");
    parameter(split(field, ','), "reset").filter(|_| is_used_up(remains))
}

fn parameter<'a>(mut parts: impl Iterator<Item = &'a str>, name: &str) -> Option<Duration> {
    let value = parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    seconds(value?.trim())
}

/// The time until a date.
fn time(text: &str, now: SystemTime) -> Option<Duration> {
    /// 2001 as seconds, and as milliseconds, since 1970: no quota lasts for thirty years.
    const SECONDS: u64 = 1_000_000_000;
    const MILLIS: u64 = 1_000_000_000_000;

    let Some(time) = seconds(text) else {
        return duration(text);
    };
    let then = match time.as_secs() {
        MILLIS.. => Duration::from_millis(time.as_secs()),
        SECONDS.. => time,
        _ => return Some(time),
    };
    UNIX_EPOCH.checked_add(then)?.duration_since(now).ok()
}

/// `30` or `1.5`: digits, with a fraction or not, rounded up to milliseconds.
pub(crate) fn seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = [whole, fraction]
        .iter()
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if !are_digits {
        return None;
    }
    // More digits than fit are more than any limit.
    let whole = whole.parse().unwrap_or(u64::MAX / 1_000);
    let digits = fraction.bytes().map(|digit| u64::from(digit - b'0'));
    let thousandths = digits.clone().chain([0; 3]).take(3);
    let ms = thousandths.fold(0, |ms, digit| ms * 10 + digit);
    let part = u64::from(digits.skip(3).any(|digit| digit > 0));
    let ms = ms + part;
    Some(Duration::from_secs(whole).saturating_add(Duration::from_millis(ms)))
}

/// `1h2m3.5s` or `250ms`, as Go writes them.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|char: char| !char.is_ascii_digit() && char != '.')?;
        let (number, after) = rest.split_at(digits);
        let unit = after
            .find(|char: char| char.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let number = seconds(number)?;
        let time = match unit {
            "h" => number.saturating_mul(3_600),
            "m" => number.saturating_mul(60),
            "s" => number,
            // Less than a millisecond.
            "us" | "µs" | "ns" => Duration::from_millis(1),
            "ms" => {
                let part = u64::from(number.subsec_nanos() > 0);
                Duration::from_millis(number.as_secs().saturating_add(part))
            }
            _ => return None,
        };
        (sum, rest) = (sum.saturating_add(time), after);
    }
    (!text.is_empty()).then_some(sum)
}
