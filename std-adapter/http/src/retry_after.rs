// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time for which a server asks its callers to stay away.

use std::time::{Duration, SystemTime};

use http::header::{DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use crate::rate_limit::{reset_in, seconds};

/// A longer value is neither a number nor a date: an HTTP date has at most 33 characters.
const MAX_BYTES: usize = 64;

/// The header that Azure and some APIs of language models send beside `Retry-After`, as that has whole seconds.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

const PUSH_BACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// Reads the `Retry-After` header ([RFC 9110, 10.2.3]), those of rate limiters, and gRPC's push-back.
///
/// The header comes from outside, so whatever it contains, there is no panic, no allocation and no time above the
/// limit:
///
/// | value | hint |
/// |---|---|
/// | `120` | 2 minutes |
/// | `99999999999999999999999` | the limit |
/// | `Sun, 06 Nov 1994 08:49:37 GMT`, and the two older forms of a date | the time from the response's own `Date`, else from the system's clock, until then |
/// | `0`, a date that has passed | none |
/// | `-1`, `1.5`, `+1`, `1, 2`, `soon`, nothing, more than 64 bytes, bytes that are not ASCII | none |
/// | the header several times | the longest hint; values that are no hint are skipped |
///
/// `retry-after-ms`, which some APIs send beside it, is more exact: if it has a number above 0, that is the hint.
///
/// A date is compared with `Date`, since the same clock wrote both: a client whose clock is wrong waits as long as the
/// others.
///
/// ```
/// use atomic_breaker_http::RetryAfter;
/// use http::HeaderMap;
/// use std::time::Duration;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("retry-after", "120".parse()?);
/// assert_eq!(RetryAfter::new().read(&headers), Some(Duration::from_secs(120)));
///
/// headers.insert("date", "Sun, 06 Nov 1994 08:49:37 GMT".parse()?);
/// headers.insert("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT".parse()?);
/// assert_eq!(RetryAfter::new().read(&headers), Some(Duration::from_secs(30)));
/// # Ok::<(), http::header::InvalidHeaderValue>(())
/// ```
///
/// [RFC 9110, 10.2.3]: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryAfter {
    limit: Duration,
}

impl RetryAfter {
    /// The limit unless another one is set: 300 s, also the most that a breaker accepts by default.
    pub const DEFAULT_LIMIT: Duration = Duration::from_secs(300);

    /// Hints up to [300 s](Self::DEFAULT_LIMIT); longer ones are cut to that.
    pub const fn new() -> Self {
        Self::with_limit(Self::DEFAULT_LIMIT)
    }

    /// Hints up to `limit`; longer ones are cut to that. With a limit of zero there are no hints.
    ///
    /// A breaker has a limit of its own:
    /// [`Config::max_retry_after`](crate::Config::max_retry_after), 5 minutes unless set.
    pub const fn with_limit(limit: Duration) -> Self {
        Self { limit }
    }

    /// The longest hint that is returned.
    pub const fn limit(&self) -> Duration {
        self.limit
    }

    /// The hint of these headers, above zero and up to the [limit](Self::limit). Without a valid
    /// `Date` a date is compared with [`SystemTime::now`].
    pub fn read(&self, headers: &HeaderMap) -> Option<Duration> {
        self.read_at(headers, SystemTime::now())
    }

    /// [`read`](Self::read) with the current time as an argument, used where the headers have no valid `Date`.
    pub fn read_at(&self, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
        if let Some(exact) = headers.get(RETRY_AFTER_MS).and_then(text).and_then(millis) {
            return self.cut(exact);
        }
        let values = headers.get_all(RETRY_AFTER).iter();
        values
            .filter_map(|value| {
                let text = text(value)?;
                number(text).map(Duration::from_secs).or_else(|| {
                    let then = httpdate::parse_http_date(text).ok()?;
                    then.duration_since(date(headers).unwrap_or(now)).ok()
                })
            })
            .filter_map(|hint| self.cut(hint))
            .max()
    }

    /// The time until the quota of this caller is full again, by a rate limiter's headers: the time that
    /// [`read`](Self::read) reads, or else `RateLimit` and its earlier forms, `X-RateLimit-Reset` and its many
    /// variants. For a 429, whose caller should wait before it tries again; other callers have quotas of their own.
    /// Above zero and up to the [limit](Self::limit).
    ///
    /// ```
    /// use atomic_breaker_http::RetryAfter;
    /// use http::HeaderMap;
    /// use std::time::Duration;
    ///
    /// let mut headers = HeaderMap::new();
    /// headers.insert("ratelimit", r#""minute";r=0;t=30, "day";r=900;t=40000"#.parse()?);
    /// assert_eq!(RetryAfter::new().read_quota(&headers), Some(Duration::from_secs(30)));
    /// # Ok::<(), http::header::InvalidHeaderValue>(())
    /// ```
    pub fn read_quota(&self, headers: &HeaderMap) -> Option<Duration> {
        self.read_quota_at(headers, SystemTime::now())
    }

    /// [`read_quota`](Self::read_quota) with the current time as an argument, used where the headers have no valid `Date`.
    pub fn read_quota_at(&self, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
        let asked = self.read_at(headers, now);
        asked.or_else(|| self.cut(reset_in(headers, date(headers).unwrap_or(now))?))
    }

    /// A hint up to the limit, if it is above zero.
    fn cut(&self, hint: Duration) -> Option<Duration> {
        Some(hint.min(self.limit)).filter(|hint| !hint.is_zero())
    }

    /// Reads gRPC's `grpc-retry-pushback-ms` from the trailers, or from the headers of a response without a body ([gRFC
    /// A6]): the time that the server asks for, above zero and up to the [limit](Self::limit). `None` if there is no such
    /// header, for `0`, and for what asks not to try again: anything but a number up to 2147483647 without leading zeros,
    /// also among several.
    ///
    /// [gRFC A6]: https://github.com/grpc/proposal/blob/master/A6-client-retries.md#pushback
    pub fn push_back(&self, metadata: &HeaderMap) -> Option<Duration> {
        let time = pushed_back(metadata)?.min(self.limit);
        (!time.is_zero()).then_some(time)
    }

    /// The time that [`push_back`](Self::push_back) reads, or [`Duration::MAX`] if the server asks not to try again.
    pub(crate) fn push_back_hint(&self, metadata: &HeaderMap) -> Option<Duration> {
        let refuses = metadata.contains_key(PUSH_BACK) && pushed_back(metadata).is_none();
        if refuses {
            Some(Duration::MAX)
        } else {
            self.push_back(metadata)
        }
    }
}

impl Default for RetryAfter {
    fn default() -> Self {
        Self::new()
    }
}

/// The time at which the response was written, by the clock of its writer.
fn date(headers: &HeaderMap) -> Option<SystemTime> {
    let text = text(headers.get(DATE)?)?;
    httpdate::parse_http_date(text).ok()
}

/// The value without the white space around it, if it could be a number or a date at all.
fn text(value: &HeaderValue) -> Option<&str> {
    if value.len() > MAX_BYTES {
        return None;
    }
    Some(value.to_str().ok()?.trim_matches([' ', '\t']))
}

/// The longest of the push-backs, if all are valid.
fn pushed_back(metadata: &HeaderMap) -> Option<Duration> {
    let mut values = metadata.get_all(PUSH_BACK).iter();
    let longest_ms = values.try_fold(0, |longest: u64, value| {
        Some(longest.max(push_back_ms(text(value)?)?))
    })?;
    Some(Duration::from_millis(longest_ms))
}

/// A signed 32-bit number without leading zeros, as gRFC A6 requires; others, and negative ones, are `None`.
fn push_back_ms(text: &str) -> Option<u64> {
    let has_needless_zero = text.len() > 1 && text.starts_with('0');
    let ms = number(text).filter(|&ms| i32::try_from(ms).is_ok())?;
    (!has_needless_zero).then_some(ms)
}

/// `1500`, above 0.
fn millis(text: &str) -> Option<Duration> {
    let ms = seconds(text)?;
    let part = u64::from(ms.subsec_nanos() > 0);
    let ms = ms.as_secs().saturating_add(part);
    (ms > 0).then(|| Duration::from_millis(ms))
}

/// Digits only, as the grammar requires. A number that does not fit becomes `u64::MAX`.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}
