// SPDX-License-Identifier: MIT OR Apache-2.0
//! Columns of a log, and units of time.

use std::fmt;

/// A column of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Column {
    /// The time at which a call began.
    Start,
    /// The duration of the call.
    Duration,
    /// The end of the call.
    Outcome,
    /// The resource that was called.
    Key,
    /// The time for which the resource asks to be left alone.
    RetryAfter,
    /// The number of this try of a request, counted from 1.
    Attempt,
    /// A name that the tries of a request share.
    Request,
}

impl Column {
    pub(super) const COUNT: usize = 7;

    pub(super) const ALL: [Self; Self::COUNT] = [
        Self::Start,
        Self::Duration,
        Self::Outcome,
        Self::Key,
        Self::RetryAfter,
        Self::Attempt,
        Self::Request,
    ];

    /// The column's name in messages; the names that are read, the best first; other names that people give it, without
    /// marks and in small letters.
    const fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Start => (
                "start",
                "start_ms start_s start_us start_ns start timestamp time",
                "at began begin date datetime msec started startedat starttime timeiso8601 timelocal ts",
            ),
            Self::Duration => (
                "duration",
                "duration_ms duration_s duration_us duration_ns duration",
                "dur elapsed latency requesttime responsetime rt timetaken took upstreamresponsetime",
            ),
            Self::Outcome => (
                "outcome",
                "outcome status",
                "code httpstatus ok responsecode result statuscode success upstreamstatus",
            ),
            Self::Key => (
                "key",
                "key host",
                "address backend destination domain endpoint hostname instance peer server service target upstream \
                 upstreamaddr upstreamhost",
            ),
            Self::RetryAfter => ("time until a retry", "retry_after_ms retry_after_s", ""),
            Self::Attempt => ("number of the try", "attempt", ""),
            Self::Request => ("request", "request request_id", ""),
        }
    }

    /// The names that are read, the best first.
    pub(super) fn usual(self) -> impl Iterator<Item = &'static str> {
        let (_, usual, _) = self.names();
        usual.split(' ')
    }

    /// Returns whether a name of a column may mean this one, though it is not one of the usual names.
    pub(super) fn may_be(self, name: &str) -> bool {
        let plain = |name: &str| {
            let letters = name.chars().filter(char::is_ascii_alphanumeric);
            letters.collect::<String>().to_ascii_lowercase()
        };
        let stem = TimeUnit::of_name(name).and_then(|_| name.rsplit_once('_'));
        let (whole, stem) = (plain(name), plain(stem.map_or(name, |(stem, _)| stem)));
        let is_it = |known: &str| known == whole || known == stem;
        let (_, usual, others) = self.names();
        others.split_whitespace().any(is_it) || usual.split(' ').any(|it| is_it(&plain(it)))
    }

    pub(super) const fn is_needed(self) -> bool {
        matches!(self, Self::Start | Self::Duration | Self::Outcome)
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, ..) = self.names();
        f.write_str(name)
    }
}

/// A unit of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    #[default]
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl TimeUnit {
    /// All units, the longest first.
    pub const ALL: [Self; 4] = [Self::Seconds, Self::Millis, Self::Micros, Self::Nanos];

    /// Its length in nanoseconds, its symbol, and its name.
    const fn facts(self) -> (u32, &'static str, &'static str) {
        match self {
            Self::Seconds => (1_000_000_000, "s", "seconds"),
            Self::Millis => (1_000_000, "ms", "milliseconds"),
            Self::Micros => (1_000, "us", "microseconds"),
            Self::Nanos => (1, "ns", "nanoseconds"),
        }
    }

    pub(super) const fn nanos(self) -> u32 {
        let (nanos, ..) = self.facts();
        nanos
    }

    /// The symbol of the unit: `s`, `ms`, `us` or `ns`.
    pub const fn symbol(self) -> &'static str {
        let (_, symbol, _) = self.facts();
        symbol
    }

    /// The unit, other than this one, in which a number is Unix time of this century.
    pub(super) fn mistaken_for(self, number: &str) -> Option<Self> {
        Self::of_now(number).filter(|unit| *unit != self)
    }

    /// The unit in which a number is Unix time of this century.
    pub(super) fn of_now(number: &str) -> Option<Self> {
        const SINCE_2001_UNTIL_2099: std::ops::Range<f64> = 1e9..4.1e9;
        let number: f64 = number.parse().ok()?;
        let is_now = |unit: &Self| {
            let seconds = number * f64::from(unit.nanos()) / 1e9;
            SINCE_2001_UNTIL_2099.contains(&seconds)
        };
        Self::ALL.into_iter().find(is_now)
    }

    /// The unit that the end of a column's name says.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let (_, end) = name.rsplit_once('_')?;
        Self::ALL.into_iter().find(|unit| unit.symbol() == end)
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (.., name) = self.facts();
        f.write_str(name)
    }
}
