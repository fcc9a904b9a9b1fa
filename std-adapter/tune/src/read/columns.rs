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

/// The names that were given, and then those that were found.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    given: [Option<String>; Column::COUNT],
    found: [Option<String>; Column::COUNT],
    pub(super) unit: Unit,
}

impl Columns {
    pub(super) fn set(&mut self, column: Column, name: String) {
        self.given[column as usize] = Some(name);
    }

    /// Looks for each column, where `has` says which names there are.
    pub(super) fn find(
        &mut self,
        has: impl Fn(&str) -> bool,
        all: impl FnOnce() -> Vec<String>,
    ) -> Result<(), ReadError> {
        for column in Column::ALL {
            let names: Vec<&str> = match &self.given[column as usize] {
                Some(name) => vec![name],
                None => column.usual().to_vec(),
            };
            let found = names
                .iter()
                .find(|name| has(name))
                .map(|&name| name.to_owned());
            let is_given = self.given[column as usize].is_some();
            if found.is_none() && (column.is_needed() || is_given) {
                return Err(ReadError::NoColumn {
                    column,
                    names: names.into_iter().map(str::to_owned).collect(),
                    found: all(),
                });
            }
            self.found[column as usize] = found;
        }
        Ok(())
    }

    pub(super) fn name(&self, column: Column) -> Option<&str> {
        self.found[column as usize].as_deref()
    }

    pub(super) fn unit_of(&self, column: Column) -> Unit {
        let name = self.name(column);
        name.and_then(Unit::of_name).unwrap_or(self.unit)
    }
}
