//! What the engine says.

use super::phase::{Current, Phase};
use super::{Action, Member};
use crate::message::{Ask, Notice, Period, PeriodId, Verdict};

impl Member {
    /// Handles what was said about this breaker. Of what is published only a later epoch begins or ends something: late
    /// and duplicate messages change nothing. What is present counts whatever its epoch, as the engine may have lost
    /// what it knew, or have fallen back to older data.
    pub(super) fn learn(&mut self, notice: Option<Notice>, is_present: bool) {
        let epoch = notice.map_or(0, |notice| notice.id().epoch);
        let is_news = is_present || epoch > self.heard;
        match notice {
            Some(Notice::Open(heard)) if self.follows(heard.id) => self.same(heard, is_present),
            Some(Notice::Closed(id)) if self.is_ended_by(id) => self.closed(id),
            Some(Notice::Open(heard)) if is_news && self.overruled != Some(heard.id.mark) => {
                let has_ended = self.ended.contains(&Some(heard.id.mark));
                if !has_ended || is_present && !self.is_closed() {
                    self.adopt(heard);
                } else if is_present {
                    // The engine has fallen back to this period; calls have been passing here since it ended.
                    let (id, verdict) = (heard.id, Verdict::Healthy);
                    self.ask(Ask::Verdict { id, verdict });
                }
            }
            Some(Notice::Closed(id)) if is_news => self.end(id.mark),
            _ => {}
        }
        if is_present && !matches!(notice, Some(Notice::Open(_))) {
            self.forgotten();
        }
        if is_news {
            self.known = self.known.max(epoch);
            self.heard = epoch;
            self.learned = Some(self.now.now_ms);
        }
    }

    /// Handles the engine's reply to a question: it is the present, unless something was heard since it was asked.
    pub(super) fn said(&mut self, asked_ms: u64, notice: Option<Notice>) {
        let is_present = self.learned.is_none_or(|learned| learned < asked_ms);
        self.learn(notice, is_present);
    }

    pub(super) fn follows(&self, id: PeriodId) -> bool {
        self.period.is_some_and(|period| period.id.mark == id.mark)
    }

    fn is_ended_by(&self, end: PeriodId) -> bool {
        self.period
            .is_some_and(|period| period.id.mark == end.mark || period.id.epoch < end.epoch)
    }

    /// Whether neither the fleet nor a failure holds calls off here.
    fn is_closed(&self) -> bool {
        self.period.is_none() && self.now.now_ms >= self.own_until && !self.fleet.is_shadow
    }

    fn adopt(&mut self, heard: Period) {
        if let Some(before) = self.period {
            self.end(before.id.mark);
        }
        self.overruled = None;
        self.own_until = 0;
        let now = self.now.now_ms;
        let open_ms = heard.open_ms.min(self.longest_ms);
        let remaining = u64::from(heard.remaining_ms.min(open_ms));
        let grace = self.fleet.grace_ms(open_ms);
        let leased = u64::from(heard.leased_ms).min(grace);
        // It admits a probe by itself half a grace to a grace later.
        let for_ms = remaining.max(leased) + grace / 2 + self.random.u64(..=grace / 2);
        self.period = Some(Current {
            id: heard.id,
            trips: heard.trips,
            ends: now + remaining,
            word_until: now + for_ms,
            grace,
            phase: match (remaining, leased) {
                (0, 0) => Phase::Due,
                (_, 0) => Phase::Waiting,
                _ => Phase::Taken(now + leased),
            },
        });
        self.actions.push(Action::Trip { for_ms });
    }

    /// Handles news of the period that is already known: the right to probe may have been taken.
    fn same(&mut self, heard: Period, is_present: bool) {
        let Some(period) = &mut self.period else {
            return;
        };
        let now = self.now.now_ms;
        self.learned = Some(now);
        let mut from = None;
        let is_late = now >= period.word_until;
        let is_back = is_present && !self.now.is_probing;
        if period.phase == Phase::Alone && (is_back || !is_late) {
            period.phase = Phase::Waiting;
            from = is_late.then(|| now.max(period.ends));
        }
        let waits = matches!(
            period.phase,
            Phase::Waiting | Phase::Due | Phase::BidAt(_) | Phase::Taken(_)
        );
        if waits && heard.leased_ms > 0 {
            let until = now + u64::from(heard.leased_ms).min(period.grace);
            period.phase = Phase::Taken(until);
            from = from.max(Some(until));
        }
        if let Some(from) = from {
            self.extend(from);
        }
    }

    fn closed(&mut self, id: PeriodId) {
        self.end(id.mark);
        if let Some(period) = self.period.take() {
            self.end(period.id.mark);
        }
        self.rest();
        // An instance that was asked to wait keeps waiting.
        if self.now.now_ms >= self.not_before {
            self.own_until = 0;
            self.actions.push(Action::Close);
        }
    }

    /// The engine has lost the period, or let it expire: what was set here still holds until it ends by itself.
    fn forgotten(&mut self) {
        if let Some(period) = &mut self.period {
            period.phase = Phase::Alone;
            if self.now.now_ms >= period.word_until {
                self.period = None;
                self.rest();
            }
        }
    }

    /// Handles a reading of everything.
    pub(super) fn read(&mut self, asked_ms: u64, notice: Option<Notice>) {
        let running = match notice {
            Some(Notice::Open(period)) => Some(period.id.mark),
            _ => None,
        };
        if let Some((id, verdict)) = self.verdict {
            // The engine may not have heard it.
            if running == Some(id.mark) {
                self.ask(Ask::Verdict { id, verdict });
            } else {
                self.verdict = None;
            }
        }
        self.said(asked_ms, notice);
        let window = self.tripped_at + u64::from(self.fleet.window_ms);
        if running.is_none() && self.now.now_ms < self.own_until.min(window) {
            // The engine may have lost the vote, or never received it.
            self.vote();
        }
    }
}
