//! A change as it is requested.

use atomic_breaker::Config;
use axum::http::StatusCode;
use serde::Deserialize;

use super::super::answer::Problem;

/// A change that makes sense.
#[derive(Debug)]
pub(crate) struct Request {
    pub(super) of: String,
    pub(super) key: Option<String>,
    pub(super) command: Command,
    /// The epoch that the operator saw.
    pub(super) epoch: Option<u16>,
    /// Only reports what would change.
    pub(super) dry_run: bool,
}

#[derive(Debug)]
pub(super) enum Command {
    Trip(Option<u32>),
    ForceOpen,
    Release,
    Reset,
    Disable,
    Enable,
    ProbeNow,
    SetRules(Config),
    ClearRules,
    Enforce(u8),
}

/// The form in which it is sent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    of: String,
    #[serde(default)]
    key: Option<String>,
    r#do: Verb,
    #[serde(default)]
    for_ms: Option<u32>,
    #[serde(default)]
    rules: Option<Config>,
    #[serde(default)]
    percent: Option<u8>,
    #[serde(default)]
    epoch: Option<u16>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Verb {
    Trip,
    ForceOpen,
    Release,
    Reset,
    Disable,
    Enable,
    ProbeNow,
    SetRules,
    ClearRules,
    Enforce,
}

/// The longest open time that a word holds: 24.8 days.
const LONGEST_MS: u32 = 2_144_448_000;

impl Request {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Problem> {
        let written: Written = serde_json::from_slice(body)
            .map_err(|error| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
        let command = written.command()?;
        Ok(Self {
            of: written.of,
            key: written.key,
            command,
            epoch: written.epoch,
            dry_run: written.dry_run,
        })
    }

    /// Whether it concerns one breaker: a key, or a source without keys.
    pub(super) fn is_of_one(&self, has_keys: bool) -> bool {
        self.key.is_some() || !has_keys
    }
}

impl Written {
    fn command(&self) -> Result<Command, Problem> {
        let refuse = |error| Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error));
        if self.for_ms.is_some() && self.r#do != Verb::Trip {
            return refuse("for_ms goes with trip: leave it out");
        }
        if self.for_ms.is_some_and(|ms| ms > LONGEST_MS) {
            return refuse("for_ms is at most 2144448000, which is 24.8 days");
        }
        if self.rules.is_some() && self.r#do != Verb::SetRules {
            return refuse("rules go with set-rules: leave them out");
        }
        if self.percent.is_some() && self.r#do != Verb::Enforce {
            return refuse("percent goes with enforce: leave it out");
        }
        let is_setting = matches!(self.r#do, Verb::SetRules | Verb::ClearRules | Verb::Enforce);
        if self.epoch.is_some() && is_setting {
            return refuse("epoch goes with what changes a state: leave it out");
        }
        Ok(match self.r#do {
            Verb::Trip => Command::Trip(self.for_ms),
            Verb::ForceOpen => Command::ForceOpen,
            Verb::Release => Command::Release,
            Verb::Reset => Command::Reset,
            Verb::Disable => Command::Disable,
            Verb::Enable => Command::Enable,
            Verb::ProbeNow => Command::ProbeNow,
            Verb::SetRules => match self.rules {
                Some(rules) => Command::SetRules(rules),
                None => return refuse("set-rules needs rules"),
            },
            Verb::ClearRules => Command::ClearRules,
            Verb::Enforce => match self.percent {
                Some(percent) => Command::Enforce(percent),
                None => return refuse("enforce needs percent, from 0 (shadow mode) to 100"),
            },
        })
    }
}

impl Command {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Trip(_) => "trip",
            Self::ForceOpen => "force-open",
            Self::Release => "release",
            Self::Reset => "reset",
            Self::Disable => "disable",
            Self::Enable => "enable",
            Self::ProbeNow => "probe-now",
            Self::SetRules(_) => "set-rules",
            Self::ClearRules => "clear-rules",
            Self::Enforce(_) => "enforce",
        }
    }
}
