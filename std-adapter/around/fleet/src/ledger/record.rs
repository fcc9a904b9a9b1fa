// SPDX-License-Identifier: MIT OR Apache-2.0
//! The record that the engine keeps of one breaker.

use crate::message::{Finding, Notice, Period, PeriodId};
use crate::name::InstanceId;

/// The time for which a breaker is remembered after its period, or after it closed, in milliseconds: 10 minutes.
pub const KEEP_MS: u64 = 600_000;

/// The number of milliseconds by which an epoch may be ahead of the engine's clock, which may have been set back: a
/// year. One that is further ahead was forged, and is ignored, as it would leave no room for those that follow.
const LEAD_MS: u64 = 365 * 24 * 60 * 60 * 1_000;

pub(super) const fn is_forged(epoch: u64, now_ms: u64) -> bool {
    epoch > now_ms.saturating_add(LEAD_MS)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) id: PeriodId,
    pub(crate) is_open: bool,
    /// The time at which a probe is allowed.
    pub(crate) ends: u64,
    pub(crate) open_ms: u32,
    pub(crate) trips: u8,
    pub(crate) lease: Option<Lease>,
    /// The unconfirmed probe failure, if there is one.
    pub(crate) doubt: Option<Doubt>,
    expires: u64,
}

/// A failure that one instance has found, and no other one has confirmed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubt {
    pub(crate) of: InstanceId,
    /// The time for which the breaker would open if another instance finds the same, in milliseconds.
    pub(crate) open_ms: u32,
}

/// The right to probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    pub(crate) holder: InstanceId,
    until: u64,
    for_ms: u32,
}

impl Lease {
    /// A lease with more time left than it was granted for has lapsed: the clock was set back.
    pub(crate) fn left(self, now_ms: u64) -> Option<u32> {
        let left = u32::try_from(self.until.saturating_sub(now_ms)).unwrap_or(u32::MAX);
        (1..=self.for_ms).contains(&left).then_some(left)
    }
}

impl Record {
    pub(super) fn open(id: PeriodId, now_ms: u64, open_ms: u32, trips: u8) -> Self {
        let ends = now_ms + u64::from(open_ms);
        Self {
            id,
            is_open: true,
            ends,
            open_ms,
            trips,
            lease: None,
            doubt: None,
            expires: ends + KEEP_MS,
        }
    }

    pub(super) const fn is_gone(&self, now_ms: u64) -> bool {
        now_ms >= self.expires || is_forged(self.id.epoch, now_ms)
    }

    fn is_held_by_another(&self, from: InstanceId, now_ms: u64) -> bool {
        self.lease
            .is_some_and(|lease| lease.holder != from && lease.left(now_ms).is_some())
    }

    /// The period with the right to probe given to an instance, unless another one has it.
    pub(super) fn leased(self, now_ms: u64, holder: InstanceId, for_ms: u32) -> Option<Self> {
        let until = now_ms + u64::from(for_ms);
        let lease = Lease {
            holder,
            until,
            for_ms,
        };
        (!self.is_held_by_another(holder, now_ms)).then_some(Self {
            lease: Some(lease),
            expires: self.expires.max(now_ms + KEEP_MS),
            ..self
        })
    }

    /// The consequence of a finding: the end of the period, or the next one, unless it does not count.
    pub(super) fn judged(
        self,
        now_ms: u64,
        mark: u64,
        from: InstanceId,
        finding: Finding,
    ) -> Option<Self> {
        let epoch = self.id.epoch.max(now_ms) + 1;
        let next = PeriodId { epoch, mark };
        Some(match (finding, self.doubt) {
            // A success counts even if the right to probe has lapsed.
            (Finding::Healthy, _) => Self {
                is_open: false,
                ..Self::open(PeriodId { epoch, ..self.id }, now_ms, 0, 0)
            },
            _ if self.is_held_by_another(from, now_ms) => return None,
            // The holder hands the right back.
            (Finding::Failed { .. }, Some(doubt)) if doubt.of == from => Self {
                lease: None,
                ..self
            },
            (Finding::Failed { open_ms, .. }, Some(doubt)) => {
                let open_ms = open_ms.min(doubt.open_ms).max(1);
                Self::open(next, now_ms, open_ms, self.trips.saturating_add(1))
            }
            // Like this one, but only as long as a pause.
            (Finding::Failed { open_ms, pause_ms }, None) => Self {
                open_ms: self.open_ms,
                doubt: Some(Doubt { of: from, open_ms }),
                ..Self::open(next, now_ms, pause_ms.min(self.open_ms), self.trips)
            },
        })
    }

    /// Its state now. The remaining time is capped at what is possible, as the clock may have been set.
    pub(super) fn notice(&self, now_ms: u64) -> Notice {
        if !self.is_open {
            return Notice::Closed(self.id);
        }
        let left = u32::try_from(self.ends.saturating_sub(now_ms)).unwrap_or(u32::MAX);
        Notice::Open(Period {
            id: self.id,
            remaining_ms: left.min(self.open_ms),
            leased_ms: self.lease.and_then(|lease| lease.left(now_ms)).unwrap_or(0),
            open_ms: self.open_ms,
            trips: self.trips,
        })
    }
}
