// SPDX-License-Identifier: MIT OR Apache-2.0
//! Another reading of how long a server asks its callers to stay away: by patterns, in whole milliseconds.

use std::sync::LazyLock;

use http::{HeaderMap, HeaderValue};
use regex::Regex;

use crate::date::seconds_since_1970;

/// A hint that was read, with the reasons for not comparing it: a date in one of the two older forms, or one that is none.
pub(crate) struct Unclear;

type Hint = Result<Option<u128>, Unclear>;

macro_rules! pattern {
    ($name:ident = $pattern:literal) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($pattern).expect("a pattern"));
    };
}
pattern!(WHOLE = r"^\d+$");
pattern!(DECIMAL = r"^(\d+)(?:\.(\d+))?$");
pattern!(GO = r"^(?:\d+(?:\.\d+)?(?:h|m|s|ms|us|ns))+$");
pattern!(GO_PART = r"(\d+(?:\.\d+)?)(h|ms|m|s|us|ns)");
pattern!(QUOTED = r#""(?:[^"\\]|\\.)*""#);
pattern!(
    DATE = r"^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d\d) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (\d{4}) (\d\d:\d\d:\d\d) GMT$"
);

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

fn short(value: &HeaderValue, most: usize) -> Option<&str> {
    value.to_str().ok().filter(|text| text.len() <= most)
}

/// A number of a unit of so many milliseconds, in milliseconds, rounded up: that of the number first, and then that of the
/// unit.
fn decimal(text: &str) -> Option<u128> {
    let found = DECIMAL.captures(text)?;
    let most = u128::MAX >> 40;
    let whole = found[1].parse::<u128>().map_or(most, |it| it.min(most));
    let digits = found.get(2).map_or("", |it| it.as_str());
    let first: u128 = format!("{digits:0<3}")[..3].parse().ok()?;
    let more = digits
        .get(3..)
        .is_some_and(|it| !it.trim_matches('0').is_empty());
    Some(whole * 1_000 + first + u128::from(more))
}

/// Milliseconds since 1970, of a date in the usual form with a weekday that is right.
fn date(text: &str) -> Option<u128> {
    let found = DATE.captures(text)?;
    let month = "JanFebMarAprMayJunJulAugSepOctNovDec".find(&found[3])? / 3 + 1;
    let day = format!("{}-{month}-{}", &found[4], &found[2]);
    let seconds = seconds_since_1970(&day, &found[5])?;
    // 1970 began with a Thursday.
    let weekday = "ThuFriSatSunMonTueWed".find(&found[1])? as u64 / 3;
    let is_right = seconds / 86_400 % 7 == weekday;
    is_right.then(|| u128::from(seconds) * 1_000)
}

/// The time at which the response was written, in milliseconds since 1970.
fn written(headers: &HeaderMap, now: u128) -> Result<u128, Unclear> {
    match headers.get("date").map(|value| short(value, 64)) {
        None => Ok(now),
        Some(text) => text.and_then(|it| date(it.trim())).ok_or(Unclear),
    }
}

/// The wait that `Retry-After` and `Retry-After-Ms` ask for.
pub(crate) fn asked(headers: &HeaderMap, now: u128) -> Hint {
    let exact = headers.get("retry-after-ms");
    let exact = exact.and_then(|value| decimal(short(value, 64)?.trim()));
    if let Some(thousandths @ 1..) = exact {
        return Ok(Some(thousandths.div_ceil(1_000)));
    }
    let mut longest = None;
    for value in headers.get_all("retry-after") {
        let Some(text) = short(value, 64).map(str::trim) else {
            continue;
        };
        let hint = if WHOLE.is_match(text) {
            Some(
                text.parse()
                    .unwrap_or(u128::MAX >> 20)
                    .saturating_mul(1_000),
            )
        } else if text.contains(char::is_alphabetic) && text.contains(|c: char| c.is_ascii_digit())
        {
            let then = date(text).ok_or(Unclear)?;
            then.checked_sub(written(headers, now)?)
        } else {
            None
        };
        longest = longest.max(hint.filter(|ms| *ms > 0));
    }
    Ok(longest)
}

/// The time at which all quotas that are used up are full again; `asked` comes first.
pub(crate) fn quota(headers: &HeaderMap, now: u128) -> Hint {
    if let Some(asked) = asked(headers, now)? {
        return Ok(Some(asked));
    }
    let now = written(headers, now)?;
    let mut longest = None;
    for field in headers.get_all("ratelimit") {
        let Some(field) = short(field, 256) else {
            continue;
        };
        let plain = QUOTED.replace_all(field, "q");
        if plain.contains('"') {
            return Err(Unclear);
        }
        for quota in plain.split(',') {
            if value(quota, ';', "r") == Some(0) {
                longest = longest.max(value(quota, ';', "t"));
            }
        }
        if value(&plain, ',', "remaining").is_none_or(|left| left == 0) {
            longest = longest.max(value(&plain, ',', "reset"));
        }
    }
    for (reset, remaining) in PAIRS {
        let text = |name: &str| short(headers.get(name)?, 256);
        let left = text(remaining).and_then(decimal);
        let reset = text(reset).filter(|_| left.is_none_or(|left| left == 0));
        longest = longest.max(reset.and_then(|reset| time(reset, now)));
    }
    Ok(longest)
}

/// The number of the first parameter of this name, in thousandths.
fn value(parts: &str, mark: char, name: &str) -> Option<u128> {
    let mut parts = parts.split(mark).map(str::trim);
    let found = parts.find_map(|part| part.strip_prefix(&format!("{name}=")))?;
    decimal(found.trim())
}

/// Seconds, a time of this century in seconds or milliseconds, or as Go writes a duration.
fn time(text: &str, now: u128) -> Option<u128> {
    if let Some(ms) = decimal(text) {
        return match ms / 1_000 {
            0..1_000_000_000 => Some(ms),
            1_000_000_000..1_000_000_000_000 => ms.checked_sub(now),
            whole => whole.checked_sub(now),
        };
    }
    GO.is_match(text).then(|| {
        let parts = GO_PART.captures_iter(text).map(|part| {
            let number = decimal(&part[1]).unwrap_or(0);
            match &part[2] {
                "h" => number * 3_600,
                "m" => number * 60,
                "s" => number,
                "ms" => number.div_ceil(1_000),
                _ => 1,
            }
        });
        parts.sum()
    })
}
