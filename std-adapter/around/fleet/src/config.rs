// SPDX-License-Identifier: MIT OR Apache-2.0
//! The settings of a fleet.

use std::time::Duration;

use super::error::FleetError;
use super::name::InstanceId;

/// The settings of a fleet, the same in all its instances, and the name of this one. Durations are kept in
/// milliseconds, rounded up.
///
/// ```
/// use atomic_breaker_fleet::FleetConfig;
/// use std::time::Duration;
///
/// // Open for all when three instances have tripped within ten seconds.
/// let fleet = FleetConfig::new(3).window(Duration::from_secs(10));
/// assert!(fleet.check().is_ok());
/// assert_eq!(
///     FleetConfig::new(0).check().unwrap_err().to_string(),
///     "a quorum of 0 instances: set at least 1",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct FleetConfig {
    pub(super) quorum: u32,
    pub(super) window_ms: u32,
    pub(super) grace_percent: u32,
    pub(super) time_limit_ms: u32,
    pub(super) poll_ms: u32,
    pub(super) is_shadow: bool,
    pub(super) instance: Option<InstanceId>,
}

impl FleetConfig {
    /// Opens for all once `quorum` instances, 1 or more, have tripped because of their own outcomes. With 1, one sick
    /// instance opens all; a quorum above the number of living instances never opens, and the joined process shows it.
    pub const fn new(quorum: u32) -> Self {
        Self {
            quorum,
            window_ms: 10_000,
            grace_percent: 10,
            time_limit_ms: 250,
            poll_ms: 5_000,
            is_shadow: false,
            instance: None,
        }
    }

    /// Sets the time for which a trip counts towards the quorum: 1 ms to a day, 10 s unless set. A vote expires this
    /// long after its trip, however long the breaker stays open.
    pub const fn window(mut self, window: Duration) -> Self {
        self.window_ms = ms(window);
        self
    }

    /// Sets the time that an instance waits beyond a period's end before it probes alone, in percent of the period: 1
    /// to 100, 10 unless set; but never less than four times the [time limit](Self::time_limit). Instances that go on alone are
    /// spread over it, as each waits between half of it and all of it.
    pub const fn grace_percent(mut self, percent: u32) -> Self {
        self.grace_percent = percent;
        self
    }

    /// Sets the time limit of the engine's answers: 1 ms to a minute, 250 ms unless set. To connect, and to subscribe,
    /// it may take eight times as long, because that needs several round trips. Make it longer than a round trip to the
    /// engine takes at worst. No call waits for it.
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit_ms = ms(limit);
        self
    }

    /// Sets the interval at which everything is read, because messages may be lost: 1 ms to an hour, 5 s unless set,
    /// and not more often than the [time limit](Self::time_limit).
    pub const fn poll(mut self, poll: Duration) -> Self {
        self.poll_ms = ms(poll);
        self
    }

    /// Sets whether this instance leaves its breakers alone: it votes and listens, and counts what it would have done.
    pub const fn shadow(mut self, is_shadow: bool) -> Self {
        self.is_shadow = is_shadow;
        self
    }

    /// The name of this instance: it tells this process apart from all others in its fleet, and stays the same when the
    /// process is started again. Take the name of the pod or unit, for example, with the number of the worker. Votes
    /// under one name count once, so a process that crashes and restarts over and over opens no other instance.
    ///
    /// Unless set, on Linux it is made of the host name, `/etc/machine-id`, and the lowest number that no living
    /// instance on this machine has. Set it where the host name changes with each start, or where machines share both.
    /// On other systems it is random for each start: set it there.
    pub const fn instance(mut self, name: &str) -> Self {
        self.instance = Some(InstanceId::named(name));
        self
    }

    /// Checks that the settings are valid. Code that takes a configuration should check it.
    ///
    /// # Errors
    /// [`FleetError`] says which setting is invalid, and what to do.
    pub fn check(&self) -> Result<(), FleetError> {
        Err(FleetError::new(if self.quorum == 0 {
            "a quorum of 0 instances: set at least 1"
        } else if !(1..=24 * 60 * 60 * 1_000).contains(&self.window_ms) {
            "the window for votes must be from 1 ms to a day: change it"
        } else if !(1..=100).contains(&self.grace_percent) {
            "the grace must be from 1 to 100 percent: change it"
        } else if !(1..=60_000).contains(&self.time_limit_ms) {
            "the engine's time limit must be from 1 ms to a minute: change it"
        } else if !(1..=60 * 60 * 1_000).contains(&self.poll_ms) {
            "the poll interval must be from 1 ms to an hour: change it"
        } else if self.instance == Some(InstanceId::named("")) {
            "the name of an instance must not be empty: set one, or leave it out for one made from the machine's"
        } else if self.poll_ms < self.time_limit_ms {
            "the poll interval is shorter than the engine's time limit: lengthen the interval or shorten the limit"
        } else {
            return Ok(());
        }))
    }

    /// The grace after a period of `open_ms` milliseconds.
    pub(super) fn grace_ms(&self, open_ms: u32) -> u64 {
        let share = u64::from(open_ms) * u64::from(self.grace_percent) / 100;
        share.max(4 * u64::from(self.time_limit_ms))
    }
}

const fn ms(time: Duration) -> u32 {
    let ms = time.as_nanos().div_ceil(1_000_000);
    // Beyond every limit that is checked.
    if ms > u32::MAX as u128 {
        u32::MAX
    } else {
        ms as u32
    }
}
