// SPDX-License-Identifier: MIT OR Apache-2.0
//! A period of the fleet, as an instance follows it, and the probe of an instance that has the right to it.

use super::input::{Action, Context};
use crate::message::{Ask, PeriodId};

/// The number of further leases in which an instance that got no call before its right ended may still probe for all.
const SELDOM: u64 = 64;

/// The number of graces after the end of a period at which an instance goes on alone if no call is rejected anywhere:
/// others have had the right meanwhile, one after the other, and their callers did not come.
const SILENT: u64 = 16;

/// The probe of an instance that has the right; or several, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnProbe {
    /// The earliest time at which it may have begun, or when the last of several succeeded. A probe that ends without a
    /// report does not start it anew: callers that always leave early would keep the right for good.
    pub(crate) since: u64,
    pub(crate) successes: u8,
    pub(crate) is_seen: bool,
}

impl OwnProbe {
    /// No probe has been seen yet.
    pub(super) const fn none(now_ms: u64) -> Self {
        Self {
            since: now_ms,
            successes: 0,
            is_seen: false,
        }
    }
}

/// A period of the fleet, as this instance knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Followed {
    pub(crate) id: PeriodId,
    pub(crate) trips: u8,
    /// The time at which the first probe is allowed.
    pub(crate) ends: u64,
    /// The time at which the breaker of this instance would admit a probe by itself.
    pub(crate) breaker_until: u64,
    pub(crate) grace: u64,
    /// `true` if this instance has had the right to probe, and its next call still is a probe: it need not ask again.
    pub(crate) awaits_call: bool,
    pub(crate) phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No probe is allowed yet.
    Waiting,
    /// A probe is allowed, and no instance has the right to it. If no call is rejected anywhere until this time, this
    /// instance asks for the right unasked: its callers may look before they call, and are never rejected.
    Due(Option<u64>),
    /// A call was rejected here: this instance asks for the right at this time.
    BidAt(u64),
    /// This instance has asked for the right.
    Bidding,
    /// Another instance has the right to probe, until this time.
    Taken(u64),
    /// This instance has the right to probe.
    Probing {
        /// The time at which the right ends, unless it is asked for again.
        until: u64,
        /// The time at which to check whether to ask again.
        renew: u64,
        probe: OwnProbe,
        /// Its probe was lost: it does not ask again.
        is_given_up: bool,
    },
    /// The period no longer binds this instance.
    Alone,
}

impl Followed {
    /// The time for which the right to probe lasts: shorter than the grace, so that another instance takes over from
    /// one that is gone.
    pub(super) fn lease(&self) -> u64 {
        self.grace / 2
    }

    pub(super) fn due_ms(&self) -> Option<u64> {
        let extend = self.extend_at();
        match self.phase {
            Phase::Waiting => Some(self.ends),
            Phase::Due(unasked) => Some(unasked.map_or(extend, |at| extend.min(at))),
            Phase::BidAt(at) => Some(at),
            Phase::Taken(until) => Some(extend.min(until)),
            Phase::Probing { renew, .. } => Some(renew),
            Phase::Bidding => Some(self.breaker_until),
            Phase::Alone => None,
        }
    }

    /// The time at which the breaker's own deadline must be moved, as long as the engine answers.
    pub(super) fn extend_at(&self) -> u64 {
        self.breaker_until.saturating_sub(self.grace / 2)
    }

    /// The time by which so many instances have had the right in vain that this one need not wait for it.
    pub(crate) fn silent_at(&self) -> u64 {
        self.ends + SILENT * self.grace
    }

    pub(super) fn bid(&self, lease: u64) -> Action {
        Action::Ask(Ask::Bid {
            id: self.id,
            lease_ms: lease as u32,
        })
    }

    /// Returns whether the probe of this instance has had its time.
    pub(super) fn is_hung(&mut self, now: Context, probe_lease: u64) -> bool {
        let Phase::Probing { until, probe, .. } = &mut self.phase else {
            return false;
        };
        let time = now.now_ms;
        if !now.is_probing {
            if !probe.is_seen || time >= *until {
                *probe = OwnProbe::none(time);
            }
            return false;
        }
        probe.is_seen = true;
        if now.successes > probe.successes {
            (probe.since, probe.successes) = (time, now.successes);
        }
        time >= probe.since + probe_lease
    }

    /// Asks again as long as a probe is in flight and has time left. If the right ends without one, the next call may
    /// still probe for `SELDOM` leases; then this instance goes on alone.
    pub(super) fn keep_probing(
        &mut self,
        now: Context,
        probe_lease: u64,
        actions: &mut Vec<Action>,
    ) {
        let (time, lease, period) = (now.now_ms, self.lease(), *self);
        let Phase::Probing {
            until,
            renew,
            probe,
            is_given_up,
        } = &mut self.phase
        else {
            return;
        };
        let ends = probe.since + probe_lease;
        if now.is_probing && now.is_connected && !*is_given_up {
            *renew = time + (lease / 3).max(1);
            // No longer than the probe has time, so that the next instance need not wait for both.
            if *until < ends {
                actions.push(period.bid(lease.min(ends - time)));
            }
        } else if time < *until {
            *renew = time + (lease / 12).max(1);
        } else if now.is_probing || !now.is_connected || time >= *until + SELDOM * lease {
            self.phase = Phase::Alone;
            return;
        } else {
            // Others may have the right by now. Calls are rare here, and the next one probes all the same.
            *renew = time + lease;
        }
        if time < *until {
            *renew = (*renew).min(*until);
        }
    }
}
