//! What the script says, as text.

use atomic_breaker_std::fleet::{Message, Name, Notice, Period, PeriodId};

/// Beyond it the script's numbers are not exact.
pub(crate) const LAST_EPOCH: u64 = 1 << 53;

/// A notice; `None` if it is none.
pub(crate) fn notice(text: &[u8]) -> Option<Notice> {
    let mut parts = str::from_utf8(text).ok()?.split(' ');
    let kind = parts.next()?;
    let id = PeriodId {
        epoch: parts
            .next()?
            .parse()
            .ok()
            .filter(|&epoch| epoch < LAST_EPOCH)?,
        mark: u64::from_str_radix(parts.next()?, 16).ok()?,
    };
    let notice = match kind {
        "C" => Notice::Closed(id),
        "O" => Notice::Open(Period {
            id,
            remaining_ms: parts.next()?.parse().ok()?,
            leased_ms: parts.next()?.parse().ok()?,
            open_ms: parts.next()?.parse().ok()?,
            trips: parts.next()?.parse().ok()?,
        }),
        _ => return None,
    };
    parts.next().is_none().then_some(notice)
}

/// A message: the notice, a bar, and the name as it is.
pub(crate) fn message(payload: &[u8]) -> Option<Message> {
    let bar = payload.iter().position(|&byte| byte == b'|')?;
    Some(Message {
        notice: notice(&payload[..bar])?,
        name: Name::new(&payload[bar + 1..]).ok()?,
    })
}

pub(crate) fn mark(mark: u64) -> String {
    format!("{mark:016x}")
}
