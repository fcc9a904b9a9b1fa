//! One breaker, as the engine records it.

use super::KEEP_MS;
use crate::{InstanceId, Notice, Period, PeriodId};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) id: PeriodId,
    pub(crate) is_open: bool,
    /// When a probe is allowed.
    pub(crate) ends: u64,
    pub(crate) open_ms: u32,
    pub(crate) trips: u8,
    pub(crate) lease: Option<Lease>,
    /// Whose probe failed, as long as no other instance has confirmed it.
    pub(crate) doubt: Option<Doubt>,
    pub(crate) expires: u64,
}

/// What one instance found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubt {
    pub(crate) of: InstanceId,
    /// For how long the breaker would open if another instance finds the same.
    pub(crate) open_ms: u32,
}

/// The right to probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    pub(crate) holder: InstanceId,
    pub(crate) until: u64,
    pub(crate) for_ms: u32,
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

    /// The next period after one instance's failed probe: like this one, but only as long as a pause.
    pub(super) fn doubted(&self, id: PeriodId, now_ms: u64, pause_ms: u32, doubt: Doubt) -> Self {
        let pause_ms = pause_ms.min(self.open_ms);
        Self {
            open_ms: self.open_ms,
            doubt: Some(doubt),
            ..Self::open(id, now_ms, pause_ms, self.trips)
        }
    }

    pub(super) fn closed(id: PeriodId, now_ms: u64) -> Self {
        Self {
            is_open: false,
            ..Self::open(id, now_ms, 0, 0)
        }
    }

    /// Whether this period is running.
    pub(super) fn is(&self, id: PeriodId) -> bool {
        self.is_open && self.id == id
    }

    pub(super) fn is_held_by_another(&self, from: InstanceId, now_ms: u64) -> bool {
        self.lease
            .is_some_and(|lease| lease.holder != from && lease.left(now_ms).is_some())
    }

    pub(super) fn lease(&mut self, to: InstanceId, now_ms: u64, lease_ms: u32) {
        self.lease = Some(Lease {
            holder: to,
            until: now_ms + u64::from(lease_ms),
            for_ms: lease_ms,
        });
        self.expires = self.expires.max(now_ms + KEEP_MS);
    }

    /// The holder hands the right back.
    pub(super) fn end_lease(&mut self) {
        self.lease = None;
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
