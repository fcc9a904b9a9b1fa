// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events at the breaker of this instance.

use super::Member;
use super::input::Local;
use super::period::{Followed, Phase};
use crate::message::{Ask, Finding, PeriodId};

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
            Local::Rejected => self.bid_soon(),
            Local::TrippedByHand { open_ms } => {
                self.hold_off(open_ms);
                self.awaits_no_call();
            }
            Local::Overruled => {
                self.own.clear();
                if let Some(period) = self.period.take() {
                    self.heard.overruled = Some(period.id.mark);
                }
            }
        }
    }

    /// Allows no probe within this time.
    fn hold_off(&mut self, open_ms: u32) {
        let until = self.now.now_ms + u64::from(open_ms);
        self.own.no_probe_before = self.own.no_probe_before.max(until);
    }

    /// Votes, because it has tripped here by its own outcomes.
    fn tripped(&mut self, open_ms: u32) {
        self.own.tripped_at = self.now.now_ms;
        self.own.open_until = self.now.now_ms + u64::from(open_ms);
        self.vote();
    }

    pub(super) fn vote(&mut self) {
        let now = self.now.now_ms;
        self.ask(Ask::Vote {
            quorum: self.fleet.quorum,
            window_ms: self.fleet.window_ms,
            age_ms: now.saturating_sub(self.own.tripped_at) as u32,
            open_ms: self.own.open_until.saturating_sub(now).max(1) as u32,
            known: self.heard.highest_epoch,
        });
    }

    fn probe_failed(&mut self, open_ms: u32) {
        if let Some(period) = &mut self.period {
            // Its breaker has opened anew: until then the next message brings it back to the others.
            period.breaker_until = self.now.now_ms + u64::from(open_ms);
        }
        let Some(Followed {
            id,
            trips,
            grace,
            awaits_call,
            phase: phase @ Phase::Probing { .. },
            ..
        }) = &mut self.period
        else {
            self.hold_off(open_ms);
            self.tripped(open_ms);
            self.awaits_no_call();
            return;
        };
        *phase = Phase::Alone;
        *awaits_call = false;
        let grown =
            super::breaker::open_ms(&self.rules, trips.saturating_add(1), self.random.u32(..));
        let failed = Finding::Failed {
            open_ms: grown.max(open_ms),
            pause_ms: *grace as u32,
        };
        let id = *id;
        self.report(id, failed);
        // For as long as it would wait without a fleet.
        self.own.yields_until = self.now.now_ms + u64::from(open_ms);
        self.own.has_failed = true;
    }

    /// Its breaker was half-open for its next call, and is open again: it may have another turn.
    fn awaits_no_call(&mut self) {
        if let Some(period) = &mut self.period {
            period.awaits_call = false;
            if matches!(period.phase, Phase::Due(_)) {
                self.becomes_due();
            }
        }
    }

    /// Reports the success of an instance that had the right to probe, or that went alone. News of the period may have come in between
    /// its right and the call.
    fn recovered(&mut self) {
        self.own.clear();
        let reports = self.period.take_if(|period| {
            period.awaits_call || matches!(period.phase, Phase::Probing { .. } | Phase::Alone)
        });
        if let Some(period) = reports {
            self.heard.overruled = Some(period.id.mark);
            self.heard.end(period.id.mark);
            self.report(period.id, Finding::Healthy);
        }
    }

    /// Tells the engine what a probe found, again with each reading until it has confirmed that.
    fn report(&mut self, id: PeriodId, finding: Finding) {
        self.unconfirmed = Some((id, finding));
        self.ask(Ask::Finding { id, finding });
    }

    /// A call was rejected, so a bid is worthwhile: after a short random pause, as calls are rejected elsewhere, too.
    fn bid_soon(&mut self) {
        if !self.wants_rejections(self.now) {
            return;
        }
        if let Some(period) = &mut self.period {
            let pause = self.random.u64(..=period.grace / 8);
            period.phase = Phase::BidAt(self.now.now_ms + pause);
        }
    }
}
