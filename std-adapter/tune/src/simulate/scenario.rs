//! What happens to the resource, and who calls it.

use std::time::Duration;

use fastrand::Rng;

use crate::call::{Call, Ending, Met};
use crate::callers::Resource;
use crate::cold::{ColdServer, Warming};
use crate::figures::UsefulWithin;

/// A resource that works, has an outage of some kind, and works again; and those who call it.
///
/// Unless set otherwise it works for 10 s, is in trouble for 60 s and is well for another 60 s; 100 callers call it 100 times
/// a second, and its answers take 10 ms.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Scenario {
    kind: Kind,
    load: u32,
    callers: u32,
    latency: Duration,
    background_percent: u8,
    healthy_for: Duration,
    lasts: Duration,
    well_for: Duration,
    useful_within: Option<Duration>,
    pub(super) seed: u64,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Dead,
    Hangs(Duration),
    Errors(u8),
    Slow(Duration),
    Flapping { up: Duration, down: Duration },
    Cold(ColdServer),
    RateLimited(Duration),
}

/// A refused connection.
const REFUSED: Duration = Duration::from_millis(1);

const fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}

impl Scenario {
    const fn new(kind: Kind) -> Self {
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

    /// Every call fails at once: nobody listens.
    pub const fn dead() -> Self {
        Self::new(Kind::Dead)
    }

    /// Nothing answers: every call fails after the time limit that you give your calls, at most 71 min. Without one it would
    /// hang for ever.
    pub const fn hangs(time_limit: Duration) -> Self {
        Self::new(Kind::Hangs(time_limit))
    }

    /// So many percent of the calls fail, from 0 to 100.
    ///
    /// # Panics
    /// If it is more.
    pub const fn errors(percent: u8) -> Self {
        assert!(percent <= 100, "at most 100 percent of the calls fail");
        Self::new(Kind::Errors(percent))
    }

    /// Every call succeeds, but takes this long.
    pub const fn slow(time: Duration) -> Self {
        Self::new(Kind::Slow(time))
    }

    /// It is dead and works by turns, dead first.
    pub const fn flapping(down: Duration, up: Duration) -> Self {
        Self::new(Kind::Flapping { up, down })
    }

    /// It is dead, and when it is back it cannot bear the whole load at once.
    pub const fn restarted(server: ColdServer) -> Self {
        Self::new(Kind::Cold(server))
    }

    /// It refuses every call, and asks its callers to wait this long (`Retry-After`).
    pub const fn rate_limited(retry_after: Duration) -> Self {
        Self::new(Kind::RateLimited(retry_after))
    }

    /// Calls a second, if nobody has to wait.
    ///
    /// # Panics
    /// If it is 0.
    pub const fn load(mut self, calls_per_second: u32) -> Self {
        assert!(calls_per_second > 0, "somebody calls");
        self.load = calls_per_second;
        self
    }

    /// So many callers, each of whom waits for a call before making the next one: the most calls in flight.
    ///
    /// # Panics
    /// If it is 0.
    pub const fn callers(mut self, number: u32) -> Self {
        assert!(number > 0, "somebody calls");
        self.callers = number;
        self
    }

    /// How long answers take while it works.
    pub const fn latency(mut self, time: Duration) -> Self {
        self.latency = time;
        self
    }

    /// So many percent of the calls fail at any time, from 0 to 100.
    ///
    /// # Panics
    /// If it is more.
    pub const fn background(mut self, percent: u8) -> Self {
        assert!(percent <= 100, "at most 100 percent of the calls fail");
        self.background_percent = percent;
        self
    }

    /// How long it works at first.
    pub const fn healthy_for(mut self, time: Duration) -> Self {
        self.healthy_for = time;
        self
    }

    /// How long the outage lasts.
    pub const fn lasts(mut self, time: Duration) -> Self {
        self.lasts = time;
        self
    }

    /// How long it works afterwards.
    pub const fn well_for(mut self, time: Duration) -> Self {
        self.well_for = time;
        self
    }

    /// Answers that take longer are useless to the callers: they count as wasted.
    pub const fn useful_within(mut self, limit: Duration) -> Self {
        self.useful_within = Some(limit);
        self
    }

    /// Which calls fail, where only some do, and the jitter of the breaker: another seed, another run.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(super) const fn begins_us(&self) -> u64 {
        micros(self.healthy_for)
    }

    pub(super) const fn ends_us(&self) -> u64 {
        self.begins_us() + micros(self.lasts)
    }

    pub(super) const fn is_outage(&self, at_us: u64) -> bool {
        self.begins_us() <= at_us && at_us < self.ends_us()
    }

    pub(super) fn useful(&self) -> UsefulWithin {
        UsefulWithin(self.useful_within.map_or(u32::MAX, |limit| {
            u32::try_from(limit.as_micros()).unwrap_or(u32::MAX)
        }))
    }

    /// How many callers there are, and how often each of them calls.
    pub(super) fn callers_and_beat(&self) -> (u32, u64) {
        let beat = u64::from(self.callers) * 1_000_000 / u64::from(self.load);
        (self.callers, beat.max(1))
    }

    pub(super) fn play(self) -> Played {
        let warming = match self.kind {
            Kind::Cold(server) => Some(Warming::new(server, self.ends_us(), f64::from(self.load))),
            _ => None,
        };
        Played {
            scenario: self,
            random: Rng::with_seed(self.seed),
            warming,
        }
    }
}

/// A scenario while it is played.
pub(super) struct Played {
    scenario: Scenario,
    random: Rng,
    warming: Option<Warming>,
}

impl Played {
    fn fails(&mut self, percent: u8) -> bool {
        percent > 0 && self.random.u8(..100) < percent
    }

    fn ending(&mut self, at_us: u64) -> Ending {
        let Scenario { kind, latency, .. } = self.scenario;
        let dead = Ending::new(Met::Failure, REFUSED);
        let met = if self.fails(self.scenario.background_percent) {
            Met::Failure
        } else {
            Met::Success
        };
        let usual = Ending::new(met, latency);
        if !self.scenario.is_outage(at_us) {
            return usual;
        }
        match kind {
            Kind::Dead | Kind::Cold(_) => dead,
            Kind::Hangs(limit) => Ending::new(Met::Failure, limit),
            Kind::Errors(percent) if self.fails(percent) => Ending::new(Met::Failure, latency),
            Kind::Errors(_) => usual,
            Kind::Slow(time) => Ending::new(usual.met, time),
            Kind::Flapping { up, down } => {
                let turn = (micros(up) + micros(down)).max(1);
                let since = (at_us - self.scenario.begins_us()) % turn;
                if since < micros(down) { dead } else { usual }
            }
            Kind::RateLimited(time) => dead.retry_after(time),
        }
    }
}

impl Resource for Played {
    fn meets(&mut self, at_us: u64) -> Option<Call> {
        let end = self.scenario.ends_us() + micros(self.scenario.well_for);
        (at_us < end).then(|| Call::new(at_us, self.ending(at_us)))
    }

    fn made(&mut self, call: &Call) -> Ending {
        let at = call.start_us;
        let bears = self.warming.as_mut().is_none_or(|it| it.bears(at));
        if bears {
            call.ending()
        } else {
            Ending::new(Met::Failure, self.scenario.latency)
        }
    }
}
