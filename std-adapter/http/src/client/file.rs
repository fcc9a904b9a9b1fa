// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings in a file, under the names of the methods.

use std::time::Duration;

use atomic_breaker::config::Named;
use atomic_breaker::{Config, ConfigOver};
use serde::de::{DeserializeSeed, Error};
use serde::{Deserialize, Deserializer};

use super::ClientConfig;
use super::config::BodyRules;
use crate::timed_body::BodyLimits;
use crate::{Backoff, BudgetConfig};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch in the file"
)]
struct File {
    deadline_ms: Option<u64>,
    try_limit_ms: Option<u64>,
    probe_limit_ms: Option<u64>,
    tries: Option<u32>,
    backoff: Option<Named<BackoffFile>>,
    rejection_waits: Option<u32>,
    budget: Option<Named<BudgetFile>>,
    shared_budget: Option<Named<BudgetFile>>,
    #[serde(default)]
    without_slow_limit: bool,
    breaker: Option<Rules>,
    capacity: Option<usize>,
    outliving: Option<u32>,
    in_flight_limit: Option<u32>,
    max_retry_after_ms: Option<u64>,
    #[serde(default)]
    trip_on_429: bool,
    #[serde(default)]
    trip_in_flight: bool,
    #[serde(default)]
    at_end_of_body: bool,
    #[serde(default)]
    probes_at_end: bool,
    body_limits: Option<Named<BodyLimitsFile>>,
}

/// Rules that are the preset's where the file leaves them out.
struct Rules(Config);

impl<'de> Deserialize<'de> for Rules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let preset = ConfigOver(ClientConfig::new().breaker);
        preset.deserialize(deserializer).map(Self)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BackoffFile {
    first_ms: Option<u64>,
    longest_ms: Option<u64>,
    factor: Option<u32>,
}

impl From<BackoffFile> for Backoff {
    fn from(file: BackoffFile) -> Self {
        let ms = Duration::from_millis;
        let backoff = Self::new();
        let backoff = file
            .first_ms
            .map_or(backoff, |time| backoff.first(ms(time)));
        let backoff = file
            .longest_ms
            .map_or(backoff, |time| backoff.longest(ms(time)));
        file.factor.map_or(backoff, |factor| backoff.factor(factor))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetFile {
    max_tokens: Option<u32>,
    deposit_percent: Option<u32>,
    tokens_per_second: Option<u32>,
}

impl From<BudgetFile> for BudgetConfig {
    fn from(file: BudgetFile) -> Self {
        let budget = Self::new();
        let budget = file.max_tokens.map_or(budget, |it| budget.max_tokens(it));
        let budget = file
            .deposit_percent
            .map_or(budget, |it| budget.deposit_percent(it));
        file.tokens_per_second
            .map_or(budget, |it| budget.tokens_per_second(it))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "as in the file")]
struct BodyLimitsFile {
    first_byte_ms: Option<u64>,
    idle_ms: Option<u64>,
    whole_ms: Option<u64>,
}

impl From<BodyLimitsFile> for BodyLimits {
    fn from(file: BodyLimitsFile) -> Self {
        Self {
            first_byte: file.first_byte_ms.map(Duration::from_millis),
            idle: file.idle_ms.map(Duration::from_millis),
            whole: file.whole_ms.map(Duration::from_millis),
        }
    }
}

/// Any setting that is left out is as in [`ClientConfig::new`], within `breaker`, `backoff` and the budget, too.
/// Settings that contradict each other are errors.
impl<'de> Deserialize<'de> for ClientConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Named(file) = Named::<File>::deserialize(deserializer)?;
        let ms = Duration::from_millis;
        let mut config = Self::new();
        config.deadline = file.deadline_ms.map_or(config.deadline, ms);
        config.try_limit = file.try_limit_ms.map_or(config.try_limit, ms);
        config.probe_limit = file.probe_limit_ms.map(ms).or(config.probe_limit);
        config.retry.tries = file.tries.unwrap_or(config.retry.tries);
        config.retry.backoff = file.backoff.map_or(config.retry.backoff, |it| it.0.into());
        config.retry.rejection_waits = file.rejection_waits.unwrap_or(config.retry.rejection_waits);
        config = match (file.budget, file.shared_budget) {
            (None, None) => config,
            (Some(budget), None) => config.budget(budget.0.into()),
            (None, Some(budget)) => config.shared_budget(budget.0.into()),
            (Some(_), Some(_)) => {
                return Err(D::Error::custom(
                    "budget, which is for each host, and shared_budget exclude each other: keep one of them",
                ));
            }
        };
        config.slow_is_half_a_try = !file.without_slow_limit;
        config.breaker = file.breaker.map_or(config.breaker, |rules| rules.0);
        config.capacity = file.capacity.unwrap_or(config.capacity);
        config.outliving = file.outliving.unwrap_or(config.outliving);
        config.max_retry_after = file.max_retry_after_ms.map(ms).or(config.max_retry_after);
        config.trip_on_429 = file.trip_on_429;
        config.trip_in_flight = file.trip_in_flight;
        let at_end = file.at_end_of_body || file.probes_at_end || file.body_limits.is_some();
        config.at_end = at_end.then(|| BodyRules {
            probes_wait: file.probes_at_end,
            limits: file.body_limits.map(|it| it.0.into()).unwrap_or_default(),
        });
        config.in_flight_limit = file.in_flight_limit.or(config.in_flight_limit);
        config.check().map_err(D::Error::custom)?;
        Ok(config)
    }
}
