//! What the engine answers, in particular to a bid for the right to probe.

use super::phase::{Current, Phase};
use super::right::UnderWay;
use super::{Action, Member};
use crate::message::{Answer, Ask};

impl Member {
    pub(super) fn answer(&mut self, ask: Ask, asked_ms: u64, answer: Option<Answer>) {
        let Some(answer) = answer else {
            let period = (ask, &mut self.period);
            if let (Ask::Bid { .. }, Some(Current { phase, .. })) = period {
                if *phase == Phase::Bidding {
                    *phase = Phase::Due;
                }
            }
            return;
        };
        match ask {
            // If it is another one, the period that it was for is over here.
            Ask::Bid { id, lease_ms } if self.follows(id) => {
                self.bid_answered(asked_ms, asked_ms + u64::from(lease_ms), answer.done);
            }
            Ask::Verdict { id, .. } if self.verdict.is_some_and(|(of, _)| of.mark == id.mark) => {
                self.verdict = None;
            }
            _ => {}
        }
        self.said(asked_ms, answer.notice);
    }

    /// A bid that was lost: another instance has the right, or the period is over. The rest of the answer tells which.
    fn bid_answered(&mut self, asked_ms: u64, until: u64, is_won: bool) {
        let Some(period) = &mut self.period else {
            return;
        };
        let mine = |under_way| Phase::Probing {
            until,
            renew: until.min(asked_ms + period.lease() / 3),
            under_way,
            is_given_up: false,
        };
        period.phase = match (period.phase, is_won) {
            (Phase::Bidding, true) => {
                self.actions.push(Action::Probe);
                mine(UnderWay::none(asked_ms))
            }
            (
                Phase::Probing {
                    under_way,
                    is_given_up: false,
                    ..
                },
                true,
            ) => mine(under_way),
            (Phase::Bidding, false) => Phase::Due,
            // A probe of an instance that has lost the right goes on; only its success still counts.
            (Phase::Probing { .. }, false) => Phase::Alone,
            // A right that came too late is left to lapse.
            (phase, _) => phase,
        };
    }
}
