//! Where an instance is within a period of its fleet, and what changes as time passes.

use super::{Action, Context, Member};
use crate::message::PeriodId;

/// A period of the fleet, as this instance knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current {
    pub(crate) id: PeriodId,
    pub(crate) trips: u8,
    /// When a probe is allowed.
    pub(crate) ends: u64,
    /// When the breaker of this instance would admit a probe by itself.
    pub(crate) word_until: u64,
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
    /// Another instance has it, until this time.
    Taken(u64),
    /// This instance has it.
    Probing {
        /// When the right ends, unless it is asked for again.
        until: u64,
        /// When to check whether to ask again.
        renew: u64,
        /// Its probe was lost: it does not ask again.
        is_given_up: bool,
    },
    /// The period no longer binds this instance.
    Alone,
}

impl Current {
    pub(super) fn due_ms(&self) -> Option<u64> {
        let extend = self.extend_at();
        match self.phase {
            Phase::Waiting => Some(self.ends),
            Phase::Due => Some(extend),
            Phase::BidAt(at) => Some(at),
            Phase::Taken(until) => Some(extend.min(until)),
            Phase::Probing { renew, .. } => Some(renew),
            Phase::Bidding => Some(self.word_until),
            Phase::Alone => None,
        }
    }

    /// When the breaker's own deadline must be moved, as long as the engine answers.
    fn extend_at(&self) -> u64 {
        self.word_until.saturating_sub(self.grace / 2)
    }
}

impl Member {
    /// How much later the breaker of this instance admits a probe by itself: half a grace to a grace.
    pub(super) fn spread(&mut self, grace: u64) -> u64 {
        grace / 2 + self.random.up_to(grace / 2)
    }

    pub(super) fn pass_time(&mut self, now: Context, actions: &mut Vec<Action>) {
        let Some(mut period) = self.period else {
            return;
        };
        let time = now.now_ms;
        match period.phase {
            Phase::Waiting if time >= period.ends => period.phase = Phase::Due,
            Phase::Taken(until) if time >= until => period.phase = Phase::Due,
            Phase::Bidding if time >= period.word_until => period.phase = Phase::Alone,
            Phase::BidAt(at) if time >= at => {
                period.phase = Self::bid(now, &period, actions);
            }
            Phase::Probing { renew, .. } if time >= renew => {
                period.phase = Self::keep_probing(now, &period, actions);
            }
            _ => {}
        }
        let waits = matches!(period.phase, Phase::Due | Phase::Taken(_));
        if waits && time >= period.extend_at() {
            self.put_off(now, &mut period, actions);
        }
        self.period = Some(period);
    }

    /// Moves the breaker's own deadline on, if the engine answers; otherwise the period ends here at that deadline.
    fn put_off(&mut self, now: Context, period: &mut Current, actions: &mut Vec<Action>) {
        if !now.is_connected || now.now_ms >= period.word_until {
            period.phase = Phase::Alone;
            return;
        }
        let from = match period.phase {
            Phase::Taken(until) => now.now_ms.max(until),
            _ => now.now_ms,
        };
        self.extend(now, period, from, actions);
    }

    pub(super) fn extend(
        &mut self,
        now: Context,
        period: &mut Current,
        from: u64,
        actions: &mut Vec<Action>,
    ) {
        // At least three quarters of a grace, so that it need not be done again soon.
        let until = from + period.grace * 3 / 4 + self.random.up_to(period.grace / 4);
        if until > period.word_until {
            period.word_until = until;
            actions.push(Action::Extend {
                for_ms: until - now.now_ms,
            });
        }
    }
}
