//! Steps of a call that asks to pass.

use super::{Machine, Step};
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::error::Rejected;
use crate::state::State;
use crate::time::TimeBase;
use crate::word::{Bits, is_valid};

impl<B: Bits> Machine<'_, B> {
    /// Rejects a call if the word is open and its time not over: all that most calls need during an
    /// outage. Everything else is left to [`admit`](Self::admit).
    #[inline]
    pub(crate) fn reject(word: B, clock: &impl Clock) -> Option<Rejected> {
        let circuit = Circuit::of_valid(word);
        if !circuit.is_open() || !is_valid(word) {
            return None;
        }
        let left = Self::open_time_left(circuit, clock.now_ms())?;
        Some(Rejected::until(State::Open, left))
    }

    /// Admits a call or rejects it.
    pub(crate) fn admit(
        self,
        circuit: Circuit<B>,
        now: &Now<'_, impl Clock>,
    ) -> Result<Step<B>, Rejected> {
        let (state, wait, lost) = if circuit.is_open() {
            (State::Open, circuit.open_for(), 0)
        } else if circuit.is_half_open() {
            if let Some(step) = self.take_slot(circuit, now) {
                return Ok(step);
            }
            let lost = circuit.lost();
            (State::HalfOpen, self.lease(lost), lost + 1)
        } else {
            return match circuit.state() {
                State::Returning => self.admit_share(circuit, now),
                State::ForcedOpen => Err(Rejected::until(State::ForcedOpen, 0)),
                // The last two were handled above.
                State::Closed | State::Disabled | State::Open | State::HalfOpen => Ok(Step::Keep),
            };
        };
        match B::left(now.ms(), circuit.time(), wait) {
            Some(left) => Err(Rejected::until(state, left)),
            None => Ok(Self::round(circuit, lost, now.ms())),
        }
    }

    /// The milliseconds until an open breaker admits a probe.
    #[inline]
    pub(crate) fn open_time_left(circuit: Circuit<B>, now_ms: u32) -> Option<u32> {
        B::left(now_ms, circuit.time(), circuit.open_for())
    }
}
