//! A configuration in a file, under the names of the builder's methods.

use core::fmt;
use core::time::Duration;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Config, GradualReturn, Growth, Ratio, TripRule, byte, half};

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    #[serde(skip_serializing_if = "Option::is_none")]
    consecutive_failures: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failures_within: Option<FailuresWithin>,
    #[serde(skip_serializing_if = "is_false")]
    tally_only: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_ratio: Option<FailureRatio>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow_call_ms: Option<u32>,
    open_for_ms: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    exponential: Option<Exponential>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exponential_percent: Option<ExponentialPercent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    linear: Option<Linear>,
    jitter_percent: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_retry_after_ms: Option<u32>,
    probes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    close_after: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe_lease_ms: Option<u32>,
    cancel_limit_ms: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    gradual_return: Option<Return>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FailuresWithin {
    failures: u32,
    window_ms: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FailureRatio {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    percent: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    basis_points: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of_last: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    within_ms: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_calls: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exponential {
    factor: u32,
    max_ms: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExponentialPercent {
    percent: u32,
    max_ms: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Linear {
    step_ms: u32,
    max_ms: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Return {
    first_percent: u32,
    over_ms: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Default for File {
    /// A setting that is left out has its default; that of the trip rule applies if no rule is
    /// given.
    fn default() -> Self {
        Self {
            consecutive_failures: None,
            ..Self::from(&Config::new())
        }
    }
}

impl From<&Config> for File {
    fn from(config: &Config) -> Self {
        let (mut consecutive_failures, mut failures_within) = (None, None);
        match config.trip {
            TripRule::Consecutive { failures } => consecutive_failures = Some(failures),
            TripRule::Within {
                failures,
                window_ms,
            } => {
                failures_within = Some(FailuresWithin {
                    failures,
                    window_ms,
                });
            }
            TripRule::TallyOnly => {}
        }
        let (mut exponential, mut exponential_percent, mut linear) = (None, None, None);
        if let Some(growth) = config.growth {
            let max_ms = growth.max_ms;
            match (growth.percent(), growth.step_ms()) {
                (Some(percent), _) if percent % 100 == 0 => {
                    let factor = percent / 100;
                    exponential = Some(Exponential { factor, max_ms });
                }
                (Some(percent), _) => {
                    exponential_percent = Some(ExponentialPercent { percent, max_ms });
                }
                (None, step_ms) => {
                    let step_ms = step_ms.unwrap_or(0);
                    linear = Some(Linear { step_ms, max_ms });
                }
            }
        }
        Self {
            consecutive_failures,
            failures_within,
            tally_only: config.trip == TripRule::TallyOnly,
            failure_ratio: config.ratio.map(|ratio| FailureRatio {
                percent: ratio.whole_percent(),
                basis_points: match ratio.whole_percent() {
                    Some(_) => None,
                    None => Some(ratio.trips_at_basis_points()),
                },
                of_last: ratio.calls(),
                within_ms: ratio.within_ms(),
                min_calls: ratio.has_min_calls.then(|| ratio.needed_calls()),
            }),
            slow_call_ms: config.slow_call_ms,
            open_for_ms: config.open_for_ms,
            exponential,
            exponential_percent,
            linear,
            jitter_percent: config.jitter_percent.into(),
            seed: config.seed,
            max_retry_after_ms: config.max_retry_after_ms,
            probes: config.probes.into(),
            close_after: config.close_after.map(u32::from),
            probe_lease_ms: config.probe_lease_ms,
            cancel_limit_ms: config.cancel_limit_ms,
            gradual_return: config.gradual_return.map(|back| Return {
                first_percent: back.first_percent.into(),
                over_ms: back.over_ms,
            }),
        }
    }
}

impl File {
    fn trip(&self) -> Result<TripRule, &'static str> {
        match (
            self.consecutive_failures,
            &self.failures_within,
            self.tally_only,
        ) {
            (None, None, true) => Ok(TripRule::TallyOnly),
            (Some(failures), None, false) => Ok(TripRule::Consecutive { failures }),
            (None, Some(within), false) => Ok(TripRule::Within {
                failures: within.failures,
                window_ms: within.window_ms,
            }),
            (None, None, false) => Ok(Config::new().trip),
            _ => Err(
                "consecutive_failures, failures_within and tally_only exclude each other: keep one \
                 (failure_ratio goes with each)",
            ),
        }
    }

    fn growth(&self) -> Result<Option<Growth>, &'static str> {
        match (&self.exponential, &self.exponential_percent, &self.linear) {
            (None, None, None) => Ok(None),
            (Some(it), None, None) => {
                let percent = it.factor.saturating_mul(100);
                Ok(Some(Growth::exponential(percent, it.max_ms)))
            }
            (None, Some(it), None) => Ok(Some(Growth::exponential(it.percent, it.max_ms))),
            (None, None, Some(it)) => Ok(Some(Growth::linear(it.step_ms, it.max_ms))),
            _ => Err(
                "exponential, exponential_percent and linear exclude each other: keep one of them",
            ),
        }
    }

    fn ratio(&self) -> Result<Option<Ratio>, &'static str> {
        let Some(it) = &self.failure_ratio else {
            return Ok(None);
        };
        let ratio = match (it.percent, it.basis_points) {
            (Some(percent), None) => Ratio::percent(percent),
            (None, Some(points)) => Ratio::basis_points(points),
            _ => return Err("a failure_ratio has either percent or basis_points: set one of them"),
        };
        let ratio = match (it.of_last, it.within_ms) {
            (Some(calls), None) => ratio.of_last(calls),
            (None, Some(ms)) => ratio.within(Duration::from_millis(ms.into())),
            _ => return Err("a failure_ratio has either of_last or within_ms: set one of them"),
        };
        Ok(Some(match it.min_calls {
            Some(calls) => ratio.min_calls(calls),
            None => ratio,
        }))
    }

    fn config(&self) -> Result<Config, &'static str> {
        Ok(Config {
            trip: self.trip()?,
            ratio: self.ratio()?,
            slow_call_ms: self.slow_call_ms,
            open_for_ms: self.open_for_ms,
            growth: self.growth()?,
            jitter_percent: byte(self.jitter_percent),
            seed: self.seed,
            max_retry_after_ms: self.max_retry_after_ms,
            probes: half(self.probes),
            close_after: self.close_after.map(half),
            probe_lease_ms: self.probe_lease_ms,
            cancel_limit_ms: self.cancel_limit_ms,
            gradual_return: self.gradual_return.as_ref().map(|back| GradualReturn {
                first_percent: byte(back.first_percent),
                over_ms: back.over_ms,
            }),
        })
    }
}

impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        File::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Settings)
    }
}

/// Accepts settings by name only: the derived implementation would accept a list, too.
struct Settings;

impl<'de> Visitor<'de> for Settings {
    type Value = Config;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Config, A::Error> {
        File::deserialize(MapAccessDeserializer::new(map))?
            .config()
            .map_err(de::Error::custom)
    }
}
