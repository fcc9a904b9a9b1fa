// SPDX-License-Identifier: MIT OR Apache-2.0
//! A second implementation of the breaker, as a plain struct: the reference for comparisons with the real one.
//!
//! Written from the list of behaviours and the public documentation, in another style than the
//! crate: no bits, no atomics, generations and times that never wrap, lists of the probes in flight, of the
//! outcomes of calls, and of operators' holds. Times are in milliseconds; times that the word stores in ticks
//! are rounded here in plain arithmetic.
//!
//! The limited precision of the word is modelled in [`Grain`], and nowhere else. A grain that knows about the
//! wrap of the time (`Grain::wrapping`) sees ages as the documentation of the limits describes; without it, a
//! grain sees true ages, however large.
//!
//! The rules are a public field and may be replaced between any two operations, by any others.
//!
//! | file | contents |
//! |---|---|
//! | `acquire` | admission, and how long rejected callers wait |
//! | `report` | reports and dropped permits |
//! | `command` | commands, and words that outlived their clock |
//! | `open` | opening, and deadlines that only move later |
//! | `returning` | traffic that returns, and trips that are kept |
//! | `time` | ages and stamps |
//! | `rules`, `grain` | the rules, and the precision of a word |
//! | `terms`, `view` | permits, reports, commands and notices; the visible state |
//! | `real` | the same terms for the real breaker |

#![expect(missing_docs, reason = "the names of the fields and variants say it")]

mod acquire;
mod command;
mod grain;
mod open;
mod real;
mod report;
mod returning;
mod rules;
mod terms;
mod time;
mod view;

pub use grain::{Grain, Wrap};
pub use real::{command, outcome};
pub use rules::{Growth, Ratio, Return, Rules, Trip};
pub use terms::{Command, Notice, Permit, Report};
pub use view::{View, retry_in};

use atomic_breaker::{Cause, State};

/// The state of the breaker with its data. Stored times are in ticks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    Closed {
        failures: u32,
        /// The time at which the window began, or the row; 0 if nothing is counted, or if failures are counted without
        /// a time.
        window_began: u64,
    },
    Open {
        /// Far enough before the deadline that the word can hold the time between.
        began: u64,
        lasts: u64,
        demanded: bool,
    },
    Probing {
        out: Vec<u64>,
        successes: u32,
        /// The time at which the last probe was admitted.
        last: u64,
        lost_rounds: u32,
    },
    /// If a row has reached its limit and must last, `began` is when it did, and the failures say how old the return was
    /// then.
    Returning { failures: u32, began: u64 },
    /// The operators' holds, the last one on top: never empty, none twice.
    Held(Vec<Hold>),
}

/// The way in which an operator holds a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hold {
    ForcedOpen,
    Disabled,
}

/// The reference breaker. Its clock is the public field `now`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    pub rules: Rules,
    pub now: u64,
    pub generation: u64,
    pub trips: u32,
    pub mode: Mode,
    /// The transition of the last operation.
    pub noticed: Option<Notice>,
    /// The open time in ticks, from now on, that the real breaker drew at random in this operation: it is
    /// taken over if it lies within the bounds.
    pub drawn: Option<u64>,
    /// The calls since it closed or began to return: `true` for each that failed.
    pub calls: Vec<bool>,
    /// The number of the permit that was granted last: the next one gets the next number.
    pub admitted: u64,
    /// The generation in which the current half-open time began.
    half_open_since: u64,
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
            noticed: None,
            drawn: None,
            calls: Vec::new(),
            admitted: 0,
            half_open_since: 0,
        }
    }

    /// The state.
    pub fn state(&self) -> State {
        match &self.mode {
            Mode::Closed { .. } => State::Closed,
            Mode::Open { .. } => State::Open,
            Mode::Probing { .. } => State::HalfOpen,
            Mode::Returning { .. } => State::Returning,
            Mode::Held(holds) => match holds.last() {
                Some(Hold::Disabled) => State::Disabled,
                _ => State::ForcedOpen,
            },
        }
    }

    /// A transition.
    fn enter(&mut self, mode: Mode, cause: Cause) {
        let from = self.state();
        self.generation += 1;
        self.mode = mode;
        if let State::Closed | State::ForcedOpen | State::Disabled = self.state() {
            self.trips = 0;
        }
        if let State::Closed | State::Returning = self.state() {
            self.calls.clear();
        }
        if let Mode::Probing { lost_rounds: 0, .. } = self.mode {
            self.half_open_since = self.generation;
        }
        self.noticed = Some(Notice {
            from,
            to: self.state(),
            cause,
            trips: self.trips,
            open_for: match self.mode {
                Mode::Open { began, lasts, .. } => {
                    (began + lasts).saturating_sub(self.stamp()) * self.rules.grain.tick
                }
                _ => 0,
            },
        });
    }
}

impl Mode {
    /// Closed with nothing counted.
    pub const CLEAR: Self = Self::Closed {
        failures: 0,
        window_began: 0,
    };

    /// Half-open, with no probe in flight.
    const fn free(successes: u32) -> Self {
        Self::Probing {
            out: Vec::new(),
            successes,
            last: 0,
            lost_rounds: 0,
        }
    }
}
