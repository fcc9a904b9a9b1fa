//! What happens at the breaker of this instance.

use super::growth;
use super::phase::Phase;
use super::{Action, Context, Local, Member};
use crate::message::{Ask, PeriodId, Verdict};

impl Member {
    pub(super) fn local(&mut self, now: Context, local: Local, actions: &mut Vec<Action>) {
        match local {
            Local::Tripped {
                open_ms,
                is_demanded,
            } => {
                let until = now.now_ms + u64::from(open_ms);
                if is_demanded {
                    self.not_before = self.not_before.max(until);
                }
                // What is reported only now may have happened before the fleet opened.
                if self.period().is_none() {
                    self.period = None;
                    self.tripped(now, open_ms, actions);
                }
            }
            Local::ProbeFailed { open_ms } => self.probe_failed(now, open_ms, actions),
            Local::Recovered => self.recovered(now, actions),
            Local::ProbeLost => self.give_up(),
            Local::Rejected => self.want(now),
            Local::TrippedByHand { open_ms } => {
                let until = now.now_ms + u64::from(open_ms);
                self.not_before = self.not_before.max(until);
            }
            Local::Overruled => {
                if let Some(period) = self.period.take() {
                    self.overruled = Some(period.id.mark);
                }
                self.own_until = 0;
                self.not_before = 0;
                self.rested();
            }
        }
    }

    fn probe_failed(&mut self, now: Context, open_ms: u32, actions: &mut Vec<Action>) {
        if let Some(mut period) = self.period {
            if matches!(period.phase, Phase::Probing { .. }) {
                let random = self.random.draw() as u32;
                let trips = period.trips.saturating_add(1);
                let grown = growth::open_ms(&self.rules, trips, random);
                let failed = Verdict::Failed {
                    open_ms: grown.max(open_ms),
                    pause_ms: u32::try_from(period.grace).unwrap_or(u32::MAX),
                };
                self.judge(now, period.id, failed, actions);
                // For as long as it would wait without a fleet.
                self.rests_until = now.now_ms + u64::from(open_ms);
                self.has_failed = true;
                period.phase = Phase::Alone;
                self.period = Some(period);
                return;
            }
        }
        let until = now.now_ms + u64::from(open_ms);
        self.not_before = self.not_before.max(until);
        self.tripped(now, open_ms, actions);
    }

    /// An instance that had the right to probe reports the success; so does one that went alone.
    fn recovered(&mut self, now: Context, actions: &mut Vec<Action>) {
        self.own_until = 0;
        self.not_before = 0;
        self.rested();
        if let Some(period) = self
            .period
            .take_if(|period| matches!(period.phase, Phase::Probing { .. } | Phase::Alone))
        {
            self.overruled = Some(period.id.mark);
            self.ended.add(period.id.mark);
            self.judge(now, period.id, Verdict::Healthy, actions);
        }
    }

    fn judge(&mut self, now: Context, id: PeriodId, verdict: Verdict, actions: &mut Vec<Action>) {
        self.verdict = Some((id, verdict));
        if now.is_connected {
            actions.push(Action::Ask(Ask::Verdict { id, verdict }));
        }
    }

    /// A probe hangs: another instance may have better luck. What this one finds eventually still counts, if no other
    /// was faster.
    fn give_up(&mut self) {
        if let Some(period) = &mut self.period {
            if let Phase::Probing {
                is_given_up, until, ..
            } = &mut period.phase
            {
                *is_given_up = true;
                self.rests_until = *until + 2 * period.grace;
                self.has_failed = true;
            }
        }
    }

    /// A caller is there to probe with.
    fn want(&mut self, now: Context) {
        if !self.wants_rejections(now) {
            return;
        }
        if let Some(mut period) = self.period {
            let pause = self.random.up_to(period.grace / 8);
            period.phase = Phase::BidAt(now.now_ms + pause);
            self.period = Some(period);
        }
    }
}
