// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traffic that returns: the share that passes, and how long trips are kept.
//!
//! A breaker whose open time grows, or whose traffic returns gradually, keeps its trips when it lets calls pass again:
//! until the gradual return is over, and until as much time has passed as it was last open.

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
    /// Returns whether trips are kept for a while when enough probes have succeeded.
    #[expect(
        clippy::inline_always,
        reason = "what the rules leave out takes no flash"
    )]
    #[inline(always)]
    pub(super) fn keeps_trips(self) -> bool {
        self.config.gradual_return.is_some() || self.config.growth.is_some()
    }

    /// Arrow 4: enough probes have succeeded.
    pub(super) fn recovered(circuit: Circuit<B>, now_ms: u32) -> Circuit<B> {
        circuit
            .enter(State::Returning)
            .with_trips(circuit.trips().max(1))
            .with_time(B::stamp(now_ms))
    }

    /// Arrow 11, when trips are forgotten; until then lets a call pass if it falls within the current share.
    pub(super) fn admit_share(
        self,
        circuit: Circuit<B>,
        now: &Now<'_, impl Clock>,
    ) -> Result<Step<B>, Rejected> {
        let age = B::age(now.ms(), self.returning_since(circuit));
        // Rules that keep no trips may have taken over.
        if age >= self.return_ticks(circuit) {
            let closed = circuit.enter(State::Closed);
            return Ok(Step::Transition(closed, Cause::TrafficReturned));
        }
        let Some(left) = self.share_left(circuit, now.ms()) else {
            return Ok(Step::Keep);
        };
        let Some(back) = self.config.gradual_return else {
            return Ok(Step::Keep);
        };
        let over = B::ticks(back.over_ms);
        // `dice / 2³² < first + (1 - first) · age / over`, multiplied by both: no division.
        let first = PERCENT_UP * u64::from(back.first_percent) * u64::from(over - age);
        if u64::from(now.clock.random()) * u64::from(over) < first + (u64::from(age) << u32::BITS) {
            Ok(Step::Keep)
        } else {
            Err(Rejected::until(State::Returning, left))
        }
    }

    /// The share of calls that pass, in percent.
    pub(crate) fn returning_percent(self, circuit: Circuit<B>, now_ms: u32) -> u32 {
        let Some(back) = self.config.gradual_return else {
            return 100;
        };
        let over = u64::from(B::ticks(back.over_ms));
        let age = u64::from(B::age(now_ms, self.returning_since(circuit))).min(over);
        let first = u64::from(back.first_percent);
        ((first * (over - age) + 100 * age) / over) as u32
    }

    /// The milliseconds until every call passes.
    pub(super) fn share_left(self, circuit: Circuit<B>, now_ms: u32) -> Option<u32> {
        let over = B::ticks(self.config.gradual_return?.over_ms);
        B::left(now_ms, self.returning_since(circuit), over)
    }

    /// The ticks from the start of the return until trips are forgotten.
    // Where the compiler knows that none are kept, nothing of the rest is in flash.
    #[expect(clippy::inline_always, reason = "see above")]
    #[inline(always)]
    pub(super) fn return_ticks(self, circuit: Circuit<B>) -> u32 {
        if self.keeps_trips() {
            self.kept_ticks(circuit)
        } else {
            0
        }
    }

    #[inline(never)]
    fn kept_ticks(self, circuit: Circuit<B>) -> u32 {
        let over_ms = self.config.gradual_return.map_or(0, |back| back.over_ms);
        let kept_ms = match self.config.growth {
            Some(_) => self.own_open_ms(circuit.trips()),
            None => 0,
        };
        B::ticks(over_ms.max(kept_ms))
    }
}
