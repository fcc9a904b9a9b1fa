// SPDX-License-Identifier: MIT OR Apache-2.0
//! The news from the engine: messages that it publishes, readings, and answers.

use super::Member;
use super::input::Action;
use super::period::{Followed, Phase};
use crate::message::{Answer, Ask, Finding, Notice, Period, PeriodId};

impl Member {
    /// Handles what was said about this breaker. `is_present` says that it is the engine's state now: an answer or a
    /// reading, rather than a published message.
    ///
    /// Messages arrive late and twice, so of these only a later epoch begins or ends something. C hears that period 7 is
    /// open, then that epoch 8 has closed it; a copy of the first message comes last, and must not trip C again.
    ///
    /// The present counts whatever its epoch, because engines lose data. A replica takes over that has never heard of
    /// epoch 8, and answers that period 7 is open: it is right about itself, however old its epoch. But calls have been
    /// passing at C since 7 ended, so C does not trip again. It tells the engine that the resource is healthy, and the
    /// new primary ends the period for all.
    pub(super) fn learn(&mut self, notice: Option<Notice>, is_present: bool) {
        let epoch = notice.map_or(0, |notice| notice.id().epoch);
        let is_news = is_present || epoch > self.heard.last_epoch;
        match notice {
            Some(Notice::Open(period)) if self.follows(period.id) => {
                self.update(period, is_present);
            }
            Some(Notice::Closed(id)) if self.is_ended_by(id) => self.end_period(id),
            Some(Notice::Open(period))
                if is_news && self.heard.overruled != Some(period.id.mark) =>
            {
                let has_ended = self.heard.ended.contains(&Some(period.id.mark));
                if !has_ended || is_present && !self.is_closed() {
                    self.adopt(period);
                } else if is_present {
                    let (id, finding) = (period.id, Finding::Healthy);
                    self.ask(Ask::Finding { id, finding });
                }
            }
            // However late it is heard, that period has ended.
            Some(Notice::Closed(id)) => self.heard.end(id.mark),
            _ => {}
        }
        if is_present && !matches!(notice, Some(Notice::Open(_))) {
            self.lose_period();
        }
        if is_news {
            self.heard.highest_epoch = self.heard.highest_epoch.max(epoch);
            self.heard.last_epoch = epoch;
            self.heard.at = Some(self.now.now_ms);
        }
    }

    /// Handles the engine's state in the reply to a question: it is the present, unless a message arrived after the
    /// question was sent.
    fn reply(&mut self, asked_ms: u64, notice: Option<Notice>) {
        let is_present = self.heard.at.is_none_or(|at| at < asked_ms);
        self.learn(notice, is_present);
    }

    fn follows(&self, id: PeriodId) -> bool {
        self.period.is_some_and(|period| period.id.mark == id.mark)
    }

    fn is_ended_by(&self, end: PeriodId) -> bool {
        self.period
            .is_some_and(|period| period.id.mark == end.mark || period.id.epoch < end.epoch)
    }

    /// Returns whether neither the fleet nor a failure holds calls off here.
    fn is_closed(&self) -> bool {
        self.period.is_none() && self.now.now_ms >= self.own.open_until && !self.fleet.is_shadow
    }

    /// Begins to follow a period.
    fn adopt(&mut self, period: Period) {
        if let Some(before) = self.period {
            self.heard.end(before.id.mark);
        }
        self.heard.overruled = None;
        self.own.open_until = 0;
        let now = self.now.now_ms;
        let open_ms = period.open_ms.min(self.longest_ms);
        let remaining = u64::from(period.remaining_ms.min(open_ms));
        let grace = self.fleet.grace_ms(open_ms);
        let leased = u64::from(period.leased_ms).min(grace);
        // The breaker admits a probe by itself half a grace to a grace later.
        let for_ms = remaining.max(leased) + grace / 2 + self.random.u64(..=grace / 2);
        self.period = Some(Followed {
            id: period.id,
            trips: period.trips,
            ends: now + remaining,
            breaker_until: now + for_ms,
            grace,
            awaits_call: false,
            phase: match leased {
                0 => Phase::Waiting,
                _ => Phase::Taken(now + leased),
            },
        });
        if remaining == 0 && leased == 0 {
            self.becomes_due();
        }
        self.actions.push(Action::Trip { for_ms });
    }

    /// Handles news of the period that it follows already: another instance may have got the right to probe.
    fn update(&mut self, said: Period, is_present: bool) {
        let Some(period) = &mut self.period else {
            return;
        };
        let now = self.now.now_ms;
        self.heard.at = Some(now);
        let mut from = None;
        let is_late = now >= period.breaker_until;
        // What a probe of its own finds is reported, however long it takes.
        let is_back = !self.now.is_probing && (is_present || !is_late);
        if period.phase == Phase::Alone && is_back {
            period.phase = Phase::Waiting;
            from = is_late.then(|| now.max(period.ends));
        }
        let waits = matches!(
            period.phase,
            Phase::Waiting | Phase::Due(_) | Phase::BidAt(_) | Phase::Taken(_)
        );
        if waits && said.leased_ms > 0 {
            let until = now + u64::from(said.leased_ms).min(period.grace);
            period.phase = Phase::Taken(until);
            from = from.max(Some(until));
        }
        if let Some(from) = from {
            self.extend(from);
        }
    }

    /// A probe of some instance has succeeded.
    fn end_period(&mut self, id: PeriodId) {
        self.heard.end(id.mark);
        if let Some(period) = self.period.take() {
            self.heard.end(period.id.mark);
        }
        self.own.end_outage();
        // An instance that was asked to wait keeps waiting.
        if self.now.now_ms >= self.own.no_probe_before {
            self.own.open_until = 0;
            self.actions.push(Action::Close);
        }
    }

    /// The engine has lost the period, or let it expire: what was set here still holds until it ends by itself.
    fn lose_period(&mut self) {
        if let Some(period) = &mut self.period {
            period.phase = Phase::Alone;
            if self.now.now_ms >= period.breaker_until {
                self.period = None;
                self.own.end_outage();
            }
        }
    }

    /// Handles a reading of everything.
    pub(super) fn read(&mut self, asked_ms: u64, notice: Option<Notice>) {
        let running = match notice {
            Some(Notice::Open(period)) => Some(period.id.mark),
            _ => None,
        };
        if let Some((id, finding)) = self.unconfirmed {
            // The engine may not have heard it.
            if running == Some(id.mark) {
                self.ask(Ask::Finding { id, finding });
            } else {
                self.unconfirmed = None;
            }
        }
        self.reply(asked_ms, notice);
        let window = self.own.tripped_at + u64::from(self.fleet.window_ms);
        if running.is_none() && self.now.now_ms < self.own.open_until.min(window) {
            // The engine may have lost the vote, or never received it.
            self.vote();
        }
    }

    /// Handles the answer to a request, or that there was none.
    pub(super) fn answer(&mut self, ask: Ask, asked_ms: u64, answer: Option<Answer>) {
        let Some(answer) = answer else {
            let is_bidding = self.period.is_some_and(|it| it.phase == Phase::Bidding);
            if is_bidding && matches!(ask, Ask::Bid { .. }) {
                self.becomes_due();
            }
            return;
        };
        match ask {
            // If it follows another period now, the one that the bid was for is over here.
            Ask::Bid { id, lease_ms } if self.follows(id) => {
                self.bid_answered(asked_ms, asked_ms + u64::from(lease_ms), answer.done);
            }
            Ask::Finding { id, .. }
                if self.unconfirmed.is_some_and(|(of, _)| of.mark == id.mark) =>
            {
                self.unconfirmed = None;
            }
            _ => {}
        }
        self.reply(asked_ms, answer.notice);
    }
}
