//! What happens at the breaker of this instance.

use super::phase::{Followed, Phase};
use super::{Local, Member};
use crate::message::{Ask, PeriodId, Verdict};

/// What this instance's own calls and operators have found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    /// When it last tripped because of its own outcomes, and until when it is open for that reason.
    pub(crate) tripped_at: u64,
    pub(crate) open_until: u64,
    /// No probe before this time: a failure, an operator, or this instance's own probe outside the fleet demanded it.
    pub(crate) no_probe_before: u64,
    /// Its own probe failed or hung: until this time it leaves the next one to others.
    pub(crate) yields_until: u64,
    /// Whether its own probe failed or hung in this outage; if so, it bids half a grace after the others in each of the
    /// outage's periods.
    pub(crate) has_failed: bool,
}

impl Own {
    /// The outage is over here.
    pub(super) fn end_outage(&mut self) {
        self.yields_until = 0;
        self.has_failed = false;
    }

    /// Clears every local reason to reject calls.
    fn clear(&mut self) {
        self.open_until = 0;
        self.no_probe_before = 0;
        self.end_outage();
    }
}

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
            Local::TrippedByHand { open_ms } => self.hold_off(open_ms),
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
        let Some(Followed {
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
        self.report(id, failed);
        // For as long as it would wait without a fleet.
        self.own.yields_until = self.now.now_ms + u64::from(open_ms);
        self.own.has_failed = true;
    }

    /// Reports the success of an instance that had the right to probe, or that went alone.
    fn recovered(&mut self) {
        self.own.clear();
        let reports = self
            .period
            .take_if(|period| matches!(period.phase, Phase::Probing { .. } | Phase::Alone));
        if let Some(period) = reports {
            self.heard.overruled = Some(period.id.mark);
            self.heard.end(period.id.mark);
            self.report(period.id, Verdict::Healthy);
        }
    }

    /// Tells the engine what a probe found, again with each reading until it has confirmed that.
    fn report(&mut self, id: PeriodId, verdict: Verdict) {
        self.unconfirmed = Some((id, verdict));
        self.ask(Ask::Verdict { id, verdict });
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
