//! What happens at the breaker of this instance.

use super::phase::{Current, Phase};
use super::{Local, Member};
use crate::message::{Ask, PeriodId, Verdict};

impl Member {
    pub(super) fn local(&mut self, local: Local) {
        match local {
            Local::Tripped {
                open_ms,
                is_demanded,
            } => {
                if is_demanded {
                    self.hold_off(open_ms);
                }
                // What is reported only now may have happened before the fleet opened.
                if self.period().is_none() {
                    self.period = None;
                    self.tripped(open_ms);
                }
            }
            Local::ProbeFailed { open_ms } => self.probe_failed(open_ms),
            Local::Recovered => self.recovered(),
            Local::ProbeLost => self.give_up(),
            Local::Rejected => self.want(),
            Local::TrippedByHand { open_ms } => self.hold_off(open_ms),
            Local::Overruled => {
                self.admit();
                if let Some(period) = self.period.take() {
                    self.overruled = Some(period.id.mark);
                }
            }
        }
    }

    /// No probe for so long.
    fn hold_off(&mut self, open_ms: u32) {
        let until = self.now.now_ms + u64::from(open_ms);
        self.not_before = self.not_before.max(until);
    }

    /// Nothing keeps calls away here any more.
    fn admit(&mut self) {
        self.own_until = 0;
        self.not_before = 0;
        self.rest();
    }

    /// It has tripped here because of its own outcomes.
    fn tripped(&mut self, open_ms: u32) {
        self.tripped_at = self.now.now_ms;
        self.own_until = self.now.now_ms + u64::from(open_ms);
        self.vote();
    }

    fn probe_failed(&mut self, open_ms: u32) {
        let Some(Current {
            id,
            trips,
            grace,
            phase: phase @ Phase::Probing { .. },
            ..
        }) = &mut self.period
        else {
            self.hold_off(open_ms);
            self.tripped(open_ms);
            return;
        };
        *phase = Phase::Alone;
        let grown =
            super::breaker::open_ms(&self.rules, trips.saturating_add(1), self.random.u32(..));
        let failed = Verdict::Failed {
            open_ms: grown.max(open_ms),
            pause_ms: *grace as u32,
        };
        let id = *id;
        self.judge(id, failed);
        // For as long as it would wait without a fleet.
        self.rests_until = self.now.now_ms + u64::from(open_ms);
        self.has_failed = true;
    }

    /// An instance that had the right to probe reports the success; so does one that went alone.
    fn recovered(&mut self) {
        self.admit();
        let reports = self
            .period
            .take_if(|period| matches!(period.phase, Phase::Probing { .. } | Phase::Alone));
        if let Some(period) = reports {
            self.overruled = Some(period.id.mark);
            self.end(period.id.mark);
            self.judge(period.id, Verdict::Healthy);
        }
    }

    fn judge(&mut self, id: PeriodId, verdict: Verdict) {
        self.verdict = Some((id, verdict));
        self.ask(Ask::Verdict { id, verdict });
    }

    /// A caller is there to probe with.
    fn want(&mut self) {
        if !self.wants_rejections(self.now) {
            return;
        }
        if let Some(period) = &mut self.period {
            let pause = self.random.u64(..=period.grace / 8);
            period.phase = Phase::BidAt(self.now.now_ms + pause);
        }
    }
}
