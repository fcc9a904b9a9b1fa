// SPDX-License-Identifier: MIT OR Apache-2.0
//! The changes of a member as time passes.

use super::Member;
use super::input::Action;
use super::period::Phase;

impl Member {
    pub(super) fn pass_time(&mut self) {
        let probe_lease = self.probe_lease();
        self.watch_probe(probe_lease);
        let Some(period) = &mut self.period else {
            return;
        };
        let now = self.now.now_ms;
        match period.phase {
            Phase::Waiting if now >= period.ends => self.becomes_due(),
            Phase::Taken(until) if now >= until => self.becomes_due(),
            Phase::Due(Some(unasked)) if now >= unasked => self.bid_unasked(),
            Phase::Bidding if now >= period.breaker_until => period.phase = Phase::Alone,
            Phase::BidAt(at) if now >= at && self.now.is_connected => {
                self.actions.push(period.bid(period.lease()));
                period.phase = Phase::Bidding;
            }
            Phase::BidAt(at) if now >= at => period.phase = Phase::Alone,
            Phase::Probing { renew, .. } if now >= renew => {
                period.keep_probing(self.now, probe_lease, &mut self.actions);
            }
            _ => {}
        }
        let Some(period) = &mut self.period else {
            return;
        };
        let from = match period.phase {
            _ if now < period.extend_at() => return,
            Phase::Due(_) => now,
            Phase::Taken(until) => now.max(until),
            _ => return,
        };
        // If the engine does not answer, the period ends here at the breaker's own deadline.
        if self.now.is_connected && now < period.breaker_until {
            self.extend(from);
        } else {
            period.phase = Phase::Alone;
        }
    }

    /// Moves the breaker's own deadline on.
    pub(super) fn extend(&mut self, from: u64) {
        let Some(period) = &mut self.period else {
            return;
        };
        // At least three quarters of a grace, so that it need not be done again soon.
        let until = from + period.grace * 3 / 4 + self.random.u64(..=period.grace / 4);
        if until > period.breaker_until {
            period.breaker_until = until;
            self.actions.push(Action::Extend {
                for_ms: until - self.now.now_ms,
            });
        }
    }
}
