//! Where an instance is within a period of its fleet, and what changes as time passes.

use super::right::OwnProbe;
use super::{Action, Member};
use crate::message::{Ask, PeriodId};

/// A period of the fleet, as this instance knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Followed {
    pub(crate) id: PeriodId,
    pub(crate) trips: u8,
    /// When the first probe is allowed.
    pub(crate) ends: u64,
    /// When the breaker of this instance would admit a probe by itself.
    pub(crate) breaker_until: u64,
    pub(crate) grace: u64,
    pub(crate) phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No probe is allowed yet.
    Waiting,
    /// A probe is allowed, and no instance has the right to it.
    Due,
    /// A call was rejected here: this instance asks for the right at this time.
    BidAt(u64),
    /// This instance has asked for the right.
    Bidding,
    /// Another instance has the right to probe, until this time.
    Taken(u64),
    /// This instance has the right to probe.
    Probing {
        /// When the right ends, unless it is asked for again.
        until: u64,
        /// When to check whether to ask again.
        renew: u64,
        probe: OwnProbe,
        /// Its probe was lost: it does not ask again.
        is_given_up: bool,
    },
    /// The period no longer binds this instance.
    Alone,
}

impl Followed {
    /// How long the right to probe lasts: shorter than the grace, so that another instance takes over from one that is
    /// gone.
    pub(super) fn lease(&self) -> u64 {
        self.grace / 2
    }

    pub(super) fn due_ms(&self) -> Option<u64> {
        let extend = self.extend_at();
        match self.phase {
            Phase::Waiting => Some(self.ends),
            Phase::Due => Some(extend),
            Phase::BidAt(at) => Some(at),
            Phase::Taken(until) => Some(extend.min(until)),
            Phase::Probing { renew, .. } => Some(renew),
            Phase::Bidding => Some(self.breaker_until),
            Phase::Alone => None,
        }
    }

    /// When the breaker's own deadline must be moved, as long as the engine answers.
    fn extend_at(&self) -> u64 {
        self.breaker_until.saturating_sub(self.grace / 2)
    }

    pub(super) fn bid(&self, lease: u64) -> Action {
        Action::Ask(Ask::Bid {
            id: self.id,
            lease_ms: lease as u32,
        })
    }
}

impl Member {
    pub(super) fn pass_time(&mut self) {
        let probe_lease = self.probe_lease();
        self.watch_probe(probe_lease);
        let Some(period) = &mut self.period else {
            return;
        };
        let now = self.now.now_ms;
        match period.phase {
            Phase::Waiting if now >= period.ends => period.phase = Phase::Due,
            Phase::Taken(until) if now >= until => period.phase = Phase::Due,
            Phase::Bidding if now >= period.breaker_until => period.phase = Phase::Alone,
            Phase::BidAt(at) if now >= at && self.now.is_connected => {
                self.actions.push(period.bid(period.lease()));
                period.phase = Phase::Bidding;
            }
            Phase::BidAt(at) if now >= at => period.phase = Phase::Alone,
            Phase::Probing { renew, .. } if now >= renew => {
                period.keep_probing(self.now, probe_lease, &mut self.actions);
            }
            _ => {}
        }
        let from = match period.phase {
            _ if now < period.extend_at() => return,
            Phase::Due => now,
            Phase::Taken(until) => now.max(until),
            _ => return,
        };
        // If the engine does not answer, the period ends here at the breaker's own deadline.
        if self.now.is_connected && now < period.breaker_until {
            self.extend(from);
        } else {
            period.phase = Phase::Alone;
        }
    }

    /// Moves the breaker's own deadline on.
    pub(super) fn extend(&mut self, from: u64) {
        let Some(period) = &mut self.period else {
            return;
        };
        // At least three quarters of a grace, so that it need not be done again soon.
        let until = from + period.grace * 3 / 4 + self.random.u64(..=period.grace / 4);
        if until > period.breaker_until {
            period.breaker_until = until;
            self.actions.push(Action::Extend {
                for_ms: until - self.now.now_ms,
            });
        }
    }
}
