// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a resource, and its callers.

use std::time::Duration;

use atomic_breaker::{Failure, Outcome};
use fastrand::Rng;

use super::call::{Completion, PlannedCall};
use super::cold::{ColdServer, Warming};
use super::figures::UsefulWithin;
use super::source::{CallSource, Callers};

/// A resource that works, has an outage of some kind, and works again; and those who call it.
///
/// Unless set otherwise the resource works for 10 s, is in trouble for 60 s and works for another 60 s; 100 callers call it 100
/// times a second, and its answers take 10 ms.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Scenario {
    kind: OutageKind,
    load: u32,
    callers: u32,
    latency: Duration,
    background_percent: u8,
    healthy_for: Duration,
    lasts: Duration,
    well_for: Duration,
    useful_within: Option<Duration>,
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, Debug)]
enum OutageKind {
    Dead,
    Hangs(Duration),
    Errors(u8),
    Slow(Duration),
    Flapping { up: Duration, down: Duration },
    Cold(ColdServer),
    RateLimited(Duration),
}

/// The time until a connection is refused.
const REFUSED: Duration = Duration::from_millis(1);

const FAILED: Outcome = Outcome::Failure(Failure::new());

/// A time that is played to its end.
const fn ending(time: Duration) -> Duration {
    assert!(
        time.as_secs() <= 366 * 86_400,
        "a scenario is played to its end: set at most a year"
    );
    time
}

/// Longer than any scenario, and short enough to add several.
const LONGEST_US: u128 = 1 << 60;

const fn micros(time: Duration) -> u64 {
    let us = time.as_micros();
    (if us < LONGEST_US { us } else { LONGEST_US }) as u64
}

impl Scenario {
    const fn new(kind: OutageKind) -> Self {
        Self {
            kind,
            load: 100,
            callers: 100,
            latency: Duration::from_millis(10),
            background_percent: 0,
            healthy_for: Duration::from_secs(10),
            lasts: Duration::from_secs(60),
            well_for: Duration::from_secs(60),
            useful_within: None,
            seed: 0,
        }
    }

    /// Every call fails within a millisecond: the connection is refused.
    pub const fn dead() -> Self {
        Self::new(OutageKind::Dead)
    }

    /// Nothing answers: every call fails after the time limit that you give your calls, at most 71 min. Without one, calls
    /// would hang forever.
    pub const fn hangs(time_limit: Duration) -> Self {
        Self::new(OutageKind::Hangs(time_limit))
    }

    /// So many percent of the calls fail, from 0 to 100.
    ///
    /// # Panics
    /// If `percent` is more than 100.
    pub const fn errors(percent: u8) -> Self {
        assert!(percent <= 100, "percent must be at most 100");
        Self::new(OutageKind::Errors(percent))
    }

    /// Every call succeeds, but takes this long: at most 71 min.
    pub const fn slow(time: Duration) -> Self {
        Self::new(OutageKind::Slow(time))
    }

    /// The resource alternates between dead and working, dead first.
    pub const fn flapping(down: Duration, up: Duration) -> Self {
        Self::new(OutageKind::Flapping { up, down })
    }

    /// The resource is dead, and cannot bear the whole load at once when it is back.
    pub const fn restarted(server: ColdServer) -> Self {
        Self::new(OutageKind::Cold(server))
    }

    /// The resource refuses every call, and asks its callers to wait this long (`Retry-After`). Such a failure counts like any
    /// other, and says for how long the breaker opens once its rules trip.
    pub const fn rate_limited(retry_after: Duration) -> Self {
        Self::new(OutageKind::RateLimited(retry_after))
    }

    /// Calls a second, if no caller has to wait: 100 unless set, at most a million for each caller.
    ///
    /// # Panics
    /// If it is 0.
    pub const fn load(mut self, calls_per_second: u32) -> Self {
        assert!(calls_per_second > 0, "calls_per_second must not be 0");
        self.load = calls_per_second;
        self
    }

    /// Sets the number of callers, each of whom waits for a call before making the next one, so the most calls in
    /// flight: 100 unless set.
    ///
    /// # Panics
    /// If it is 0.
    pub const fn callers(mut self, number: u32) -> Self {
        assert!(number > 0, "callers must not be 0");
        self.callers = number;
        self
    }

    /// Sets the time that answers take while the resource works: 10 ms unless set, at most 71 min.
    pub const fn latency(mut self, time: Duration) -> Self {
        self.latency = time;
        self
    }

    /// So many percent of the calls fail at any time, from 0 to 100: none unless set.
    ///
    /// # Panics
    /// If `percent` is more than 100.
    pub const fn background(mut self, percent: u8) -> Self {
        assert!(percent <= 100, "percent must be at most 100");
        self.background_percent = percent;
        self
    }

    /// Sets the time for which the resource works at first: 10 s unless set.
    ///
    /// # Panics
    /// If it is more than a year: a scenario is played to its end.
    pub const fn healthy_for(mut self, time: Duration) -> Self {
        self.healthy_for = ending(time);
        self
    }

    /// Sets the time that the outage lasts: 60 s unless set.
    ///
    /// # Panics
    /// If it is more than a year: a scenario is played to its end.
    pub const fn lasts(mut self, time: Duration) -> Self {
        self.lasts = ending(time);
        self
    }

    /// Sets the time for which the resource works after the outage: 60 s unless set.
    ///
    /// # Panics
    /// If it is more than a year: a scenario is played to its end.
    pub const fn well_for(mut self, time: Duration) -> Self {
        self.well_for = ending(time);
        self
    }

    /// Sets the time after which an answer is useless to its caller, and counts as wasted: never unless set.
    pub const fn useful_within(mut self, limit: Duration) -> Self {
        self.useful_within = Some(limit);
        self
    }

    /// Sets the seed of the calls that fail, where only some do, and of the breaker's jitter: 0 unless set. Another
    /// seed gives another run.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(crate) const fn begins_us(&self) -> u64 {
        micros(self.healthy_for)
    }

    pub(crate) const fn ends_us(&self) -> u64 {
        self.begins_us() + micros(self.lasts)
    }

    /// The time at which the last call begins.
    pub(crate) const fn over_us(&self) -> u64 {
        self.ends_us() + micros(self.well_for)
    }

    pub(crate) const fn is_outage(&self, at_us: u64) -> bool {
        self.begins_us() <= at_us && at_us < self.ends_us()
    }

    pub(crate) fn useful(&self) -> UsefulWithin {
        UsefulWithin::new(self.useful_within)
    }

    /// The calls of the scenario.
    pub(crate) fn calls(self) -> impl CallSource {
        let every_us = u64::from(self.callers) * 1_000_000 / u64::from(self.load);
        assert!(
            every_us > 0,
            "a caller makes at most a million calls a second: set fewer calls, or more callers"
        );
        let end = self.over_us();
        let mut random = Rng::with_seed(self.seed);
        Callers::new(self.callers, every_us, move |at| {
            (at < end).then(|| PlannedCall::new(at, self.completion_at(at, &mut random)))
        })
    }

    /// The server of the scenario, which may be cold after the outage.
    pub(crate) fn server(self) -> impl FnMut(&PlannedCall) -> Completion {
        let mut warming = match self.kind {
            OutageKind::Cold(server) => {
                Some(Warming::new(server, self.ends_us(), f64::from(self.load)))
            }
            _ => None,
        };
        move |call| {
            if warming.as_mut().is_none_or(|it| it.bears(call.start_us)) {
                call.completion
            } else {
                Completion::new(FAILED, self.latency)
            }
        }
    }

    fn completion_at(&self, at_us: u64, random: &mut Rng) -> Completion {
        let mut fails = |percent: u8| percent > 0 && random.u8(..100) < percent;
        let Self { kind, latency, .. } = *self;
        let refused = |failure: Failure| Completion::new(failure.into(), REFUSED);
        let has_failed = fails(self.background_percent);
        let outcome = if has_failed { FAILED } else { Outcome::Success };
        let usual = Completion::new(outcome, latency);
        if !self.is_outage(at_us) {
            return usual;
        }
        match kind {
            OutageKind::Dead | OutageKind::Cold(_) => refused(Failure::new()),
            OutageKind::Hangs(limit) => Completion::new(FAILED, limit),
            OutageKind::Errors(percent) if fails(percent) => Completion::new(FAILED, latency),
            OutageKind::Errors(_) => usual,
            OutageKind::Slow(time) => Completion::new(outcome, time),
            OutageKind::Flapping { up, down } => {
                let turn = (micros(up) + micros(down)).max(1);
                let since = (at_us - self.begins_us()) % turn;
                if since < micros(down) {
                    refused(Failure::new())
                } else {
                    usual
                }
            }
            OutageKind::RateLimited(time) => refused(Failure::retry_after(time)),
        }
    }
}
