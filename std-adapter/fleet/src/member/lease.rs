//! The right to probe.

use super::phase::{Current, Phase};
use super::{Action, Context, Member};
use crate::message::{Answer, Ask};

/// For how many more leases an instance that got no call before its right ended may still probe for all.
const SELDOM: u64 = 64;

impl Member {
    /// Shorter than the grace, so that another instance takes over from one that is gone.
    fn lease(period: &Current) -> u64 {
        period.grace / 2
    }

    fn ask_for(period: &Current) -> Action {
        Action::Ask(Ask::Bid {
            id: period.id,
            lease_ms: u32::try_from(Self::lease(period)).unwrap_or(u32::MAX),
        })
    }

    pub(super) fn bid(now: Context, period: &Current, actions: &mut Vec<Action>) -> Phase {
        if !now.is_connected {
            return Phase::Alone;
        }
        actions.push(Self::ask_for(period));
        Phase::Bidding
    }

    /// Asks again as long as a probe is under way. If the right ends without one, the next call may still probe for
    /// `SELDOM` leases; then this instance goes on alone.
    pub(super) fn keep_probing(now: Context, period: &Current, actions: &mut Vec<Action>) -> Phase {
        let Phase::Probing {
            until, is_given_up, ..
        } = period.phase
        else {
            return period.phase;
        };
        let (time, lease) = (now.now_ms, Self::lease(period));
        let may_ask = now.is_probing && now.is_connected && !is_given_up;
        if may_ask {
            actions.push(Self::ask_for(period));
        } else if time >= until && !now.is_probing && now.is_connected {
            // Others may have the right by now. Calls are rare here, and the next one probes all the same.
            if time >= until + SELDOM * lease {
                return Phase::Alone;
            }
            return Phase::Probing {
                until,
                renew: time + lease,
                is_given_up,
            };
        } else if time >= until {
            return Phase::Alone;
        }
        let pause = if may_ask { lease / 3 } else { lease / 12 };
        let renew = time + pause.max(1);
        Phase::Probing {
            until,
            renew: if time < until {
                renew.min(until)
            } else {
                renew
            },
            is_given_up,
        }
    }

    pub(super) fn answer(
        &mut self,
        now: Context,
        ask: Ask,
        asked_ms: u64,
        answer: Option<Answer>,
        actions: &mut Vec<Action>,
    ) {
        let Some(answer) = answer else {
            if let (Ask::Bid { .. }, Some(period)) = (ask, &mut self.period) {
                if period.phase == Phase::Bidding {
                    period.phase = Phase::Due;
                }
            }
            return;
        };
        match ask {
            Ask::Bid { id, .. } => {
                let is_mine = self.period.is_some_and(|period| period.id.mark == id.mark);
                if !is_mine {
                    // The period that it was for is over here.
                } else if answer.done {
                    self.won(asked_ms, actions);
                } else {
                    self.lost();
                }
            }
            Ask::Verdict { id, .. } => {
                if self.verdict.is_some_and(|(of, _)| of.mark == id.mark) {
                    self.verdict = None;
                }
            }
            Ask::Vote { .. } => {}
        }
        self.said(now, asked_ms, answer.notice, actions);
    }

    fn won(&mut self, asked_ms: u64, actions: &mut Vec<Action>) {
        let Some(period) = &mut self.period else {
            return;
        };
        let lease = Self::lease(period);
        let (until, renew) = (asked_ms + lease, asked_ms + lease / 3);
        match period.phase {
            Phase::Bidding => actions.push(Action::Probe),
            Phase::Probing {
                is_given_up: false, ..
            } => {}
            // A lease that came too late is left to lapse.
            _ => return,
        }
        period.phase = Phase::Probing {
            until,
            renew,
            is_given_up: false,
        };
    }

    /// Another instance has the right, or the period is over: the rest of the answer tells which.
    fn lost(&mut self) {
        if let Some(period) = &mut self.period {
            match period.phase {
                Phase::Bidding => period.phase = Phase::Due,
                // A probe of an instance that has lost the right goes on; only its success still counts.
                Phase::Probing { .. } => period.phase = Phase::Alone,
                _ => {}
            }
        }
    }

    /// The engine has lost the period, or let it expire: what was set here still holds until it ends by itself.
    pub(super) fn forgotten(&mut self, now: Context) {
        if let Some(period) = &mut self.period {
            period.phase = Phase::Alone;
        }
        let ended = self
            .period
            .take_if(|period| now.now_ms >= period.word_until);
        if ended.is_some() {
            self.rested();
        }
    }
}
