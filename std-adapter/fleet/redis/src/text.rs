//! What the script says, as text.

use std::str::FromStr;

use atomic_breaker_fleet::{Message, Name, Notice, Period, PeriodId};

/// Beyond it the script's numbers are not exact.
pub(crate) const LAST_EPOCH: u64 = 1 << 53;

/// One breaker, as the server keeps it. Its times are on the server's clock, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    id: PeriodId,
    is_open: bool,
    ends: u64,
    open_ms: u32,
    trips: u8,
    lease_until: u64,
    lease_ms: u32,
    expires: u64,
}

/// Which change of the records: it is numbered, and a random mark tells it from another one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) number: u64,
    mark: u64,
}

/// What is published.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Published {
    /// The change before this one; `None` if this is the first.
    pub(crate) before: Option<Change>,
    pub(crate) change: Change,
    pub(crate) now: u64,
    pub(crate) record: Record,
    pub(crate) name: Name,
}

impl Record {
    pub(crate) fn parse(packed: &[u8]) -> Option<Self> {
        let mut parts = packed.split(|&byte| byte == b':');
        let record = Self {
            id: PeriodId {
                epoch: number(parts.next()?).filter(|&epoch| epoch < LAST_EPOCH)?,
                mark: hex(parts.next()?)?,
            },
            is_open: parts.next()? == b"1",
            ends: number(parts.next()?)?,
            open_ms: number(parts.next()?)?,
            trips: number(parts.next()?)?,
            // After the holder of the lease, and before the doubt.
            lease_until: number(parts.nth(1)?)?,
            lease_ms: number(parts.next()?)?,
            expires: number(parts.nth(2)?)?,
        };
        parts.next().is_none().then_some(record)
    }

    pub(crate) const fn has_expired(&self, now: u64) -> bool {
        now >= self.expires
    }

    /// Its state now. The remaining time is capped at what is possible, as the clock may have been set.
    pub(crate) fn notice(&self, now: u64) -> Notice {
        if !self.is_open {
            return Notice::Closed(self.id);
        }
        let left = |until: u64| u32::try_from(until.saturating_sub(now)).unwrap_or(u32::MAX);
        Notice::Open(Period {
            id: self.id,
            remaining_ms: left(self.ends).min(self.open_ms),
            // A lease with more time left than it was granted for has lapsed.
            leased_ms: Some(left(self.lease_until))
                .filter(|&left| left <= self.lease_ms)
                .unwrap_or(0),
            open_ms: self.open_ms,
            trips: self.trips,
        })
    }
}

impl Change {
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut parts = text.splitn(2, |&byte| byte == b':');
        Some(Self {
            number: number(parts.next()?)?,
            mark: hex(parts.next()?)?,
        })
    }
}

impl Published {
    /// The parts are separated by bars; the name, which may have any bytes, is last.
    pub(crate) fn parse(payload: &[u8]) -> Option<Self> {
        let mut parts = payload.splitn(5, |&byte| byte == b'|');
        Some(Self {
            before: match parts.next()? {
                [] => None,
                before => Some(Change::parse(before)?),
            },
            change: Change::parse(parts.next()?)?,
            now: number(parts.next()?)?,
            record: Record::parse(parts.next()?)?,
            name: Name::new(parts.next()?).ok()?,
        })
    }

    pub(crate) fn message(&self) -> Message {
        Message {
            name: self.name.clone(),
            notice: self.record.notice(self.now),
        }
    }
}

fn number<T: FromStr>(text: &[u8]) -> Option<T> {
    str::from_utf8(text).ok()?.parse().ok()
}

fn hex(text: &[u8]) -> Option<u64> {
    u64::from_str_radix(str::from_utf8(text).ok()?, 16).ok()
}

pub(crate) fn mark(mark: u64) -> String {
    format!("{mark:016x}")
}
