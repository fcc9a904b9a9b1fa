// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the settings mean for tries, retries and breakers.

use std::time::Duration;

use atomic_breaker::Config;
use atomic_breaker_tower::{RetryConfig, TryLimits};

use super::ClientConfig;
use crate::HttpClassifier;

impl ClientConfig {
    /// The limits of tries and of those that are probes.
    pub(crate) const fn try_limits(&self) -> TryLimits {
        TryLimits::new(self.try_limit).first_probe(self.probe_limit)
    }

    pub(super) fn retry(&self) -> RetryConfig {
        self.retry.within(self.deadline)
    }

    /// The rules of each host's breaker as they apply: [those that were set](Self::breaker), with the limit for slow calls
    /// that follows from the limit of a try. For `simulate` of atomic-breaker-simulate, or to show them.
    pub fn breaker_rules(&self) -> Config {
        let is_half_a_try = self.slow_is_half_a_try && self.at_end.is_none();
        let rules = match self.max_retry_after {
            Some(time) => self.breaker.max_retry_after(time),
            None => self.breaker,
        };
        match rules.slow_call_ms {
            None if is_half_a_try => rules.slow_call(self.try_limit / 2),
            _ => rules,
        }
    }

    /// What responses say to the breaker of their host.
    pub(crate) fn judge<X>(&self, http: HttpClassifier<X>) -> HttpClassifier<X> {
        let http = http.trip_on_429(self.trip_on_429);
        match self.max_retry_after {
            Some(time) => http.max_retry_after(time),
            None => http,
        }
    }
}

/// The time after which a call is slow by these rules.
pub(super) fn slow_call(rules: &Config) -> Option<Duration> {
    rules
        .slow_call_ms
        .map(|ms| Duration::from_millis(ms.into()))
}
