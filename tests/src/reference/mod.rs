//! The breaker once more, as a plain struct: the reference that the real one is compared with.
//!
//! Written from the list of behaviours and the public documentation, in another style than the
//! crate: no bits, no atomics, generations and times that never wrap, the probes in flight as a list
//! of their numbers. Times are milliseconds; what the word can only store in ticks is rounded here in
//! plain arithmetic.
//!
//! What the word cannot tell is in [`Grain`], and nowhere else. A grain that knows of the wrap of the
//! time (`Grain::wrapping`) sees ages as the documentation of the limits says; one that does not sees
//! true ages, however large.

#![expect(missing_docs, reason = "the names of the fields and variants say it")]

mod rules;
mod terms;
mod view;

pub use rules::{Grain, Rules, Trip, Wrap};
pub use terms::{Order, Pass, Report, Told};
pub use view::View;

use atomic_breaker::{Cause, State};

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
            Mode::Open { began, lasts } => Some(self.left(*began, *lasts)),
            Mode::Probing { out, last, .. } if out.len() >= self.slots() => {
                Some(self.left(*last, self.rules.grain.up(self.rules.lease)))
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
        let report = match (report, self.rules.slow) {
            (Report::Success, Some(limit)) if self.took(pass) >= limit => Report::Failure(1),
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

    /// Takes over the open time that was drawn by lot, in milliseconds.
    pub fn stay_open_for(&mut self, drawn: u64) {
        if let Mode::Open { lasts, .. } = &mut self.mode {
            *lasts = drawn / self.rules.grain.tick;
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
            Order::ProbeNow => {
                if state == State::Open {
                    self.go(Mode::FREE, Cause::Manual);
                }
                return;
            }
            Order::ForceOpen if state != State::ForcedOpen => Mode::ForcedOpen,
            Order::Release if state == State::ForcedOpen => Mode::FREE,
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
        let rules = self.rules;
        let age = match self.mode {
            Mode::Closed { window_began, .. } => self.age(window_began),
            _ => 0,
        };
        match &mut self.mode {
            Mode::Closed {
                failures,
                window_began,
            } => {
                if weight == 0 {
                    return;
                }
                let limit = match rules.trip {
                    Trip::InARow(limit) => limit,
                    Trip::Within(limit, window) => {
                        let ended = age >= rules.grain.up(window).cast_signed();
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
            lasts: *self.rules.open_ticks(self.trips, at_least).start(),
        };
        self.go(mode, cause);
        let longest = *self.rules.open_ticks(self.trips, at_least).end();
        if let Some(told) = &mut self.told {
            told.longest = longest * self.rules.grain.tick;
        }
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
            longest: 0,
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

    /// How many ticks ago a stored tick was, seen through the word; less than 0 when it is ahead.
    fn age(&self, then: u64) -> i64 {
        let age = (self.now / self.rules.grain.tick).cast_signed() - then.cast_signed();
        let Some(Wrap { ticks, guard }) = self.rules.grain.wrap else {
            return age;
        };
        let seen = age.rem_euclid(ticks);
        if ticks - seen <= guard {
            seen - ticks
        } else {
            seen
        }
    }

    /// Milliseconds until so many ticks have passed since a stored one.
    fn left(&self, since: u64, wait: u64) -> u64 {
        let ticks = wait.cast_signed() - self.age(since);
        let ms = ticks * self.rules.grain.tick.cast_signed();
        let into_this_tick = (self.now % self.rules.grain.tick).cast_signed();
        (ms - into_this_tick).max(0).cast_unsigned()
    }

    /// How long a call took; 0 when the clock stepped back.
    fn took(&self, pass: Pass) -> u64 {
        let Some(_) = self.rules.grain.wrap else {
            return self.now.saturating_sub(pass.started);
        };
        // The clock's own readings wrap, too; more than half their range is a step back.
        let seen = self.now.wrapping_sub(pass.started) % (1 << 32);
        if seen < 1 << 31 { seen } else { 0 }
    }
}

impl Mode {
    /// Closed with nothing counted.
    pub const CLEAR: Self = Self::Closed {
        failures: 0,
        window_began: 0,
    };

    /// Half-open, nobody out yet.
    const FREE: Self = Self::Probing {
        out: Vec::new(),
        successes: 0,
        last: 0,
    };
}
