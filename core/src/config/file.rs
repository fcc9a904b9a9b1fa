// SPDX-License-Identifier: MIT OR Apache-2.0
//! A configuration in a file, under the names of the builder's methods.

use core::time::Duration;

use serde::de::{self, DeserializeSeed};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::named::{Named, by_name};
use super::{Config, GradualReturn, Growth, Ratio, TripRule};

/// The names that settings have in a file. Where a file has a table for each of several breakers, none of them can have one of
/// these names: such a table is a setting of a breaker that was written in its place.
pub const SETTING_NAMES: [&str; 18] = [
    "consecutive_failures",
    "lasting_ms",
    "failures_within",
    "tally_only",
    "failure_ratio",
    "slow_call_ms",
    "open_for_ms",
    "exponential",
    "exponential_percent",
    "linear",
    "jitter_percent",
    "seed",
    "max_retry_after_ms",
    "probes",
    "close_after",
    "probe_lease_ms",
    "cancel_limit_ms",
    "gradual_return",
];

/// The settings of a file; `None` for any that is left out.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    #[serde(skip_serializing_if = "Option::is_none")]
    consecutive_failures: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lasting_ms: Option<u32>,
    #[serde(deserialize_with = "by_name", skip_serializing_if = "Option::is_none")]
    failures_within: Option<FailuresWithin>,
    #[serde(skip_serializing_if = "is_false")]
    tally_only: bool,
    #[serde(deserialize_with = "by_name", skip_serializing_if = "Option::is_none")]
    failure_ratio: Option<FailureRatio>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow_call_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_for_ms: Option<u32>,
    #[serde(deserialize_with = "by_name", skip_serializing_if = "Option::is_none")]
    exponential: Option<Exponential>,
    #[serde(deserialize_with = "by_name", skip_serializing_if = "Option::is_none")]
    exponential_percent: Option<ExponentialPercent>,
    #[serde(deserialize_with = "by_name", skip_serializing_if = "Option::is_none")]
    linear: Option<Linear>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter_percent: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_retry_after_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probes: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    close_after: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe_lease_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel_limit_ms: Option<u32>,
    #[serde(deserialize_with = "by_name", skip_serializing_if = "Option::is_none")]
    gradual_return: Option<GradualReturn>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FailuresWithin {
    failures: u32,
    window_ms: u32,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FailureRatio {
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    basis_points: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of_last: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    within_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow_percent: Option<u32>,
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl From<&Config> for File {
    fn from(config: &Config) -> Self {
        let mut file = Self {
            consecutive_failures: None,
            lasting_ms: None,
            failures_within: None,
            tally_only: false,
            failure_ratio: config.failure_ratio.map(FailureRatio::from),
            slow_call_ms: config.slow_call_ms,
            open_for_ms: Some(config.open_for_ms),
            exponential: None,
            exponential_percent: None,
            linear: None,
            jitter_percent: Some(config.jitter_percent),
            seed: config.seed,
            max_retry_after_ms: config.max_retry_after_ms,
            probes: Some(config.probes),
            close_after: config.close_after,
            probe_lease_ms: config.probe_lease_ms,
            cancel_limit_ms: Some(config.cancel_limit_ms),
            gradual_return: config.gradual_return,
        };
        match config.trip {
            TripRule::Consecutive { failures } => {
                file.consecutive_failures = Some(failures);
                // Written, as a program may have another default.
                file.lasting_ms = Some(0);
            }
            TripRule::Lasting {
                failures,
                lasting_ms,
            } => {
                file.consecutive_failures = Some(failures);
                file.lasting_ms = Some(lasting_ms);
            }
            TripRule::Within {
                failures,
                window_ms,
            } => {
                file.failures_within = Some(FailuresWithin {
                    failures,
                    window_ms,
                });
            }
            TripRule::TallyOnly => file.tally_only = true,
        }
        if let Some(growth) = config.growth {
            let (percent, step_ms, max_ms) = (growth.percent(), growth.step_ms(), growth.max_ms);
            if let Some(percent) = percent.filter(|percent| percent % 100 != 0) {
                file.exponential_percent = Some(ExponentialPercent { percent, max_ms });
            } else {
                let factor = percent.map(|percent| percent / 100);
                file.exponential = factor.map(|factor| Exponential { factor, max_ms });
            }
            file.linear = step_ms.map(|step_ms| Linear { step_ms, max_ms });
        }
        file
    }
}

impl From<Ratio> for FailureRatio {
    fn from(ratio: Ratio) -> Self {
        let percent = ratio.whole_percent();
        Self {
            percent,
            basis_points: percent.is_none().then(|| ratio.trips_at_basis_points()),
            of_last: ratio.calls(),
            within_ms: ratio.within_ms(),
            min_calls: ratio.has_min_calls.then(|| ratio.needed_calls()),
            slow_percent: ratio.trips_at_slow_percent(),
        }
    }
}

impl FailureRatio {
    /// This ratio; what is left out is as in the other one, if there is one.
    fn over(self, other: Option<Ratio>) -> Result<Ratio, &'static str> {
        let ratio = match (self.percent, self.basis_points, other) {
            (Some(percent), None, _) => Ratio::percent(percent),
            (None, Some(points), _) => Ratio::basis_points(points),
            (None, None, Some(other)) => Ratio::basis_points(other.trips_at_basis_points()),
            _ => return Err("a failure_ratio has either percent or basis_points: set one of them"),
        };
        let kept = other.filter(|_| self.of_last.is_none());
        let within_ms = self.within_ms.or(kept.and_then(Ratio::within_ms));
        let of_last = self.of_last.or(kept
            .filter(|_| self.within_ms.is_none())
            .and_then(Ratio::calls));
        let ratio = match (of_last, within_ms) {
            (Some(calls), None) => ratio.of_last(calls),
            (None, Some(ms)) => ratio.within(Duration::from_millis(ms.into())),
            _ => return Err("a failure_ratio has either of_last or within_ms: set one of them"),
        };
        // As many calls mean something else in a memory of another kind, and not every kind counts slow calls.
        let kept = kept.filter(|kept| kept.calls().is_some() == of_last.is_some());
        let slow_percent = kept.and_then(Ratio::trips_at_slow_percent);
        let ratio = match self.slow_percent.or(slow_percent) {
            Some(percent) => ratio.slow_percent(percent),
            None => ratio,
        };
        let kept = kept.filter(|kept| kept.has_min_calls);
        let min_calls = self.min_calls.or(kept.map(Ratio::needed_calls));
        Ok(min_calls.map_or(ratio, |calls| ratio.min_calls(calls)))
    }
}

impl File {
    /// These settings; those that are left out are as in the other configuration.
    fn over(self, other: Config) -> Result<Config, &'static str> {
        let with_trip = match (
            self.consecutive_failures,
            self.failures_within,
            self.tally_only,
        ) {
            (None, None, true) => other.tally_only(),
            (Some(failures), None, false) => other.consecutive_failures(failures),
            (None, Some(within), false) => {
                let window = Duration::from_millis(within.window_ms.into());
                other.failures_within(within.failures, window)
            }
            (None, None, false) => other,
            _ => {
                return Err(
                    "consecutive_failures, failures_within and tally_only exclude each other: keep one \
                     (failure_ratio goes with any of them)",
                );
            }
        };
        let with_trip = match self.lasting_ms {
            Some(ms) => with_trip.lasting(Duration::from_millis(ms.into())),
            None => with_trip,
        };
        let growth = match (self.exponential, self.exponential_percent, self.linear) {
            (None, None, None) => other.growth,
            (Some(it), None, None) => {
                let percent = it.factor.saturating_mul(100);
                Some(Growth::exponential(percent, it.max_ms))
            }
            (None, Some(it), None) => Some(Growth::exponential(it.percent, it.max_ms)),
            (None, None, Some(it)) => Some(Growth::linear(it.step_ms, it.max_ms)),
            _ => {
                return Err(
                    "exponential, exponential_percent and linear exclude each other: keep one of them",
                );
            }
        };
        let ratio = self.failure_ratio.map(|it| it.over(other.failure_ratio));
        let ratio = ratio.transpose()?;
        Ok(Config {
            trip: with_trip.trip,
            failure_ratio: ratio.or(other.failure_ratio),
            slow_call_ms: self.slow_call_ms.or(other.slow_call_ms),
            open_for_ms: self.open_for_ms.unwrap_or(other.open_for_ms),
            growth,
            jitter_percent: self.jitter_percent.unwrap_or(other.jitter_percent),
            seed: self.seed.or(other.seed),
            max_retry_after_ms: self.max_retry_after_ms.or(other.max_retry_after_ms),
            probes: self.probes.unwrap_or(other.probes),
            close_after: self.close_after.or(other.close_after),
            probe_lease_ms: self.probe_lease_ms.or(other.probe_lease_ms),
            cancel_limit_ms: self.cancel_limit_ms.unwrap_or(other.cancel_limit_ms),
            gradual_return: self.gradual_return.or(other.gradual_return),
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
        ConfigOver(Self::new()).deserialize(deserializer)
    }
}

/// Reads a [`Config`] whose settings are those of another one where the file leaves them out: for a program with
/// defaults of its own. So are those of a `failure_ratio` that are left out within it. (Plain deserialization uses those of [`Config::new`].)
///
/// ```
/// use atomic_breaker::{Config, ConfigOver};
/// use core::time::Duration;
/// use serde::de::{DeserializeSeed, value::{Error, MapDeserializer}};
///
/// const OURS: Config = Config::new().consecutive_failures(3).open_for(Duration::from_secs(1));
/// // In its place: the deserializer of a format, such as `toml`'s or `serde_json`'s.
/// let file = MapDeserializer::new([("tally_only", true)].into_iter());
/// assert_eq!(ConfigOver(OURS).deserialize(file)?, OURS.tally_only());
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// A setting that is unknown, or of another kind, and settings that exclude each other. Whether they fit is checked when
/// a breaker is made of them.
#[derive(Clone, Copy, Debug)]
pub struct ConfigOver(pub Config);

impl<'de> DeserializeSeed<'de> for ConfigOver {
    type Value = Config;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Config, D::Error> {
        let Named(file) = Named::<File>::deserialize(deserializer)?;
        file.over(self.0).map_err(de::Error::custom)
    }
}
