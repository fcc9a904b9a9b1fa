//! The right to probe for all: how an instance gets it, keeps it, and gives it up.

use atomic_breaker::word::Layout;

use super::phase::{Followed, Phase};
use super::{Action, Context, Member};

/// How many more leases an instance that got no call before its right ended may still probe for all.
const SELDOM: u64 = 64;

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
    const fn none(now_ms: u64) -> Self {
        Self {
            since: now_ms,
            successes: 0,
            is_seen: false,
        }
    }
}

impl Followed {
    /// Whether the probe of this instance has had its time.
    fn is_hung(&mut self, now: Context, probe_lease: u64) -> bool {
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

impl Member {
    /// Handles the answer to a bid. If it was lost, another instance has the right, or the period is over: the rest of
    /// the answer tells which.
    pub(super) fn bid_answered(&mut self, asked_ms: u64, until: u64, is_won: bool) {
        let Some(period) = &mut self.period else {
            return;
        };
        let mine = |probe| Phase::Probing {
            until,
            renew: until.min(asked_ms + period.lease() / 3),
            probe,
            is_given_up: false,
        };
        period.phase = match (period.phase, is_won) {
            (Phase::Bidding, true) => {
                self.actions.push(Action::Probe);
                mine(OwnProbe::none(asked_ms))
            }
            (
                Phase::Probing {
                    probe,
                    is_given_up: false,
                    ..
                },
                true,
            ) => mine(probe),
            (Phase::Bidding, false) => Phase::Due,
            // A probe of an instance that has lost the right goes on; only its success still counts.
            (Phase::Probing { .. }, false) => Phase::Alone,
            // A right that came too late is left to lapse.
            (phase, _) => phase,
        };
    }

    /// The time that a probe of this instance may take, in milliseconds.
    pub(super) fn probe_lease(&self) -> u64 {
        self.rules.lease_ms(Layout::WIDE.max_ms()).into()
    }

    /// Ends a right that is renewed while a probe is in flight with the lease of that probe: one that hangs is in flight
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
        if let Some(Followed {
            grace,
            phase: Phase::Probing {
                until, is_given_up, ..
            },
            ..
        }) = &mut self.period
        {
            *is_given_up = true;
            self.own.yields_until = *until + 2 * *grace;
            self.own.has_failed = true;
        }
    }
}
