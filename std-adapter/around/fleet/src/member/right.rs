// SPDX-License-Identifier: MIT OR Apache-2.0
//! The right to probe for all: how an instance gets it, keeps it, and gives it up.

use atomic_breaker::word::Layout;

use super::Member;
use super::input::Action;
use super::period::{Followed, OwnProbe, Phase};

impl Member {
    /// Handles the answer to a bid. If it was lost, another instance has the right, or the period is over: the rest of
    /// the answer tells which.
    pub(super) fn bid_answered(&mut self, asked_ms: u64, until: u64, is_won: bool) {
        let Some(period) = &mut self.period else {
            return;
        };
        let renew = until.min(asked_ms + period.lease() / 3);
        let mine = |probe| Phase::Probing {
            until,
            renew,
            probe,
            is_given_up: false,
        };
        period.phase = match (period.phase, is_won) {
            (Phase::Bidding, true) => {
                period.awaits_call = true;
                self.actions.push(Action::Probe);
                mine(OwnProbe::none(asked_ms))
            }
            (
                Phase::Probing {
                    probe,
                    is_given_up: false,
                    ..
                },
                true,
            ) => mine(probe),
            (Phase::Bidding, false) => return self.becomes_due(),
            // A probe of an instance that has lost the right goes on; only its success still counts.
            (Phase::Probing { .. }, false) => Phase::Alone,
            // A right that came too late is left to lapse.
            (phase, _) => phase,
        };
    }

    /// The time at which this instance may ask for the right.
    pub(super) fn may_bid_at(&self, period: &Followed) -> u64 {
        let after = if self.own.has_failed {
            period.grace / 2
        } else {
            0
        };
        let own = self.own.no_probe_before.max(self.own.yields_until);
        own.max(period.ends + after)
    }

    /// From now on the right to probe is free. If no call is rejected anywhere for half a grace to a grace, this
    /// instance takes it: a caller that looks first (`state()`, a snapshot) finds that a probe is due. Once, until a
    /// call has come.
    pub(super) fn becomes_due(&mut self) {
        let Some(mut period) = self.period else {
            return;
        };
        let silence = period.grace / 2 + self.random.u64(..=period.grace / 2);
        let unasked = self.may_bid_at(&period).max(self.now.now_ms) + silence;
        let may_ask = !period.awaits_call && !self.fleet.is_shadow;
        period.phase = Phase::Due(may_ask.then_some(unasked));
        self.period = Some(period);
    }

    /// No call was rejected anywhere, and yet a caller may be there.
    pub(super) fn bid_unasked(&mut self) {
        let Some(mut period) = self.period else {
            return;
        };
        if !self.now.is_connected || self.now.now_ms < self.may_bid_at(&period) {
            return self.becomes_due();
        }
        if self.now.now_ms >= period.silent_at() {
            self.actions.push(Action::Probe);
            (period.awaits_call, period.phase) = (true, Phase::Alone);
        } else {
            self.actions.push(period.bid(period.lease()));
            period.phase = Phase::Bidding;
        }
        self.period = Some(period);
    }

    /// The time that a probe of this instance may take, in milliseconds.
    pub(super) fn probe_lease(&self) -> u64 {
        self.rules.lease_ms(Layout::WIDE.max_ms()).into()
    }

    /// Ends a right that is renewed while a probe is in flight with the lease of that probe: one that hangs is in
    /// flight for good, and an instance without other calls is never notified by its breaker that it was lost.
    pub(super) fn watch_probe(&mut self, probe_lease: u64) {
        let period = self.period.as_mut();
        if period.is_some_and(|period| period.is_hung(self.now, probe_lease)) {
            self.give_up();
        }
    }

    /// A probe hangs: another instance may have better luck. Anything that this one finds eventually still counts, if
    /// no other was faster.
    pub(super) fn give_up(&mut self) {
        if let Some(Followed {
            grace,
            awaits_call,
            phase: Phase::Probing {
                until, is_given_up, ..
            },
            ..
        }) = &mut self.period
        {
            (*is_given_up, *awaits_call) = (true, false);
            self.own.yields_until = *until + 2 * *grace;
            self.own.has_failed = true;
        }
    }
}
