// SPDX-License-Identifier: MIT OR Apache-2.0
//! The texts of the script. The grammar is that of the script: what one of the two reads, the other does, too.
//!
//! Numbers are 1 to 16 decimal digits, marks 16 hexadecimal ones, instances 32 or a hyphen; all in lower case.

use atomic_breaker_fleet::{Message, Name, Notice, Period, PeriodId};

/// The greatest number that the script represents exactly.
pub(crate) const LAST: u64 = (1 << 53) - 1;

/// The number of milliseconds by which an epoch may be ahead of the server's clock: one that is further ahead was
/// forged.
const LEAD_MS: u64 = 365 * 24 * 60 * 60 * 1_000;

/// The server's record of one breaker. Its times are on the server's clock, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerRecord {
    id: PeriodId,
    is_open: bool,
    ends: u64,
    open_ms: u32,
    trips: u8,
    lease_until: u64,
    lease_ms: u32,
    expires: u64,
}

/// A change of the records: it is numbered, and a random mark tells it from another one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangeId {
    pub(crate) number: u64,
    mark: u64,
}

/// A change as it is published.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Published {
    /// The change before this one; `None` if this is the first.
    pub(crate) before: Option<ChangeId>,
    pub(crate) change: ChangeId,
    pub(crate) now: u64,
    pub(crate) record: ServerRecord,
    pub(crate) name: Name,
}

impl ServerRecord {
    pub(crate) fn parse(packed: &[u8]) -> Option<Self> {
        let mut parts = packed.split(|&byte| byte == b':');
        let mut next = || parts.next();
        let id = PeriodId {
            epoch: number(next()?)?,
            mark: mark_of(next()?)?,
        };
        let is_open = match next()? {
            b"1" => true,
            b"0" => false,
            _ => return None,
        };
        let (ends, open_ms, trips) = (number(next()?)?, number(next()?)?, number(next()?)?);
        instance(next()?)?;
        let (lease_until, lease_ms) = (number(next()?)?, number(next()?)?);
        instance(next()?)?;
        let (_doubt_ms, expires) = (number::<u32>(next()?)?, number(next()?)?);
        next().is_none().then_some(Self {
            id,
            is_open,
            ends,
            open_ms,
            trips,
            lease_until,
            lease_ms,
            expires,
        })
    }

    /// Returns whether the record counts at this time on the server's clock: it has not expired, and was not forged.
    pub(crate) const fn counts(&self, now: u64) -> bool {
        now < self.expires && self.id.epoch <= now.saturating_add(LEAD_MS)
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

impl ChangeId {
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut parts = text.splitn(2, |&byte| byte == b':');
        Some(Self {
            number: number(parts.next()?)?,
            mark: mark_of(parts.next()?)?,
        })
    }
}

impl Published {
    /// The parts are separated by bars; the name, which may have any bytes, is last.
    pub(crate) fn parse(payload: &[u8]) -> Option<Self> {
        let mut parts = payload.splitn(5, |&byte| byte == b'|');
        let published = Self {
            before: match parts.next()? {
                [] => None,
                before => Some(ChangeId::parse(before)?),
            },
            change: ChangeId::parse(parts.next()?)?,
            now: number(parts.next()?)?,
            record: ServerRecord::parse(parts.next()?)?,
            name: Name::new(parts.next()?).ok()?,
        };
        Some(published).filter(|published| published.record.counts(published.now))
    }

    pub(crate) fn message(&self) -> Message {
        Message {
            name: self.name.clone(),
            notice: self.record.notice(self.now),
        }
    }
}

fn number<T: TryFrom<u64>>(text: &[u8]) -> Option<T> {
    let is_number = (1..=16).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    let digits = str::from_utf8(text).ok().filter(|_| is_number)?;
    let number = digits.parse().ok().filter(|&number| number <= LAST)?;
    T::try_from(number).ok()
}

fn is_hex(text: &[u8], count: usize) -> bool {
    text.len() == count && text.iter().all(|byte| b"0123456789abcdef".contains(byte))
}

fn mark_of(text: &[u8]) -> Option<u64> {
    let digits = str::from_utf8(text).ok().filter(|_| is_hex(text, 16))?;
    u64::from_str_radix(digits, 16).ok()
}

fn instance(text: &[u8]) -> Option<()> {
    (text == b"-" || is_hex(text, 32)).then_some(())
}

pub(crate) fn mark(mark: u64) -> String {
    format!("{mark:016x}")
}
