//! What the columns of a log are called.

use std::fmt;

use super::error::ReadError;

/// What a column says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Column {
    /// When a call began.
    Start,
    /// How long it took.
    Duration,
    /// How it ended.
    Outcome,
    /// What was called.
    Key,
    /// How long its resource asks to be left alone.
    RetryAfter,
    /// Which try of a request it is.
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

    const fn usual(self) -> &'static [&'static str] {
        match self {
            Self::Start => &[
                "start_ms",
                "start_s",
                "start_us",
                "start_ns",
                "start",
                "timestamp",
                "time",
            ],
            Self::Duration => &[
                "duration_ms",
                "duration_s",
                "duration_us",
                "duration_ns",
                "duration",
            ],
            Self::Outcome => &["outcome", "status"],
            Self::Key => &["key", "host"],
            Self::RetryAfter => &["retry_after_ms", "retry_after_s"],
            Self::Attempt => &["attempt"],
            Self::Request => &["request", "request_id"],
        }
    }

    /// Other names that people give it, without marks and in small letters.
    const fn others(self) -> &'static [&'static str] {
        match self {
            Self::Start => &[
                "at",
                "began",
                "begin",
                "date",
                "datetime",
                "msec",
                "started",
                "startedat",
                "starttime",
                "timeiso8601",
                "timelocal",
                "ts",
            ],
            Self::Duration => &[
                "dur",
                "elapsed",
                "latency",
                "requesttime",
                "responsetime",
                "rt",
                "timetaken",
                "took",
                "upstreamresponsetime",
            ],
            Self::Outcome => &[
                "code",
                "httpstatus",
                "ok",
                "responsecode",
                "result",
                "statuscode",
                "success",
                "upstreamstatus",
            ],
            Self::Key => &[
                "address",
                "backend",
                "destination",
                "domain",
                "endpoint",
                "hostname",
                "instance",
                "peer",
                "server",
                "service",
                "target",
                "upstream",
                "upstreamaddr",
                "upstreamhost",
            ],
            Self::RetryAfter | Self::Attempt | Self::Request => &[],
        }
    }

    /// Whether a name of a column may mean it, though it is not one of the usual ones.
    fn may_be(self, name: &str) -> bool {
        let plain = |name: &str| {
            let marks = |it: &char| it.is_ascii_alphanumeric();
            name.chars()
                .filter(marks)
                .collect::<String>()
                .to_ascii_lowercase()
        };
        let whole = plain(name);
        let stem = Unit::of_name(name).and_then(|_| name.rsplit_once('_'));
        let stem = stem.map_or_else(|| whole.clone(), |(stem, _)| plain(stem));
        let is_it = |known: &str| known == whole || known == stem;
        self.others().iter().any(|it| is_it(it)) || self.usual().iter().any(|it| is_it(&plain(it)))
    }

    const fn is_needed(self) -> bool {
        matches!(self, Self::Start | Self::Duration | Self::Outcome)
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Duration => "duration",
            Self::Outcome => "outcome",
            Self::Key => "key",
            Self::RetryAfter => "time until a retry",
            Self::Attempt => "number of the try",
            Self::Request => "request",
        })
    }
}

/// A unit of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
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

impl Unit {
    pub(super) const fn nanos(self) -> u32 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Millis => 1_000_000,
            Self::Micros => 1_000,
            Self::Nanos => 1,
        }
    }

    /// The unit, other than this one, in which a number is Unix time of this century.
    pub(super) fn mistaken_for(self, number: &str) -> Option<Self> {
        const SINCE_2001_UNTIL_2099: std::ops::Range<f64> = 1e9..4.1e9;
        let number: f64 = number.parse().ok()?;
        let is_now = |unit: &Self| {
            let seconds = number * f64::from(unit.nanos()) / 1e9;
            SINCE_2001_UNTIL_2099.contains(&seconds)
        };
        let units = [Self::Seconds, Self::Millis, Self::Micros, Self::Nanos];
        units.into_iter().find(is_now).filter(|unit| *unit != self)
    }

    fn of_name(name: &str) -> Option<Self> {
        let (_, end) = name.rsplit_once('_')?;
        match end {
            "s" => Some(Self::Seconds),
            "ms" => Some(Self::Millis),
            "us" => Some(Self::Micros),
            "ns" => Some(Self::Nanos),
            _ => None,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seconds => "seconds",
            Self::Millis => "milliseconds",
            Self::Micros => "microseconds",
            Self::Nanos => "nanoseconds",
        })
    }
}

/// The names of columns that were given, and the units of those whose names do not say it.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    given: [Option<String>; Column::COUNT],
    pub(super) unit: Option<Unit>,
    pub(super) start_unit: Option<Unit>,
}

impl Columns {
    pub(super) fn set(&mut self, column: Column, name: String) {
        self.given[column as usize] = Some(name);
    }

    pub(super) const fn is_unit_given(&self) -> bool {
        self.unit.is_some() || self.start_unit.is_some()
    }

    pub(super) const fn is_given(&self, column: Column) -> bool {
        self.given[column as usize].is_some()
    }

    /// The names that a column may have: the one that was given, or the usual ones, the best first.
    pub(super) fn names(&self, column: Column) -> Vec<&str> {
        match &self.given[column as usize] {
            Some(name) => vec![name],
            None => column.usual().to_vec(),
        }
    }

    /// The unit of times in the column of this name. `None` if neither its name nor the reading says it.
    pub(super) fn unit_of(&self, column: Column, name: &str) -> Option<Unit> {
        let start = self.start_unit.filter(|_| matches!(column, Column::Start));
        start.or_else(|| Unit::of_name(name)).or(self.unit)
    }

    /// An error if a column that is needed, or was named, was not found among those that there are.
    pub(super) fn check(
        &self,
        is_found: impl Fn(Column) -> bool,
        all: &[String],
    ) -> Result<(), ReadError> {
        let is_missing =
            |column: &Column| !is_found(*column) && (column.is_needed() || self.is_given(*column));
        let missing: Vec<Column> = Column::ALL.into_iter().filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let names = |column: Column| self.names(column).into_iter().map(str::to_owned).collect();
        Err(ReadError::NoColumn {
            guesses: self.guesses(is_found, all),
            missing: missing.into_iter().map(|it| (it, names(it))).collect(),
            found: all.to_vec(),
        })
    }

    /// Columns that may be meant by those that were neither found nor named.
    pub(super) fn guesses(
        &self,
        is_found: impl Fn(Column) -> bool,
        all: &[String],
    ) -> Vec<(Column, String)> {
        let is_open = |column: &Column| !is_found(*column) && !self.is_given(*column);
        let guess = |column: Column| {
            let name = all.iter().find(|name| column.may_be(name))?;
            Some((column, name.clone()))
        };
        Column::ALL
            .into_iter()
            .filter(is_open)
            .filter_map(guess)
            .collect()
    }
}
