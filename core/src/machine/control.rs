//! Steps that an operator takes.

use super::{Machine, Step};
use crate::circuit::{Circuit, Phase};
use crate::clock::{Clock, Now};
use crate::observer::Cause;
use crate::outcome::Failure;
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
}

impl<B: Bits> Machine<'_, B> {
    /// Obeys a command, where it applies.
    pub(crate) fn obey(
        self,
        circuit: Circuit,
        command: Command,
        now: &Now<'_, impl Clock>,
    ) -> Step {
        let to = |phase| Self::enter(circuit, phase, 0, Cause::Manual);
        match (command, circuit.phase) {
            (Command::Trip, Phase::Closed { .. } | Phase::HalfOpen { .. }) => {
                self.trip(circuit, Failure::new(), now, Cause::Manual)
            }
            // Open already: the time starts anew, but nothing tripped.
            (Command::Trip, Phase::Open { .. }) => {
                self.open(circuit, circuit.trips, Failure::new(), now, Cause::Manual)
            }
            (Command::ForceOpen, phase) if phase != Phase::ForcedOpen => to(Phase::ForcedOpen),
            // Nobody knows how the resource is: the next call finds out.
            (Command::Release, Phase::ForcedOpen) => to(Phase::HalfOpen {
                in_flight: 0,
                successes: 0,
                last: 0,
            }),
            (Command::Reset, _) | (Command::Enable, Phase::Disabled) => to(Phase::CLEAR),
            (Command::Disable, phase) if phase != Phase::Disabled => to(Phase::Disabled),
            _ => Step::Stay,
        }
    }
}
