// SPDX-License-Identifier: MIT OR Apache-2.0
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

    /// The clock has started again since the word was written, at least this many milliseconds ago if that is known.
    pub fn restore(&mut self, asleep: Option<u64>) {
        self.noticed = None;
        let slept = asleep.map(|ms| ms / self.rules.grain.tick);
        let mode = match (&self.mode, self.rules.trip) {
            // A reset in between took at least as long.
            (Mode::Closed { failures, .. }, Trip::Lasting(_, time)) if *failures > 0 => {
                Mode::Closed {
                    failures: *failures,
                    window_began: self.stamp() - self.rules.grain.up(time),
                }
            }
            (Mode::Closed { failures, .. }, Trip::Within(_, window)) if *failures > 0 => {
                let slept = slept.unwrap_or(0);
                if slept >= self.rules.grain.up(window) {
                    Mode::CLEAR
                } else {
                    Mode::Closed {
                        failures: *failures,
                        window_began: self.stamp() - slept,
                    }
                }
            }
            (
                Mode::Open {
                    lasts, demanded, ..
                },
                _,
            ) => {
                let left = if asleep.unwrap_or(0) == 0 {
                    // Nothing is known but that there was a reset.
                    lasts / 2
                } else {
                    let unit = lasts / (1 << (self.rules.grain.significant - 1));
                    let passed = slept.unwrap_or(0).max(unit).max(1);
                    self.unrounded(*lasts, *demanded).saturating_sub(passed)
                };
                if left == 0 {
                    Mode::Open {
                        began: self.now / self.rules.grain.tick,
                        lasts: 0,
                        demanded: *demanded,
                    }
                } else {
                    self.open_until(left, *demanded)
                }
            }
            (Mode::Returning { .. }, _) => Mode::CLEAR,
            (Mode::Probing { successes, .. }, _) => Mode::free(*successes),
            (Mode::Closed { .. } | Mode::Held(_), _) => return,
        };
        self.enter(mode, Cause::Restored);
    }

    /// The open time that was stored as this, in ticks, where only the rules can have set it, and do so exactly.
    fn unrounded(&self, lasts: u64, demanded: bool) -> u64 {
        let range = self.rules.open_ticks(self.trips, 0);
        let own = *range.start();
        let is_exact = own == *range.end() && !demanded;
        if is_exact && self.rules.grain.stored(own) == lasts {
            own
        } else {
            lasts
        }
    }

    /// The users of the word are gone, but its clock runs on.
    pub fn restore_running(&mut self) {
        self.noticed = None;
        if let Mode::Probing { successes, .. } = self.mode {
            self.enter(Mode::free(successes), Cause::Restored);
        }
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
            Hold::ForcedOpen => Mode::free(0),
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
            self.enter(Mode::free(0), Cause::Manual);
        }
    }
}
