// SPDX-License-Identifier: MIT OR Apache-2.0
//! The troubles of a resource.

mod calls;
mod chance;
mod outages;
mod replicas;
mod returns;

use std::ops::Range;

use crate::clock::{BEGIN, MS, SECOND, Time, scramble};
use crate::guard::TRY_LIMIT;
use crate::world::World;

/// Calls a second.
pub const RATES: [u32; 4] = [1, 10, 100, 1_000];

/// The time for which the row of failures must last in the preset.
pub const LASTING: Time = 100 * MS;

/// The longest that a healthy resource takes: so late a success ends a row of failures when it dies.
const LATEST: Time = 150 * MS;

/// A kind of trouble.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// In a few words.
    pub name: &'static str,
    /// The length of the scenario, in seconds; by default as long as the rate needs to show
    /// something.
    pub seconds: Option<u64>,
    /// While the resource is down, if it ever is, in seconds from the beginning of the trouble.
    pub down: Option<Down>,
    /// The promise of partial trouble applies.
    pub is_partial: bool,
    /// Calls are gRPC.
    pub is_grpc: bool,
    /// The rates at which it is played; all by default.
    pub rates: &'static [u32],
    /// The resource, called so many times a second.
    pub world: fn(f64) -> World,
}

/// A total outage.
#[derive(Clone, Copy, Debug)]
pub struct Down {
    /// In seconds from the beginning of the trouble.
    pub from: u64,
    /// In seconds from the beginning of the trouble.
    pub until: u64,
    /// It cannot be noticed before the limit of a try.
    pub hangs: bool,
    /// It asks its callers to stay away for so many seconds.
    pub asks: u64,
    /// Afterwards it is healthy, so the time until it is served again counts.
    pub ends_well: bool,
}

impl Down {
    /// From the beginning of the trouble on.
    pub const fn for_seconds(seconds: u64) -> Self {
        Self {
            from: 0,
            until: seconds,
            hangs: false,
            asks: 0,
            ends_well: true,
        }
    }

    const fn hanging(mut self) -> Self {
        self.hangs = true;
        self
    }

    const fn asking(mut self, seconds: u64) -> Self {
        self.asks = seconds;
        self
    }

    const fn ending_badly(mut self) -> Self {
        self.ends_well = false;
        self
    }

    /// Its length, in seconds.
    pub const fn seconds(&self) -> u64 {
        self.until - self.from
    }
}

impl Scenario {
    /// Partial trouble.
    pub(crate) const fn partial(name: &'static str, world: fn(f64) -> World) -> Self {
        Self {
            name,
            seconds: None,
            down: None,
            is_partial: true,
            is_grpc: false,
            rates: &RATES,
            world,
        }
    }

    /// A total outage.
    pub(crate) const fn total(name: &'static str, down: Down, world: fn(f64) -> World) -> Self {
        Self {
            seconds: Some(down.until),
            down: Some(down),
            is_partial: false,
            ..Self::partial(name, world)
        }
    }

    const fn lasting(mut self, seconds: u64) -> Self {
        self.seconds = Some(seconds);
        self
    }

    const fn grpc(mut self) -> Self {
        self.is_grpc = true;
        self
    }

    const fn at(mut self, rates: &'static [u32]) -> Self {
        self.rates = rates;
        self
    }

    /// The plan of its runs at a rate, and how many runs there are.
    pub fn plan(&self, rate: u32) -> (Plan, u64) {
        let (warm, trouble, after, runs) = match rate {
            0 => (7_200, 86_400, 7_200, 2),
            1 => (20, 600, 20, 10),
            10 => (20, 200, 20, 4),
            100 => (10, 60, 10, 2),
            _ => (5, 30, 5, 1),
        };
        let seconds = self.seconds.unwrap_or(trouble);
        // Half a minute more than the longest open time of most.
        let after = if self.down.is_some() && rate > 0 {
            60
        } else {
            after
        };
        let runs = if self.down.is_some() && rate == 1 && seconds < 100 {
            runs * 3
        } else {
            runs
        };
        let begin = BEGIN + warm * SECOND;
        let trouble = begin..begin + seconds * SECOND;
        let end = trouble.end + after * SECOND;
        let down = self
            .down
            .map(|down| begin + down.from * SECOND..begin + down.until * SECOND);
        let hangs = self.down.is_some_and(|down| down.hangs);
        let counted = match &down {
            // What follows the outage.
            Some(down) if self.is_partial => down.end..end,
            Some(_) => BEGIN..end,
            None => trouble.start..trouble.end,
        };
        let plan = Plan {
            seed: scramble(
                self.name
                    .bytes()
                    .fold(7, |hash, byte| scramble(hash ^ u64::from(byte))),
            ),
            rate: if rate == 0 {
                1.0 / 60.0
            } else {
                f64::from(rate)
            },
            trouble,
            end,
            counted,
            down,
            notice: LASTING + LATEST + if hangs { TRY_LIMIT } else { 0 },
            world: self.world,
        };
        (plan, runs)
    }
}

/// Everything about a run but the breaker.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Of the arrivals, and of what comes of each try.
    pub seed: u64,
    /// Calls a second.
    pub rate: f64,
    /// The time of the trouble.
    pub trouble: Range<Time>,
    /// Calls arrive until then.
    pub end: Time,
    /// Of calls that arrive then it is counted how many are served.
    pub counted: Range<Time>,
    /// The time for which the resource is down.
    pub down: Option<Range<Time>>,
    /// The time for which no breaker can know that it is down.
    pub notice: Time,
    /// The resource.
    pub world: fn(f64) -> World,
}

impl Plan {
    /// Returns whether the resource is down.
    pub fn is_down(&self, now: Time) -> bool {
        self.down.as_ref().is_some_and(|down| down.contains(&now))
    }
}

/// All scenarios.
pub fn all() -> Vec<Scenario> {
    let mut all = Vec::new();
    all.extend(chance::SCENARIOS);
    all.extend(replicas::SCENARIOS);
    all.extend(calls::SCENARIOS);
    all.extend(returns::SCENARIOS);
    all.extend(outages::SCENARIOS);
    all
}

/// The time since the trouble began, while it lasts.
fn elapsed(since: i64, lasts: Time) -> Option<Time> {
    let since = Time::try_from(since).ok()?;
    (since < lasts).then_some(since)
}
