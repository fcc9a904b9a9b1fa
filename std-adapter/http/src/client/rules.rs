// SPDX-License-Identifier: MIT OR Apache-2.0
//! The settings as rules of tries, retries and breakers.

use std::time::Duration;

use atomic_breaker::Config;
use atomic_breaker_tower::{RetryConfig, TryLimits};

use super::ClientConfig;
use crate::classifier::HttpClassifier;

impl ClientConfig {
    /// The limits of tries and of those that are probes.
    pub(crate) const fn try_limits(&self) -> TryLimits {
        TryLimits::new(self.try_limit).first_probe(self.probe_limit)
    }

    pub(super) fn retry(&self) -> RetryConfig {
        self.retry.within(self.deadline)
    }

    /// The rules of each host's breaker as they apply: [those that were set](Self::breaker), with the limit for slow calls
    /// that follows from the limit of a try, and [their share](Self::without_slow_limit). To be shown, or
    /// played before outages in a test.
    pub fn effective_breaker_config(&self) -> Config {
        let is_half_a_try = self.slow_is_half_a_try && self.at_end.is_none();
        let rules = match self.max_retry_after {
            Some(time) => self.breaker.max_retry_after(time),
            None => self.breaker,
        };
        match rules.slow_call_ms {
            None if is_half_a_try => with_slow_share(rules).slow_call(self.try_limit / 2),
            _ => rules,
        }
    }

    /// Returns the classifier of responses for the breaker of their host.
    pub(crate) fn judge<X>(&self, http: HttpClassifier<X>) -> HttpClassifier<X> {
        let http = http.trip_on_429(self.trip_on_429);
        match self.max_retry_after {
            Some(time) => http.max_retry_after(time),
            None => http,
        }
    }
}

/// The share of slow calls that trips, within the time in which failures have theirs.
const SLOW_PERCENT: u32 = 80;

/// A host that is slow still answers: its calls trip only if hardly any are faster.
const fn with_slow_share(rules: Config) -> Config {
    match rules.failure_ratio {
        Some(ratio) if ratio.within_ms().is_some() && ratio.trips_at_slow_percent().is_none() => {
            rules.failure_ratio(ratio.slow_percent(SLOW_PERCENT))
        }
        _ => rules,
    }
}

/// The time after which a call is slow by these rules.
pub(super) fn slow_call(rules: &Config) -> Option<Duration> {
    rules
        .slow_call_ms
        .map(|ms| Duration::from_millis(ms.into()))
}
