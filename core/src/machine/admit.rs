// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of a call that asks to pass: while open, half-open, and while traffic returns.

use super::{Machine, Step};
use crate::circuit::Circuit;
use crate::clock::{Clock, Now};
use crate::error::Rejected;
use crate::observer::Cause;
use crate::state::State;
use crate::time::TimeBase;
use crate::word::Bits;

/// 1 % as a fraction of 2³², rounded up so that 100 % is all.
const PERCENT_UP: u64 = (1 << u32::BITS) / 100 + 1;

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

    /// Arrow 11, when all calls may pass; until then lets a call pass if it falls within the current share.
    fn admit_share(
        self,
        circuit: Circuit<B>,
        now: &Now<'_, impl Clock>,
    ) -> Result<Step<B>, Rejected> {
        let returned = Step::Transition(circuit.enter(State::Closed), Cause::TrafficReturned);
        // Rules without a gradual return may have taken over.
        let Some(back) = self.config.gradual_return else {
            return Ok(returned);
        };
        let over = B::ticks(back.over_ms);
        let Some(left) = B::left(now.ms(), circuit.time(), over) else {
            return Ok(returned);
        };
        let age = B::age(now.ms(), circuit.time());
        // `dice / 2³² < first + (1 - first) · age / over`, multiplied by both: no division.
        let first = PERCENT_UP * u64::from(back.first_percent) * u64::from(over - age);
        if u64::from(now.clock.random()) * u64::from(over) < first + (u64::from(age) << u32::BITS) {
            Ok(Step::Keep)
        } else {
            Err(Rejected::until(State::Returning, left))
        }
    }

    /// How long a caller would have to wait at most, in milliseconds; `None` if one would be admitted.
    pub(crate) fn wait(self, circuit: Circuit<B>, now_ms: u32) -> Option<u32> {
        match circuit.state() {
            State::Closed | State::Disabled => None,
            State::Open => Self::open_time_left(circuit, now_ms),
            State::HalfOpen => self.slot_left(circuit, now_ms),
            State::Returning => self.return_left(circuit, now_ms),
            State::ForcedOpen => Some(0),
        }
    }

    /// The share of calls that pass, in percent.
    pub(crate) fn returning_percent(self, circuit: Circuit<B>, now_ms: u32) -> u32 {
        let Some(back) = self.config.gradual_return else {
            return 100;
        };
        let over = u64::from(B::ticks(back.over_ms));
        let age = u64::from(B::age(now_ms, circuit.time())).min(over);
        let first = u64::from(back.first_percent);
        ((first * (over - age) + 100 * age) / over) as u32
    }

    /// The milliseconds until every call passes.
    fn return_left(self, circuit: Circuit<B>, now_ms: u32) -> Option<u32> {
        let over = B::ticks(self.config.gradual_return?.over_ms);
        B::left(now_ms, circuit.time(), over)
    }
}
