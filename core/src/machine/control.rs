// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps that an operator takes.

use super::{Machine, Step};
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::observer::Cause;
use crate::state::State;
use crate::word::Bits;

/// A command of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Trips for at least this many milliseconds.
    Trip(u32),
    ForceOpen,
    Release,
    Reset,
    Disable,
    Enable,
    ProbeNow,
    ProbeEarly,
}

impl<B: Bits> Machine<'_, B> {
    /// Arrows 7 to 10, and 3 and 6 by command: obeys a command, where it applies.
    pub(crate) fn obey(
        self,
        circuit: Circuit<B>,
        command: Command,
        now: &Now<'_, impl Clock>,
    ) -> Step<B> {
        let state = circuit.state();
        let next = match (command, state) {
            (Command::Trip(shortest_ms), State::Open) => {
                return self.trip_again(circuit, shortest_ms, now);
            }
            (Command::Trip(_), State::ForcedOpen | State::Disabled) => return Step::Keep,
            (Command::Trip(shortest_ms), _) => {
                return self.trip(circuit, shortest_ms, now, Cause::Manual);
            }
            // Trips in a row are kept, so the open time grows if the probe fails. If half-open, a new
            // round begins.
            (Command::ProbeNow, State::Open | State::HalfOpen) => Self::probe(circuit),
            (Command::ProbeEarly, State::Open) if !circuit.is_demanded() => Self::probe(circuit),
            (Command::Reset, _) => circuit.enter(State::Closed),
            (_, State::ForcedOpen | State::Disabled) => return Self::change_hold(circuit, command),
            (Command::ForceOpen, _) => circuit.enter(State::ForcedOpen),
            (Command::Disable, _) => circuit.enter(State::Disabled),
            (
                Command::ProbeNow | Command::ProbeEarly | Command::Release | Command::Enable,
                State::Closed | State::Open | State::HalfOpen | State::Returning,
            ) => return Step::Keep,
        };
        Step::Transition(next, Cause::Manual)
    }

    pub(super) fn probe(circuit: Circuit<B>) -> Circuit<B> {
        circuit.enter(State::HalfOpen).with_trips(circuit.trips())
    }

    /// Arrows 7, 8 and 9 from a breaker that is held: forced open and disabled do not erase each other, the later
    /// one shows, and each is ended by its own command.
    fn change_hold(circuit: Circuit<B>, command: Command) -> Step<B> {
        let is_disabled = circuit.state() == State::Disabled;
        let next = match command {
            Command::ForceOpen if is_disabled => circuit.hold_over(State::ForcedOpen),
            Command::Disable if !is_disabled => circuit.hold_over(State::Disabled),
            Command::Release if circuit.is_held_twice() => circuit.enter(State::Disabled),
            // The state of the resource is unknown: the next call finds out.
            Command::Release if !is_disabled => circuit.enter(State::HalfOpen),
            Command::Enable if circuit.is_held_twice() => circuit.enter(State::ForcedOpen),
            Command::Enable if is_disabled => circuit.enter(State::Closed),
            _ => return Step::Keep,
        };
        Step::Transition(next, Cause::Manual)
    }
}
