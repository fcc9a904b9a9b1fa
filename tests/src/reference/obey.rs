//! What operators say, and a word that outlived its clock.

use atomic_breaker::{Cause, State};

use super::{Hold, Mode, Order, Reference, Trip};

impl Reference {
    /// Obeys an operator.
    pub fn obey(&mut self, order: Order) {
        self.told = None;
        match order {
            Order::Trip => self.trip_by_hand(0),
            Order::TripFor(time) => self.trip_by_hand(time),
            Order::Reset => self.go(Mode::CLEAR, Cause::Manual),
            Order::ForceOpen => self.hold(Hold::ForcedOpen),
            Order::Disable => self.hold(Hold::Disabled),
            Order::Release => self.let_go(Hold::ForcedOpen),
            Order::Enable => self.let_go(Hold::Disabled),
            Order::ProbeNow => self.probe(true),
            Order::ProbeEarly => self.probe(false),
        }
    }

    /// The clock has begun anew since the word was written: what runs begins anew, too.
    pub fn restore(&mut self) {
        self.told = None;
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
        self.go(mode, Cause::Restored);
    }

    fn trip_by_hand(&mut self, demand: u64) {
        match self.state() {
            State::Open => self.trip_again(demand),
            State::Closed | State::HalfOpen | State::Returning => self.trip(demand, Cause::Manual),
            _ => {}
        }
    }

    /// Holds the breaker, whatever else holds it.
    fn hold(&mut self, hold: Hold) {
        let mut holds = match &self.mode {
            Mode::Held(holds) => holds.clone(),
            _ => Vec::new(),
        };
        if holds.last() != Some(&hold) {
            holds.retain(|other| *other != hold);
            holds.push(hold);
            self.go(Mode::Held(holds), Cause::Manual);
        }
    }

    /// Holds the breaker no longer in this way.
    fn let_go(&mut self, hold: Hold) {
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
        self.go(mode, Cause::Manual);
    }

    /// Ends the open time; a demanded one, and a round of probes, only if somebody insists.
    fn probe(&mut self, insists: bool) {
        let ends = match self.mode {
            Mode::Open { demanded, .. } => insists || !demanded,
            Mode::Probing { .. } => insists,
            Mode::Closed { .. } | Mode::Returning { .. } | Mode::Held(_) => false,
        };
        if ends {
            self.go(Mode::FREE, Cause::Manual);
        }
    }
}
