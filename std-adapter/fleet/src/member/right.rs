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
        let mine = |probe| Phase::Probing {
            until,
            renew: until.min(asked_ms + period.lease() / 3),
            probe,
            is_given_up: false,
        };
        period.phase = match (period.phase, is_won) {
            (Phase::Bidding, true) => {
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
            (Phase::Bidding, false) => Phase::Due,
            // A probe of an instance that has lost the right goes on; only its success still counts.
            (Phase::Probing { .. }, false) => Phase::Alone,
            // A right that came too late is left to lapse.
            (phase, _) => phase,
        };
    }

    /// The time that a probe of this instance may take, in milliseconds.
    pub(super) fn probe_lease(&self) -> u64 {
        self.rules.lease_ms(Layout::WIDE.max_ms()).into()
    }

    /// Ends a right that is renewed while a probe is in flight with the lease of that probe: one that hangs is in flight
    /// for good, and an instance without other calls never hears from its breaker that it was lost.
    pub(super) fn watch_probe(&mut self, probe_lease: u64) {
        let period = self.period.as_mut();
        if period.is_some_and(|period| period.is_hung(self.now, probe_lease)) {
            self.give_up();
        }
    }

    /// A probe hangs: another instance may have better luck. What this one finds eventually still counts, if no other
    /// was faster.
    pub(super) fn give_up(&mut self) {
        if let Some(Followed {
            grace,
            phase: Phase::Probing {
                until, is_given_up, ..
            },
            ..
        }) = &mut self.period
        {
            *is_given_up = true;
            self.own.yields_until = *until + 2 * *grace;
            self.own.has_failed = true;
        }
    }
}
