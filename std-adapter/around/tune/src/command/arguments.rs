// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arguments of the command.

use std::path::PathBuf;
use std::time::Duration;

use atomic_breaker_tune::{
    BreakerScope, ColdServer, Column, LogFormat, LogReader, Replay, TimeUnit, Weights,
};
use clap::Parser;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};

/// Finds the settings that a circuit breaker should have: replays a log of calls before the real breaker with a
/// thousand settings, and recommends those that would have cost least.
///
/// Ends with 0; with 1 if something went wrong; with 2 if it was asked something it does not understand; with 3 if it
/// recommends nothing: the log has no incident, or no settings are better than no breaker.
#[derive(Debug, Parser)]
#[command(version, name = "atomic-breaker-tune")]
pub(crate) struct Arguments {
    /// The log: CSV or JSON lines with a start, a duration and an outcome for each call, an access log of nginx, Envoy or
    /// Traefik, or spans in OTLP's JSON; - for standard input
    pub(crate) log: PathBuf,

    /// Today's rules, to compare with: a file in TOML, as `Config` is read from
    #[arg(long, value_name = "FILE")]
    pub(crate) today: Option<PathBuf>,

    /// Replay these rules alone, in memory that does not grow with the log
    #[arg(long, value_name = "FILE", conflicts_with_all = ["today", "json", "picture"])]
    pub(crate) only: Option<PathBuf>,

    /// Write the result for machines
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Draw the largest incident: without a breaker, with today's rules, with the recommended ones
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) picture: Option<PathBuf>,

    /// All calls share a breaker, although they have keys
    #[arg(long)]
    pub(crate) one: bool,

    /// The number of keys that the registry remembers
    #[arg(long, value_name = "KEYS", default_value_t = 4_096, value_parser = up_to(1 << 24))]
    pub(crate) capacity: usize,

    /// Answers that take longer are useless to the callers
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) useful_within: Option<Duration>,

    /// The calls come from so many callers who wait for each call, and make more of them if a breaker rejects them
    #[arg(long, value_name = "NUMBER", requires = "every", value_parser = clap::value_parser!(u32).range(1..))]
    callers: Option<u32>,

    /// The interval at which each of the callers makes a call unless it waits
    #[arg(long, value_name = "TIME", requires = "callers", value_parser = beat)]
    every: Option<Duration>,

    /// After an incident the resource bears so many percent of its usual load, and all of it after a time, such as 10,30s
    #[arg(long, value_name = "PERCENT,TIME", conflicts_with = "only", value_parser = cold)]
    cold_server: Option<ColdServer>,

    /// The cost of a rejected call that would have been answered, in wasted calls
    #[arg(long, value_name = "CALLS", default_value_t = Weights::new().healthy_rejected, value_parser = weight)]
    healthy_rejected: f64,

    /// The cost of a second in a wasted call, in wasted calls
    #[arg(long, value_name = "CALLS", default_value_t = Weights::new().wasted_second, value_parser = weight)]
    wasted_second: f64,

    /// The number of settings that are tried
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000, value_parser = up_to(1_000_000))]
    pub(crate) tries: usize,

    /// Another seed tries others
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,

    /// Unless set, as many as there are cores
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub(crate) threads: usize,

    /// Unless set, what the first line looks like
    #[arg(long, value_parser = one_of(FORMATS))]
    format: Option<LogFormat>,

    /// The column that says when a call began
    #[arg(long, value_name = "COLUMN")]
    start: Option<String>,

    /// The column that says how long a call took
    #[arg(long, value_name = "COLUMN")]
    duration: Option<String>,

    /// The column that says how a call ended
    #[arg(long, value_name = "COLUMN")]
    outcome: Option<String>,

    /// The column that says what was called
    #[arg(long, value_name = "COLUMN")]
    key: Option<String>,

    /// The unit of times whose column does not end in _s, _ms, _us or _ns: ms unless set
    #[arg(long, value_parser = unit())]
    unit: Option<TimeUnit>,

    /// The unit of starts, whatever their column is called
    #[arg(long, value_name = "UNIT", value_parser = unit())]
    start_unit: Option<TimeUnit>,
}

/// The names of formats.
const FORMATS: [(&str, LogFormat); 6] = [
    ("csv", LogFormat::Csv),
    ("json", LogFormat::JsonLines),
    ("nginx", LogFormat::Nginx),
    ("envoy", LogFormat::Envoy),
    ("traefik", LogFormat::Traefik),
    ("otlp", LogFormat::Otlp),
];

/// Parses one of these names.
fn one_of<const N: usize, T: Copy + Send + Sync + 'static>(
    values: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(values.map(|(name, _)| name)).try_map(move |name| {
        let found = values.into_iter().find(|(it, _)| *it == name);
        found.map(|(_, value)| value).ok_or("is not a name")
    })
}

/// A whole number from 1 on.
fn up_to(most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=most)
}

fn unit() -> impl TypedValueParser<Value = TimeUnit> {
    one_of(TimeUnit::ALL.map(|unit| (unit.symbol(), unit)))
}

impl Arguments {
    pub(crate) fn reader(&self) -> LogReader {
        let mut reader = LogReader::new();
        if let Some(unit) = self.unit {
            reader = reader.unit(unit);
        }
        if let Some(unit) = self.start_unit {
            reader = reader.start_unit(unit);
        }
        if let Some(format) = self.format {
            reader = reader.format(format);
        }
        for (column, name) in [
            (Column::Start, &self.start),
            (Column::Duration, &self.duration),
            (Column::Outcome, &self.outcome),
            (Column::Key, &self.key),
        ] {
            if let Some(name) = name {
                reader = reader.column(column, name);
            }
        }
        if self.one {
            reader = reader.one_key();
        }
        reader
    }

    /// A replay with a breaker per key, if there are many and they are not to share one.
    pub(crate) fn replay(&self, has_keys: bool) -> Replay {
        let breakers = if self.one || !has_keys {
            BreakerScope::Single
        } else {
            BreakerScope::PerKey {
                capacity: self.capacity,
            }
        };
        let mut replay = Replay::new().breakers(breakers).seed(self.seed);
        if let Some(limit) = self.useful_within {
            replay = replay.useful_within(limit);
        }
        if let (Some(callers), Some(every)) = (self.callers, self.every) {
            replay = replay.callers(callers, every);
        }
        if let Some(server) = self.cold_server {
            replay = replay.cold_server(server);
        }
        replay
    }

    pub(crate) fn weights(&self) -> Weights {
        Weights::new()
            .healthy_rejected(self.healthy_rejected)
            .wasted_second(self.wasted_second)
    }
}

/// A number and its unit.
fn time(text: &str) -> Result<Duration, String> {
    let digits = text.find(|it: char| !it.is_ascii_digit() && it != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let secs = match unit {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return Err("write a number and us, ms, s, m or h, such as 500ms".into()),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("{number:?} is not a number"))?;
    Duration::try_from_secs_f64(number * secs).map_err(|error| error.to_string())
}

fn cold(text: &str) -> Result<ColdServer, String> {
    let parts = text
        .split_once(',')
        .ok_or("write a percentage and a time, such as 10,30s")?;
    let percent = parts.0.trim_end_matches('%').parse().ok();
    let percent = percent.filter(|it| (1..=100).contains(it));
    let percent = percent.ok_or("write a percentage from 1 to 100")?;
    Ok(ColdServer::new(percent, time(parts.1.trim())?))
}

fn beat(text: &str) -> Result<Duration, String> {
    let time = time(text)?;
    if time.as_micros() == 0 {
        return Err("write at least 1us".into());
    }
    Ok(time)
}

fn weight(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "write a number".to_owned())?;
    if number >= 0.0 && number.is_finite() {
        Ok(number)
    } else {
        Err("a weight must be at least 0".into())
    }
}
