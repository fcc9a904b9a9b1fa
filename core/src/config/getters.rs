//! What a configuration says, and what follows from it.

use core::time::Duration;

use super::{Config, Ratio, TripRule};
use crate::number::time_of;
use crate::word::Layout;

const DEFAULT_RETRY_AFTER_MS: u32 = 5 * 60 * 1_000;
const DEFAULT_LEASE_MS: u32 = 30_000;

/// What a configuration says.
impl Config {
    /// How many failures in a row trip, if that is the rule.
    pub const fn get_consecutive_failures(&self) -> Option<u32> {
        match self.trip {
            TripRule::Consecutive { failures } => Some(failures),
            _ => None,
        }
    }

    /// How many failures within a window trip, and the window, if that is the rule.
    pub const fn get_failures_within(&self) -> Option<(u32, Duration)> {
        match self.trip {
            TripRule::Within {
                failures,
                window_ms,
            } => Some((failures, Duration::from_millis(window_ms as u64))),
            _ => None,
        }
    }

    /// Whether the word counts nothing, and the tally alone decides.
    pub const fn get_tally_only(&self) -> bool {
        matches!(self.trip, TripRule::TallyOnly)
    }

    /// The failure ratio that trips, if one does.
    pub const fn get_failure_ratio(&self) -> Option<Ratio> {
        self.ratio
    }

    /// How long a call must take to count as slow, if that is measured.
    pub const fn get_slow_call(&self) -> Option<Duration> {
        time_of(self.slow_call_ms)
    }

    /// The open time after the first trip, without jitter.
    pub const fn get_open_for(&self) -> Duration {
        Duration::from_millis(self.open_for_ms as u64)
    }

    /// The longest open time without jitter, if it grows.
    pub const fn get_max_open_for(&self) -> Option<Duration> {
        match self.growth {
            Some(growth) => time_of(Some(growth.max_ms)),
            None => None,
        }
    }

    /// The factor of exponential growth in percent, if it is exponential.
    pub const fn get_exponential_percent(&self) -> Option<u32> {
        match self.growth {
            Some(growth) => growth.percent(),
            None => None,
        }
    }

    /// The step of linear growth, if it is linear.
    pub const fn get_linear_step(&self) -> Option<Duration> {
        match self.growth {
            Some(growth) => time_of(growth.step_ms()),
            None => None,
        }
    }

    /// The seed of the jitter, if one was set.
    pub const fn get_seed(&self) -> Option<u32> {
        self.seed
    }

    /// The jitter in percent.
    pub const fn get_jitter_percent(&self) -> u32 {
        self.jitter_percent as u32
    }

    /// The longest minimum open time that a failure may ask for, if it was set.
    pub const fn get_max_retry_after(&self) -> Option<Duration> {
        time_of(self.max_retry_after_ms)
    }

    /// The longest minimum open time that a failure may ask for in a word of this layout, set or not.
    pub const fn get_max_retry_after_in(&self, layout: Layout) -> Duration {
        Duration::from_millis(self.longest_retry_after(layout.max_ms()) as u64)
    }

    /// How many probes may be in flight.
    pub const fn get_probes(&self) -> u32 {
        self.probes as u32
    }

    /// How many successes close the breaker.
    pub const fn get_close_after(&self) -> u32 {
        self.needed_successes()
    }

    /// The lease of a probe, if it was set.
    pub const fn get_probe_lease(&self) -> Option<Duration> {
        time_of(self.probe_lease_ms)
    }

    /// The lease of a probe in a word of this layout, set or not.
    pub const fn get_probe_lease_in(&self, layout: Layout) -> Duration {
        Duration::from_millis(self.lease(layout.max_ms()) as u64)
    }

    /// How old a dropped probe must be to count as failed.
    pub const fn get_cancel_limit(&self) -> Duration {
        Duration::from_millis(self.cancel_limit_ms as u64)
    }

    /// The first share in percent and the time of a gradual return, if traffic returns gradually.
    pub const fn get_gradual_return(&self) -> Option<(u32, Duration)> {
        match self.gradual_return {
            Some(back) => Some((
                back.first_percent as u32,
                Duration::from_millis(back.over_ms as u64),
            )),
            None => None,
        }
    }
}

/// What follows from the settings.
impl Config {
    /// Whether it asks for memory beside the word.
    #[inline]
    pub(crate) const fn needs_tally(&self) -> bool {
        self.ratio.is_some() || matches!(self.trip, TripRule::TallyOnly)
    }

    pub(crate) const fn needed_successes(&self) -> u32 {
        match self.close_after {
            Some(successes) => successes as u32,
            None => self.probes as u32,
        }
    }

    /// The longest minimum open time that a failure may ask for, for a word that holds `longest_ms`.
    pub(crate) const fn longest_retry_after(&self, longest_ms: u32) -> u32 {
        match self.max_retry_after_ms {
            Some(ms) => ms,
            None if longest_ms < DEFAULT_RETRY_AFTER_MS => longest_ms,
            None => DEFAULT_RETRY_AFTER_MS,
        }
    }

    /// The lease of a probe, for a word that holds `longest_ms`.
    pub(crate) const fn lease(&self, longest_ms: u32) -> u32 {
        match self.probe_lease_ms {
            Some(ms) => ms,
            None if longest_ms < DEFAULT_LEASE_MS => longest_ms,
            None => DEFAULT_LEASE_MS,
        }
    }
}
