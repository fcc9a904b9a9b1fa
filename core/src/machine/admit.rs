//! Steps of a call that asks to pass.

use super::{Machine, Step};
use crate::circuit::{Circuit, Phase};
use crate::clock::{Clock, Now};
use crate::error::Rejected;
use crate::observer::Cause;
use crate::state::State;
use crate::word::Bits;

impl<B: Bits> Machine<'_, B> {
    /// Refuses a call if the word is open and its time not over: all that most calls need during an
    /// outage. Whatever else the word says is left to [`admit`](Self::admit).
    #[inline]
    pub(crate) fn refuse(self, word: B, clock: &impl Clock) -> Option<Rejected> {
        match Circuit::decode(word) {
            Ok(Circuit {
                phase: Phase::Open { open_for, since },
                ..
            }) => self
                .time
                .left(clock.now_ms(), since, open_for)
                .map(|retry_in_ms| Rejected::new(State::Open, retry_in_ms)),
            _ => None,
        }
    }

    /// Admits a call or refuses it.
    pub(crate) fn admit(
        self,
        circuit: Circuit,
        now: &Now<'_, impl Clock>,
    ) -> Result<Step, Rejected> {
        match circuit.phase {
            Phase::Closed { .. } | Phase::Disabled => Ok(Step::Stay),
            Phase::Open { open_for, since } => {
                let now_ms = now.ms();
                match self.time.left(now_ms, since, open_for) {
                    Some(retry_in_ms) => Err(Rejected::new(circuit.state(), retry_in_ms)),
                    None => Ok(self.first_probe(circuit, now_ms, Cause::OpenTimeOver)),
                }
            }
            Phase::HalfOpen {
                in_flight,
                successes,
                last,
            } => self.admit_probe(circuit, in_flight, successes, last, now.ms()),
            Phase::ForcedOpen => Err(Rejected::new(circuit.state(), 0)),
        }
    }

    /// The slots that a half-open breaker has: no more probes than it still needs.
    pub(crate) fn slots(self, successes: u32) -> u32 {
        let needed = self.config.needed_successes().saturating_sub(successes);
        self.config.probes.min(needed)
    }

    /// The milliseconds until the probes in flight count as lost. Measured from the last admission,
    /// so that in sparse traffic no fresh probe is taken away.
    pub(crate) fn lease_left(self, now_ms: u32, last: u32) -> Option<u32> {
        let lease = self.time.ticks(self.config.probe_lease_ms);
        self.time.left(now_ms, last, lease)
    }

    fn admit_probe(
        self,
        circuit: Circuit,
        in_flight: u32,
        successes: u32,
        last: u32,
        now_ms: u32,
    ) -> Result<Step, Rejected> {
        if in_flight < self.slots(successes) {
            return Ok(Step::Within(Circuit {
                phase: Phase::HalfOpen {
                    in_flight: in_flight + 1,
                    successes,
                    last: self.time.stamp(now_ms),
                },
                ..circuit
            }));
        }
        match self.lease_left(now_ms, last) {
            Some(retry_in_ms) => Err(Rejected::new(circuit.state(), retry_in_ms)),
            None => Ok(self.first_probe(circuit, now_ms, Cause::ProbeLost)),
        }
    }

    /// Begins a round of probes with one in flight.
    fn first_probe(self, circuit: Circuit, now_ms: u32, cause: Cause) -> Step {
        let phase = Phase::HalfOpen {
            in_flight: 1,
            successes: 0,
            last: self.time.stamp(now_ms),
        };
        Self::enter(circuit, phase, circuit.trips, cause)
    }
}
