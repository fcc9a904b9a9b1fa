//! The right to probe for all: how an instance keeps it, and when it gives it up.

use atomic_breaker::word::Layout;

use super::phase::{Current, Phase};
use super::{Action, Context, Member};

/// For how many more leases of the right an instance that got no call before it ended may still probe for all.
const SELDOM: u64 = 64;

/// The probe of an instance that has the right; or several, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnderWay {
    /// The earliest time at which it may have begun, or when the last of several succeeded. A probe that ends without a
    /// report does not start it anew: callers that always leave early would keep the right for good.
    pub(crate) since: u64,
    pub(crate) successes: u8,
    pub(crate) is_seen: bool,
}

impl UnderWay {
    /// None has been seen yet.
    pub(super) const fn none(now_ms: u64) -> Self {
        Self {
            since: now_ms,
            successes: 0,
            is_seen: false,
        }
    }
}

impl Current {
    /// Whether the probe of this instance has had its time.
    fn is_hung(&mut self, now: Context, probe_lease: u64) -> bool {
        let Phase::Probing {
            until, under_way, ..
        } = &mut self.phase
        else {
            return false;
        };
        let time = now.now_ms;
        if !now.is_probing {
            if !under_way.is_seen || time >= *until {
                *under_way = UnderWay::none(time);
            }
            return false;
        }
        under_way.is_seen = true;
        if now.successes > under_way.successes {
            (under_way.since, under_way.successes) = (time, now.successes);
        }
        time >= under_way.since + probe_lease
    }

    /// Asks again as long as a probe is under way and has time left. If the right ends without one, the next call may
    /// still probe for `SELDOM` leases; then this instance goes on alone.
    pub(super) fn keep_probing(
        &mut self,
        now: Context,
        probe_lease: u64,
        actions: &mut Vec<Action>,
    ) {
        let (time, lease, current) = (now.now_ms, self.lease(), *self);
        let Phase::Probing {
            until,
            renew,
            under_way,
            is_given_up,
        } = &mut self.phase
        else {
            return;
        };
        let ends = under_way.since + probe_lease;
        if now.is_probing && now.is_connected && !*is_given_up {
            *renew = time + (lease / 3).max(1);
            // No longer than the probe has time, so that the next instance need not wait for both.
            if *until < ends {
                actions.push(current.bid(lease.min(ends - time)));
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

impl Member {
    /// For how long a probe of this instance may take, in milliseconds.
    pub(super) fn probe_lease(&self) -> u64 {
        self.rules.lease_ms(Layout::WIDE.max_ms()).into()
    }

    /// A right that is renewed while a probe is under way ends with the lease of that probe: one that hangs is under way
    /// for good, and an instance without other calls never hears from its breaker that it was lost.
    pub(super) fn watch_probe(&mut self, probe_lease: u64) {
        let period = self.period.as_mut();
        if period.is_some_and(|period| period.is_hung(self.now, probe_lease)) {
            self.give_up();
        }
    }

    /// A probe hangs: another instance may have better luck. What this one finds eventually still counts, if no other
    /// was faster.
    pub(super) fn give_up(&mut self) {
        if let Some(Current {
            grace,
            phase: Phase::Probing {
                until, is_given_up, ..
            },
            ..
        }) = &mut self.period
        {
            *is_given_up = true;
            self.rests_until = *until + 2 * *grace;
            self.has_failed = true;
        }
    }
}
