//! Operators' commands, and words that outlived their clock.

use atomic_breaker::{Cause, State};

use super::{Command, Hold, Mode, Reference, Trip};

impl Reference {
    /// A command of an operator.
    pub fn command(&mut self, command: Command) {
        self.noticed = None;
        match command {
            Command::Trip => self.trip_by_hand(0),
            Command::TripFor(time) => self.trip_by_hand(time),
            Command::Reset => self.enter(Mode::CLEAR, Cause::Manual),
            Command::ForceOpen => self.hold(Hold::ForcedOpen),
            Command::Disable => self.hold(Hold::Disabled),
            Command::Release => self.release(Hold::ForcedOpen),
            Command::Enable => self.release(Hold::Disabled),
            Command::ProbeNow => self.probe(true),
            Command::ProbeEarly => self.probe(false),
        }
    }

    /// The clock has started again since the word was written: every running time starts again, too.
    pub fn restore(&mut self) {
        self.noticed = None;
        let now = self.stamp();
        let mode = match (&self.mode, self.rules.trip) {
            (Mode::Closed { failures, .. }, Trip::Within(..)) if *failures > 0 => Mode::Closed {
                failures: *failures,
                window_began: now,
            },
            (
                Mode::Open {
                    lasts, demanded, ..
                },
                _,
            ) => Mode::Open {
                began: now,
                lasts: *lasts,
                demanded: *demanded,
            },
            (Mode::Returning { failures, .. }, _) => Mode::Returning {
                failures: *failures,
                began: now,
            },
            (Mode::Probing { .. }, _) => Mode::FREE,
            (Mode::Closed { .. } | Mode::Held(_), _) => return,
        };
        self.enter(mode, Cause::Restored);
    }

    fn trip_by_hand(&mut self, demand: u64) {
        match self.state() {
            State::Open => self.trip_again(demand),
            State::Closed | State::HalfOpen | State::Returning => self.trip(demand, Cause::Manual),
            _ => {}
        }
    }

    /// Adds a hold on top of any others.
    fn hold(&mut self, hold: Hold) {
        let mut holds = match &self.mode {
            Mode::Held(holds) => holds.clone(),
            _ => Vec::new(),
        };
        if holds.last() != Some(&hold) {
            holds.retain(|other| *other != hold);
            holds.push(hold);
            self.enter(Mode::Held(holds), Cause::Manual);
        }
    }

    /// Removes a hold.
    fn release(&mut self, hold: Hold) {
        let Mode::Held(holds) = &self.mode else {
            return;
        };
        let mut others = holds.clone();
        others.retain(|other| *other != hold);
        if others.len() == holds.len() {
            return;
        }
        let mode = match hold {
            _ if !others.is_empty() => Mode::Held(others),
            Hold::ForcedOpen => Mode::FREE,
            Hold::Disabled => Mode::CLEAR,
        };
        self.enter(mode, Cause::Manual);
    }

    /// Ends the open time; a demanded one, and a round of probes, only if the caller insists.
    fn probe(&mut self, insists: bool) {
        let ends = match self.mode {
            Mode::Open { demanded, .. } => insists || !demanded,
            Mode::Probing { .. } => insists,
            Mode::Closed { .. } | Mode::Returning { .. } | Mode::Held(_) => false,
        };
        if ends {
            self.enter(Mode::FREE, Cause::Manual);
        }
    }
}
