//! Steps of a call that asks to pass.

use super::{Machine, Step};
use crate::circuit::Circuit;
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
            Ok(circuit) if circuit.state() == State::Open => {
                let left = self.open_time_left(circuit, clock.now_ms())?;
                Some(Rejected::new(State::Open, left))
            }
            _ => None,
        }
    }

    /// Admits a call or refuses it.
    pub(crate) fn admit(
        self,
        circuit: Circuit<B>,
        now: &Now<'_, impl Clock>,
    ) -> Result<Step<B>, Rejected> {
        let state = circuit.state();
        let (wait, cause) = match state {
            State::Closed | State::Disabled => return Ok(Step::Stay),
            State::ForcedOpen => return Err(Rejected::new(state, 0)),
            State::Open => (circuit.open_for(), Cause::OpenTimeOver),
            State::HalfOpen if circuit.in_flight() < self.slots(circuit.successes()) => {
                let next = circuit
                    .with_probes(circuit.in_flight() + 1, circuit.successes())
                    .with_time(self.time.stamp(now.ms()));
                return Ok(Step::Within(next));
            }
            State::HalfOpen => (self.lease(), Cause::ProbeLost),
        };
        match self.time.left(now.ms(), circuit.time(), wait) {
            Some(retry_in_ms) => Err(Rejected::new(state, retry_in_ms)),
            None => Ok(self.first_probe(circuit, now.ms(), cause)),
        }
    }

    /// The slots that a half-open breaker has: no more probes than it still needs.
    pub(crate) fn slots(self, successes: u32) -> u32 {
        let needed = self.config.needed_successes().saturating_sub(successes);
        self.config.probes.min(needed)
    }

    /// The milliseconds until an open breaker admits a probe.
    #[inline]
    pub(crate) fn open_time_left(self, circuit: Circuit<B>, now_ms: u32) -> Option<u32> {
        self.time.left(now_ms, circuit.time(), circuit.open_for())
    }

    /// The milliseconds until the probes in flight count as lost. Measured from the last admission,
    /// so that in sparse traffic no fresh probe is taken away.
    pub(crate) fn lease_left(self, circuit: Circuit<B>, now_ms: u32) -> Option<u32> {
        self.time.left(now_ms, circuit.time(), self.lease())
    }

    fn lease(self) -> u32 {
        self.time.ticks(self.config.probe_lease_ms)
    }

    /// Begins a round of probes with one in flight.
    fn first_probe(self, circuit: Circuit<B>, now_ms: u32, cause: Cause) -> Step<B> {
        let next = circuit
            .enter(State::HalfOpen)
            .with_probes(1, 0)
            .with_trips(circuit.trips())
            .with_time(self.time.stamp(now_ms));
        Step::To(next, cause)
    }
}
