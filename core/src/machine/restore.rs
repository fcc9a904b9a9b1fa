//! A word that outlived its clock.

use super::{Machine, Step};
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::config::TripRule;
use crate::observer::Cause;
use crate::state::State;
use crate::time::TimeBase;
use crate::word::{Bits, Peek};

impl<B: Bits> Machine<'_, B> {
    /// Restarts every running time now, and assumes that no probe is in flight.
    pub(crate) fn restore(self, circuit: Circuit<B>, now: &Now<'_, impl Clock>) -> Step<B> {
        let state = circuit.state();
        let kept = circuit.enter(state).with_trips(circuit.trips());
        let next = match state {
            State::Closed => match self.config.trip {
                TripRule::Within { .. } if circuit.failures() > 0 => kept
                    .with_failures(circuit.failures())
                    .with_time(B::stamp(now.ms())),
                _ => return Step::Keep,
            },
            State::Returning => kept
                .with_failures(circuit.failures())
                .with_time(B::stamp(now.ms())),
            State::Open => kept
                .with_open_for(circuit.open_for())
                .0
                .with_demanded(circuit.is_demanded())
                .with_time(B::stamp(now.ms())),
            State::HalfOpen => kept,
            State::ForcedOpen | State::Disabled => return Step::Keep,
        };
        Step::Transition(next, Cause::Restored)
    }

    /// Closed and fresh, whatever the word says.
    pub(crate) fn start_over(circuit: Circuit<B>) -> Step<B> {
        if circuit.bits().is_closed_and_clear() {
            // Already healed, or zeroed: nothing was mistaken for a state.
            return Step::Keep;
        }
        Step::Transition(circuit.enter(State::Closed), Cause::CorruptWord)
    }
}
