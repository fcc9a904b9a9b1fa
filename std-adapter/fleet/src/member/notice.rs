//! What the engine says.

use super::phase::{Current, Phase};
use super::{Action, Context, Member};
use crate::message::{Ask, Notice, Period, PeriodId, Verdict};

impl Member {
    /// Handles what was published. Late and duplicate messages change nothing: only a later epoch begins or ends
    /// something.
    pub(super) fn notice(&mut self, now: Context, notice: Notice, actions: &mut Vec<Action>) {
        let is_news = notice.id().epoch > self.heard;
        match notice {
            Notice::Open(heard) if self.follows(heard.id) => {
                self.same(now, heard, false, actions);
            }
            Notice::Open(heard) => {
                let is_over = self.overruled == Some(heard.id.mark);
                if is_news && !is_over && !self.ended.has(heard.id.mark) {
                    self.adopt(now, heard, actions);
                }
            }
            Notice::Closed(id) if self.is_ended_by(id) => self.closed(now, id, actions),
            Notice::Closed(id) if is_news => self.ended.add(id.mark),
            Notice::Closed(_) => {}
        }
        if is_news {
            self.hear(now, notice.id().epoch);
        }
    }

    /// Handles an answer or a reading that was asked for after everything known here was learned. It is the present,
    /// whatever its epoch, as the engine may have lost what it knew, or have fallen back to older data.
    pub(super) fn present(
        &mut self,
        now: Context,
        notice: Option<Notice>,
        actions: &mut Vec<Action>,
    ) {
        match notice {
            Some(Notice::Open(heard)) if self.follows(heard.id) => {
                self.same(now, heard, true, actions);
            }
            Some(Notice::Open(heard)) if self.overruled == Some(heard.id.mark) => {}
            Some(Notice::Open(heard)) if self.is_closed(now) && self.ended.has(heard.id.mark) => {
                // The engine has fallen back to this period; calls have been passing here since it ended.
                if now.is_connected {
                    let (id, verdict) = (heard.id, Verdict::Healthy);
                    actions.push(Action::Ask(Ask::Verdict { id, verdict }));
                }
            }
            Some(Notice::Open(heard)) => self.adopt(now, heard, actions),
            Some(Notice::Closed(id)) if self.is_ended_by(id) => self.closed(now, id, actions),
            Some(Notice::Closed(id)) => {
                self.ended.add(id.mark);
                self.forgotten(now);
            }
            None => self.forgotten(now),
        }
        self.heard = 0;
        self.hear(now, notice.map_or(0, |notice| notice.id().epoch));
    }

    /// Handles the engine's reply to a question: it is the present, unless something was heard since it was asked.
    pub(super) fn said(
        &mut self,
        now: Context,
        asked_ms: u64,
        notice: Option<Notice>,
        actions: &mut Vec<Action>,
    ) {
        if self.learned.is_none_or(|learned| learned < asked_ms) {
            self.present(now, notice, actions);
        } else if let Some(notice) = notice {
            self.notice(now, notice, actions);
        }
    }

    fn hear(&mut self, now: Context, epoch: u64) {
        self.known = self.known.max(epoch);
        self.heard = self.heard.max(epoch);
        self.learned = Some(now.now_ms);
    }

    fn follows(&self, id: PeriodId) -> bool {
        self.period.is_some_and(|period| period.id.mark == id.mark)
    }

    fn is_ended_by(&self, end: PeriodId) -> bool {
        self.period
            .is_some_and(|period| period.id.mark == end.mark || period.id.epoch < end.epoch)
    }

    /// Whether neither the fleet nor a failure holds calls off here.
    fn is_closed(&self, now: Context) -> bool {
        self.period.is_none() && now.now_ms >= self.own_until && !self.fleet.is_shadow
    }

    fn adopt(&mut self, now: Context, heard: Period, actions: &mut Vec<Action>) {
        if let Some(before) = self.period {
            self.ended.add(before.id.mark);
        }
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

    /// Handles news of the period that is already known: the right to probe may have been taken.
    fn same(&mut self, now: Context, heard: Period, is_present: bool, actions: &mut Vec<Action>) {
        let Some(mut period) = self.period else {
            return;
        };
        self.learned = Some(now.now_ms);
        let is_back = is_present && !now.is_probing;
        if period.phase == Phase::Alone && (is_back || now.now_ms < period.word_until) {
            period.phase = Phase::Waiting;
            if now.now_ms >= period.word_until {
                let from = now.now_ms.max(period.ends);
                self.extend(now, &mut period, from, actions);
            }
        }
        let waits = matches!(
            period.phase,
            Phase::Waiting | Phase::Due | Phase::BidAt(_) | Phase::Taken(_)
        );
        if waits && heard.leased_ms > 0 {
            let until = now.now_ms + u64::from(heard.leased_ms).min(period.grace);
            period.phase = Phase::Taken(until);
            self.extend(now, &mut period, until, actions);
        }
        self.period = Some(period);
    }

    fn closed(&mut self, now: Context, id: PeriodId, actions: &mut Vec<Action>) {
        self.ended.add(id.mark);
        if let Some(period) = self.period.take() {
            self.ended.add(period.id.mark);
        }
        self.rested();
        // An instance that was asked to wait keeps waiting.
        if now.now_ms >= self.not_before {
            self.own_until = 0;
            actions.push(Action::Close);
        }
    }

    /// Handles a reading of everything.
    pub(super) fn read(
        &mut self,
        now: Context,
        asked_ms: u64,
        notice: Option<Notice>,
        actions: &mut Vec<Action>,
    ) {
        self.repeat_verdict(now, notice, actions);
        self.said(now, asked_ms, notice, actions);
        let runs = matches!(notice, Some(Notice::Open(_)));
        let window = self.tripped_at.saturating_add(self.fleet.window_ms);
        if !runs && now.is_connected && now.now_ms < self.own_until.min(window) {
            // The engine may have lost the vote, or never received it.
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
}
