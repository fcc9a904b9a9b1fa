//! The breaker once more, as a plain struct: the reference that the real one is compared with.
//!
//! Written from the list of behaviours and the public documentation, in another style than the
//! crate: no bits, no atomics, generations and times that never wrap, the probes in flight as a list
//! of their numbers. Times are milliseconds; what the word can only store in ticks is rounded here in
//! plain arithmetic.

#![expect(missing_docs, reason = "the names of the fields and variants say it")]

use std::time::Duration;

use atomic_breaker::{Cause, Config, State};

/// The rules of a breaker, and the coarseness of the word that it lives in.
#[derive(Clone, Debug)]
pub struct Rules {
    pub trip: Trip,
    pub open_for: u64,
    /// Factor and maximum.
    pub growth: Option<(u64, u64)>,
    pub max_retry_after: Option<u64>,
    pub probes: usize,
    pub close_after: u32,
    pub lease: u64,
    pub slow: Option<u64>,
    pub grain: Grain,
}

/// When failures trip.
#[derive(Clone, Copy, Debug)]
pub enum Trip {
    InARow(u32),
    Within(u32, u64),
}

/// What a word cannot tell apart.
#[derive(Clone, Copy, Debug)]
pub struct Grain {
    /// Milliseconds of a tick.
    pub tick: u64,
    /// An open time has so many significant bits.
    pub significant: u32,
    /// Trips in a row are counted up to here.
    pub most_trips: u32,
    /// The longest open time, in ticks.
    pub longest: u64,
}

impl Grain {
    /// The 64-bit word.
    pub const WIDE: Self = Self {
        tick: 1,
        significant: 12,
        most_trips: 31,
        longest: 1 << 31,
    };

    /// The 32-bit word with the given tick.
    pub const fn narrow(tick: u64) -> Self {
        Self {
            tick,
            significant: 5,
            most_trips: 7,
            longest: 1 << 14,
        }
    }

    /// A number of milliseconds in whole ticks, no less.
    fn up(self, ms: u64) -> u64 {
        ms.div_ceil(self.tick)
    }

    /// An open time in ticks as it is stored: no less, in few significant bits.
    fn stored(self, ticks: u64) -> u64 {
        let mut unit = 1;
        while ticks.div_ceil(unit) >= 1 << self.significant {
            unit *= 2;
        }
        ticks.div_ceil(unit) * unit
    }
}

impl Rules {
    /// The same rules for the real breaker.
    pub fn config(&self) -> Config {
        let ms = Duration::from_millis;
        let mut config = Config::new()
            .open_for(ms(self.open_for))
            .probes(self.probes as u32)
            .close_after(self.close_after)
            .probe_lease(ms(self.lease))
            .tick_log2_ms(self.grain.tick.ilog2());
        config = match self.trip {
            Trip::InARow(failures) => config.consecutive_failures(failures),
            Trip::Within(failures, window) => config.failures_within(failures, ms(window)),
        };
        if let Some((factor, max)) = self.growth {
            config = config.exponential(factor as u32, ms(max));
        }
        if let Some(limit) = self.max_retry_after {
            config = config.max_retry_after(ms(limit));
        }
        if let Some(limit) = self.slow {
            config = config.slow_call(ms(limit));
        }
        config
    }

    fn open_ticks(&self, trips: u32, at_least: u64) -> u64 {
        let mut open = self.open_for;
        if let Some((factor, max)) = self.growth {
            for _ in 1..trips {
                open = (open * factor).min(max);
            }
        }
        let longest = self.grain.longest * self.grain.tick;
        let at_least = at_least.min(self.max_retry_after.unwrap_or(longest));
        self.grain.stored(self.grain.up(open.max(at_least)))
    }
}

/// The right to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    pub generation: u64,
    pub number: u64,
    pub is_probe: bool,
    pub started: u64,
}

/// What is said about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    Success,
    Failure(u32),
    TripAtOnce,
    /// Milliseconds.
    RetryAfter(u64),
    Nothing,
}

/// What an operator says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Trip,
    ForceOpen,
    Release,
    Reset,
    Disable,
    Enable,
}

/// A transition, as an observer is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub from: State,
    pub to: State,
    pub cause: Cause,
    pub trips: u32,
    pub open_for: u64,
}

/// Where the breaker stands. Stored times are in ticks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    Closed {
        failures: u32,
        window_began: u64,
    },
    Open {
        began: u64,
        lasts: u64,
    },
    Probing {
        out: Vec<u64>,
        successes: u32,
        last: u64,
    },
    ForcedOpen,
    Disabled,
}

/// The reference breaker. Its clock is the public field `now`.
#[derive(Clone, Debug)]
pub struct Reference {
    pub rules: Rules,
    pub now: u64,
    pub generation: u64,
    pub trips: u32,
    pub mode: Mode,
    /// The transition of the last operation.
    pub told: Option<Told>,
    admitted: u64,
}

impl Reference {
    /// Closed and fresh.
    pub fn new(rules: Rules, now: u64) -> Self {
        Self {
            rules,
            now,
            generation: 0,
            trips: 0,
            mode: Mode::CLEAR,
            told: None,
            admitted: 0,
        }
    }

    /// The state.
    pub fn state(&self) -> State {
        match self.mode {
            Mode::Closed { .. } => State::Closed,
            Mode::Open { .. } => State::Open,
            Mode::Probing { .. } => State::HalfOpen,
            Mode::ForcedOpen => State::ForcedOpen,
            Mode::Disabled => State::Disabled,
        }
    }

    /// How long a caller would have to wait; nobody knows while forced open.
    pub fn wait(&self) -> Option<u64> {
        match &self.mode {
            Mode::Open { began, lasts } => Some(self.until(began + lasts)),
            Mode::Probing { out, last, .. } if out.len() >= self.slots() => {
                Some(self.until(last + self.rules.grain.up(self.rules.lease)))
            }
            Mode::ForcedOpen => None,
            _ => Some(0),
        }
    }

    /// Asks for a pass.
    ///
    /// # Errors
    /// The time to wait.
    pub fn ask(&mut self) -> Result<Pass, Option<u64>> {
        self.told = None;
        if self.wait() != Some(0) {
            return Err(self.wait());
        }
        self.admitted += 1;
        let number = self.admitted;
        let last = self.stamp();
        let slots = self.slots();
        match &mut self.mode {
            Mode::Closed { .. } | Mode::Disabled | Mode::ForcedOpen => {}
            Mode::Open { .. } => self.new_round(number, Cause::OpenTimeOver),
            Mode::Probing { out, .. } if out.len() >= slots => {
                self.new_round(number, Cause::ProbeLost);
            }
            Mode::Probing {
                out, last: before, ..
            } => {
                out.push(number);
                *before = last;
            }
        }
        Ok(Pass {
            generation: self.generation,
            number,
            is_probe: self.state() == State::HalfOpen,
            // A start in the millisecond in which the clock reads 0 is taken for the next one.
            started: self.now + u64::from(self.now.is_multiple_of(1 << 32)),
        })
    }

    /// Hears how the call of a pass went.
    pub fn hear(&mut self, pass: Pass, report: Report) {
        self.told = None;
        let took = self.now.saturating_sub(pass.started);
        let report = match (report, self.rules.slow) {
            (Report::Success, Some(limit)) if took >= limit => Report::Failure(1),
            _ => report,
        };
        if pass.generation != self.generation || matches!(self.mode, Mode::Disabled) {
            return;
        }
        if let Mode::Probing { out, .. } = &mut self.mode {
            out.retain(|number| *number != pass.number);
        }
        match report {
            Report::Nothing => {}
            Report::Success => self.succeeded(),
            Report::Failure(weight) => self.failed(weight),
            Report::TripAtOnce => self.fall(0, Cause::TripDemanded),
            Report::RetryAfter(time) => self.fall(time, Cause::RetryAfter),
        }
    }

    /// Obeys an operator.
    pub fn obey(&mut self, order: Order) {
        self.told = None;
        let state = self.state();
        let to = match order {
            Order::Trip => match state {
                State::Closed | State::HalfOpen => return self.fall(0, Cause::Manual),
                State::Open => return self.open(0, Cause::Manual),
                _ => return,
            },
            Order::ForceOpen if state != State::ForcedOpen => Mode::ForcedOpen,
            Order::Release if state == State::ForcedOpen => Mode::Probing {
                out: Vec::new(),
                successes: 0,
                last: 0,
            },
            Order::Reset => Mode::CLEAR,
            Order::Disable if state != State::Disabled => Mode::Disabled,
            Order::Enable if state == State::Disabled => Mode::CLEAR,
            _ => return,
        };
        self.trips = 0;
        self.go(to, Cause::Manual);
    }

    fn succeeded(&mut self) {
        match &mut self.mode {
            mode @ Mode::Closed { .. } => {
                if let Trip::InARow(_) = self.rules.trip {
                    *mode = Mode::CLEAR;
                }
            }
            Mode::Probing { successes, .. } => {
                *successes += 1;
                if *successes >= self.rules.close_after {
                    self.trips = 0;
                    self.go(Mode::CLEAR, Cause::ProbesSucceeded);
                }
            }
            _ => {}
        }
    }

    fn failed(&mut self, weight: u32) {
        let now = self.stamp();
        let read = self.now / self.rules.grain.tick;
        match &mut self.mode {
            Mode::Closed {
                failures,
                window_began,
            } => {
                if weight == 0 {
                    return;
                }
                let limit = match self.rules.trip {
                    Trip::InARow(limit) => limit,
                    Trip::Within(limit, window) => {
                        let ended = *window_began + self.rules.grain.up(window) <= read;
                        if *failures == 0 || ended {
                            *failures = 0;
                            *window_began = now;
                        }
                        limit
                    }
                };
                *failures += weight;
                if *failures >= limit {
                    self.fall(0, Cause::FailureLimit);
                }
            }
            Mode::Probing { .. } => self.fall(0, Cause::ProbeFailed),
            _ => {}
        }
    }

    /// Trips, from closed or half-open.
    fn fall(&mut self, at_least: u64, cause: Cause) {
        let is_probe = self.state() == State::HalfOpen && cause != Cause::Manual;
        self.trips = (self.trips + 1).min(self.rules.grain.most_trips);
        self.open(at_least, if is_probe { Cause::ProbeFailed } else { cause });
    }

    fn open(&mut self, at_least: u64, cause: Cause) {
        let mode = Mode::Open {
            began: self.stamp(),
            lasts: self.rules.open_ticks(self.trips, at_least),
        };
        self.go(mode, cause);
    }

    fn new_round(&mut self, number: u64, cause: Cause) {
        let mode = Mode::Probing {
            out: vec![number],
            successes: 0,
            last: self.stamp(),
        };
        self.go(mode, cause);
    }

    fn go(&mut self, mode: Mode, cause: Cause) {
        let from = self.state();
        self.generation += 1;
        self.mode = mode;
        self.told = Some(Told {
            from,
            to: self.state(),
            cause,
            trips: self.trips,
            open_for: match self.mode {
                Mode::Open { lasts, .. } => lasts * self.rules.grain.tick,
                _ => 0,
            },
        });
    }

    fn slots(&self) -> usize {
        match self.mode {
            Mode::Probing { successes, .. } => {
                let needed = self.rules.close_after.saturating_sub(successes);
                self.rules.probes.min(needed as usize)
            }
            _ => 0,
        }
    }

    /// The tick to store for now: no earlier.
    fn stamp(&self) -> u64 {
        self.rules.grain.up(self.now)
    }

    /// Milliseconds from now until a tick begins.
    fn until(&self, tick: u64) -> u64 {
        (tick * self.rules.grain.tick).saturating_sub(self.now)
    }
}

impl Mode {
    /// Closed with nothing counted.
    pub const CLEAR: Self = Self::Closed {
        failures: 0,
        window_began: 0,
    };
}
