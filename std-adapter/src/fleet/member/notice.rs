//! What the engine says.

use super::super::message::{Ask, Notice, Period, PeriodId};
use super::phase::{Current, Phase};
use super::{Action, Context, Member};

impl Member {
    pub(super) fn notice(&mut self, now: Context, notice: Notice, actions: &mut Vec<Action>) {
        match notice {
            Notice::Open(period) => self.open(now, period, actions),
            Notice::Closed(id) => self.closed(now, id, actions),
        }
    }

    /// Late and doubled messages change nothing: only a later epoch begins something.
    fn open(&mut self, now: Context, heard: Period, actions: &mut Vec<Action>) {
        if self.overruled == Some(heard.id.mark) {
            self.learn(heard.id.epoch);
            return;
        }
        match self.period {
            Some(period) if period.id.mark == heard.id.mark => {
                self.same(now, period, heard, actions);
            }
            _ if heard.id.epoch > self.known => self.adopt(now, heard, actions),
            _ => {}
        }
    }

    fn adopt(&mut self, now: Context, heard: Period, actions: &mut Vec<Action>) {
        self.learn(heard.id.epoch);
        self.overruled = None;
        self.own_until = 0;
        let open_ms = heard.open_ms.min(self.longest_ms);
        let remaining = u64::from(heard.remaining_ms.min(open_ms));
        let grace = self.fleet.grace_ms(open_ms);
        let leased = u64::from(heard.leased_ms).min(grace);
        let ends = now.now_ms + remaining;
        let word_until = now.now_ms + remaining.max(leased) + self.spread(grace);
        self.period = Some(Current {
            id: heard.id,
            trips: heard.trips,
            ends,
            learned: now.now_ms,
            word_until,
            grace,
            phase: match (remaining, leased) {
                (0, 0) => Phase::Due,
                (_, 0) => Phase::Waiting,
                _ => Phase::Taken(now.now_ms + leased),
            },
        });
        actions.push(Action::Trip {
            for_ms: word_until - now.now_ms,
        });
    }

    /// The period that is known already: somebody may have taken the right to probe.
    fn same(
        &mut self,
        now: Context,
        mut period: Current,
        heard: Period,
        actions: &mut Vec<Action>,
    ) {
        self.learn(heard.id.epoch);
        period.id.epoch = period.id.epoch.max(heard.id.epoch);
        period.learned = now.now_ms;
        if period.phase == Phase::Alone && now.now_ms < period.word_until {
            // Its engine is back in time.
            period.phase = Phase::Waiting;
        }
        let waits = matches!(
            period.phase,
            Phase::Waiting | Phase::Due | Phase::BidAt(_) | Phase::Taken(_)
        );
        if let (true, Some(leased)) = (waits, Self::leased(&Notice::Open(heard))) {
            let until = now.now_ms + u64::from(leased).min(period.grace);
            period.phase = Phase::Taken(until);
            self.extend(now, &mut period, until, actions);
        }
        self.period = Some(period);
    }

    fn closed(&mut self, now: Context, id: PeriodId, actions: &mut Vec<Action>) {
        let is_this = self
            .period
            .is_some_and(|period| period.id.mark == id.mark || period.id.epoch < id.epoch);
        self.learn(id.epoch);
        if !is_this {
            return;
        }
        self.period = None;
        // Who was asked to wait waits.
        if now.now_ms >= self.not_before {
            self.own_until = 0;
            actions.push(Action::Close);
        }
    }

    /// Everything was read.
    pub(super) fn read(
        &mut self,
        now: Context,
        asked_ms: u64,
        notice: Option<Notice>,
        actions: &mut Vec<Action>,
    ) {
        self.repeat_verdict(now, notice, actions);
        if let Some(notice) = notice {
            self.raise(notice, actions);
            self.notice(now, notice, actions);
        } else if self.period.is_some_and(|period| period.learned < asked_ms) {
            self.forgotten(now);
        }
        let runs = matches!(notice, Some(Notice::Open(_)));
        if !runs && now.is_connected && now.now_ms < self.own_until {
            // The engine may have lost it, or not got it.
            actions.push(Action::Ask(self.vote(now)));
        }
    }

    fn repeat_verdict(&mut self, now: Context, notice: Option<Notice>, actions: &mut Vec<Action>) {
        let Some((id, verdict)) = self.verdict else {
            return;
        };
        match notice {
            Some(Notice::Open(period)) if period.id.mark == id.mark => {
                if now.is_connected {
                    actions.push(Action::Ask(Ask::Verdict { id, verdict }));
                }
            }
            _ => self.verdict = None,
        }
    }

    /// An engine that gives a period an epoch of the past would not be heard.
    fn raise(&self, notice: Notice, actions: &mut Vec<Action>) {
        let Notice::Open(heard) = notice else {
            return;
        };
        let is_known = self
            .period
            .is_some_and(|period| period.id.mark == heard.id.mark)
            || self.overruled == Some(heard.id.mark);
        if !is_known && heard.id.epoch <= self.known {
            actions.push(Action::Ask(Ask::Raise {
                id: heard.id,
                known: self.known,
            }));
        }
    }
}
