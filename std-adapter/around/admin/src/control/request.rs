// SPDX-License-Identifier: MIT OR Apache-2.0
//! A change as it is requested.

use atomic_breaker_server::Config;
use serde::{Deserialize, Serialize};

use super::super::response::Problem;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ControlRequest {
    pub(super) of: String,
    pub(super) key: Option<String>,
    pub(super) r#do: Verb,
    pub(super) for_ms: Option<u32>,
    pub(super) rules: Option<Config>,
    pub(super) percent: Option<u8>,
    /// The epoch that the operator saw.
    pub(super) epoch: Option<u16>,
    /// The process that is to do it, by the name that its states were read with.
    pub(super) instance: Option<String>,
    /// The reason, for readers of the timeline.
    pub(super) reason: Option<String>,
    /// Only reports what would change.
    #[serde(default)]
    pub(super) dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verb {
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

/// The most bytes of a reason.
const MOST_REASON: usize = 256;

impl ControlRequest {
    /// The reason without the white space around it, unless that is all.
    pub(super) fn reason(&self) -> Option<&str> {
        let reason = self.reason.as_deref()?.trim();
        (!reason.is_empty()).then_some(reason)
    }

    /// Checks that its parts go together.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let is_setting = matches!(self.r#do, Verb::SetRules | Verb::ClearRules | Verb::Enforce);
        let error = if self.for_ms.is_some() && self.r#do != Verb::Trip {
            "for_ms is only for trip: leave it out"
        } else if self.for_ms.is_some_and(|ms| ms > LONGEST_MS) {
            "for_ms is at most 2144448000, which is 24.8 days"
        } else if self.rules.is_some() && self.r#do != Verb::SetRules {
            "rules are only for set-rules: leave them out"
        } else if self.percent.is_some() && self.r#do != Verb::Enforce {
            "percent is only for enforce: leave it out"
        } else if self
            .reason
            .as_ref()
            .is_some_and(|it| it.len() > MOST_REASON)
        {
            "the reason has at most 256 bytes: shorten it"
        } else if self.epoch.is_some() && is_setting {
            "epoch is only for commands that change a state: leave it out"
        } else {
            return Ok(());
        };
        Err(Problem::unprocessable(error))
    }
}
