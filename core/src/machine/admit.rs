// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of a call that asks to pass.

use super::{Machine, Step};
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::error::Rejected;
use crate::state::State;
use crate::time::TimeBase;
use crate::word::Bits;

impl<B: Bits> Machine<'_, B> {
    /// Admits a call or rejects it.
    pub(crate) fn admit(
        self,
        circuit: Circuit<B>,
        now: &Now<'_, impl Clock>,
    ) -> Result<Step<B>, Rejected> {
        let state = circuit.state();
        // One way out for both, because two cost 32 bytes of flash on a Cortex-M0.
        let (wait, lost) = match state {
            State::Closed | State::Disabled => return Ok(Step::Keep),
            State::ForcedOpen => return Err(Rejected::until(state, 0)),
            State::Returning => return self.admit_share(circuit, now),
            State::Open => (circuit.open_for(), 0),
            State::HalfOpen => {
                if let Some(step) = self.take_slot(circuit, now) {
                    return Ok(step);
                }
                (self.lease(circuit.lost()), circuit.lost() + 1)
            }
        };
        match B::left(now.ms(), circuit.time(), wait) {
            Some(left) => Err(Rejected::until(state, left)),
            None => Ok(Self::round(circuit, lost, now.ms())),
        }
    }

    /// The milliseconds until an open breaker admits a probe.
    pub(crate) fn open_time_left(circuit: Circuit<B>, now_ms: u32) -> Option<u32> {
        B::left(now_ms, circuit.time(), circuit.open_for())
    }

    /// The longest time that a caller would have to wait, in milliseconds; `None` if one would be
    /// admitted.
    pub(crate) fn wait(self, circuit: Circuit<B>, now_ms: u32) -> Option<u32> {
        match circuit.state() {
            State::Closed | State::Disabled => None,
            State::Open => Self::open_time_left(circuit, now_ms),
            State::HalfOpen => self.slot_left(circuit, now_ms),
            State::Returning => self.share_left(circuit, now_ms),
            State::ForcedOpen => Some(0),
        }
    }
}
