//! What happens at the breaker of this instance.

use super::super::message::{Ask, PeriodId, Verdict};
use super::growth;
use super::phase::Phase;
use super::{Action, Context, Local, Member};

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
                // What is told only now may have happened before the fleet opened.
                if self.period().is_none() {
                    self.period = None;
                    self.own_until = until;
                    self.tell_of_trip(now, actions);
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
            }
        }
    }

    fn tell_of_trip(&self, now: Context, actions: &mut Vec<Action>) {
        if now.is_connected {
            actions.push(Action::Ask(self.vote(now)));
        }
    }

    fn probe_failed(&mut self, now: Context, open_ms: u32, actions: &mut Vec<Action>) {
        if let Some(mut period) = self.period {
            if matches!(period.phase, Phase::Probing { .. }) {
                let random = self.random.draw() as u32;
                let trips = period.trips.saturating_add(1);
                let grown = growth::open_ms(&self.rules, trips, random);
                let open_ms = grown.max(open_ms);
                self.judge(now, period.id, Verdict::Failed { open_ms }, actions);
                period.phase = Phase::Alone;
                self.period = Some(period);
                return;
            }
        }
        self.own_until = now.now_ms + u64::from(open_ms);
        self.not_before = self.not_before.max(self.own_until);
        self.tell_of_trip(now, actions);
    }

    /// Whoever had the right to probe says so; whoever went alone says so, too, as long as nobody has it.
    fn recovered(&mut self, now: Context, actions: &mut Vec<Action>) {
        self.own_until = 0;
        self.not_before = 0;
        if let Some(period) = self
            .period
            .take_if(|period| matches!(period.phase, Phase::Probing { .. } | Phase::Alone))
        {
            self.overruled = Some(period.id.mark);
            self.judge(now, period.id, Verdict::Healthy, actions);
        }
    }

    fn judge(&mut self, now: Context, id: PeriodId, verdict: Verdict, actions: &mut Vec<Action>) {
        self.verdict = Some((id, verdict));
        if now.is_connected {
            actions.push(Action::Ask(Ask::Verdict { id, verdict }));
        }
    }

    /// A probe hangs: somebody else may have better luck. What it finds at last still counts, if nobody else
    /// was faster.
    fn give_up(&mut self) {
        if let Some(period) = &mut self.period {
            if let Phase::Probing { is_given_up, .. } = &mut period.phase {
                *is_given_up = true;
            }
        }
    }

    /// Somebody would like to call.
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
