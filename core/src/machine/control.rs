//! Steps that an operator takes.

use super::{Machine, Step};
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::observer::Cause;
use crate::state::State;
use crate::word::Bits;

/// What an operator wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Trip,
    ForceOpen,
    Release,
    Reset,
    Disable,
    Enable,
    ProbeNow,
}

impl<B: Bits> Machine<'_, B> {
    /// Obeys a command, where it applies.
    pub(crate) fn obey(
        self,
        circuit: Circuit<B>,
        command: Command,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        let to = |state| Step::To(circuit.enter(state), Cause::Manual);
        match (command, circuit.state()) {
            (Command::Trip, State::Closed | State::HalfOpen) => {
                self.trip(circuit, 0, now, Cause::Manual)
            }
            // Open already: the time starts anew, but nothing tripped.
            (Command::Trip, State::Open) => {
                self.open(circuit, circuit.trips(), 0, now, Cause::Manual)
            }
            (Command::ForceOpen, state) if state != State::ForcedOpen => to(State::ForcedOpen),
            // Nobody knows how the resource is: the next call finds out.
            (Command::Release, State::ForcedOpen) => to(State::HalfOpen),
            // Trips in a row count on: should the probe fail, the open time grows.
            (Command::ProbeNow, State::Open) => {
                let next = circuit.enter(State::HalfOpen).with_trips(circuit.trips());
                Step::To(next, Cause::Manual)
            }
            (Command::Reset, _) | (Command::Enable, State::Disabled) => to(State::Closed),
            (Command::Disable, state) if state != State::Disabled => to(State::Disabled),
            _ => Step::Stay,
        }
    }
}
