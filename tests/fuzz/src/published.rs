// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages and keys of a fleet in Redis: the parser of the package beside a regular expression, so that one that
//! takes more, or less, than the script writes is found.

#[expect(dead_code, reason = "what the package writes")]
#[path = "../../../std-adapter/around/fleet/redis/src/text.rs"]
mod text;

use std::sync::LazyLock;

use atomic_breaker_fleet::{Message, Name, Notice, Period, PeriodId};
use regex::bytes::{Captures, Regex};
use text::{LAST, Published, ServerRecord};

const NUMBER: &str = "[0-9]{1,16}";
const MARK: &str = "[0-9a-f]{16}";
const INSTANCE: &str = "(?:-|[0-9a-f]{32})";
/// A year, in milliseconds.
const YEAR: u64 = 31_536_000_000;

fn record() -> String {
    format!(
        "({NUMBER}):({MARK}):([01]):({NUMBER}):({NUMBER}):({NUMBER}):{INSTANCE}:({NUMBER}):({NUMBER}):{INSTANCE}:({NUMBER}):({NUMBER})"
    )
}

static RECORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!("(?s-u)^{}$", record())).unwrap());
static PUBLISHED: LazyLock<Regex> = LazyLock::new(|| {
    let record = record();
    Regex::new(&format!(
        r"(?s-u)^(?:({NUMBER}):{MARK})?\|({NUMBER}):{MARK}\|({NUMBER})\|{record}\|(.{{1,255}})$"
    ))
    .unwrap()
});

/// The numbers of a record, the first of which is this group.
struct Numbers<'a>(&'a Captures<'a>, usize);

impl Numbers<'_> {
    fn at(&self, index: usize, radix: u32) -> u64 {
        let digits = self.0.get(self.1 + index).expect("a group").as_bytes();
        u64::from_str_radix(std::str::from_utf8(digits).unwrap(), radix).unwrap()
    }

    /// Its state at a time; `None` if a number is too large.
    fn notice(&self, now: u64) -> Option<Notice> {
        let [epoch, ends, open_ms, trips, until, lease_ms, doubt, expires] =
            [0, 3, 4, 5, 6, 7, 8, 9].map(|index| self.at(index, 10));
        let most = [epoch, ends, until, expires].into_iter().max()?;
        let is_small = open_ms.max(lease_ms).max(doubt) <= u32::MAX.into();
        if most > LAST || !is_small || trips > u8::MAX.into() {
            return None;
        }
        let mark = self.at(1, 16);
        let id = PeriodId { epoch, mark };
        if self.at(2, 10) == 0 {
            return Some(Notice::Closed(id));
        }
        let leased = until.saturating_sub(now);
        Some(Notice::Open(Period {
            id,
            remaining_ms: ends.saturating_sub(now).min(open_ms) as u32,
            leased_ms: if leased <= lease_ms { leased as u32 } else { 0 },
            open_ms: open_ms as u32,
            trips: trips as u8,
        }))
    }
}

/// The first byte says which of the two it is.
pub(crate) fn read(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else {
        return;
    };
    if first % 4 == 0 {
        let now = 1_767_225_600_000;
        let expected = RECORD.captures(bytes);
        let expected = expected.and_then(|found| Numbers(&found, 1).notice(now));
        let read = ServerRecord::parse(bytes).map(|record| record.notice(now));
        return assert_eq!(read, expected);
    }
    let expected = PUBLISHED.captures(bytes).and_then(|found| {
        let head = Numbers(&found, 0);
        let before = found.get(1).map_or(0, |_| head.at(1, 10));
        let (number, now) = (head.at(2, 10), head.at(3, 10));
        let record = Numbers(&found, 4);
        let notice = record.notice(now)?;
        let (epoch, expires) = (record.at(0, 10), record.at(9, 10));
        let counts = now < expires && epoch <= now + YEAR;
        let is_small = before.max(number).max(now) <= LAST;
        (counts && is_small).then(|| Message {
            name: Name::new(found.get(14).expect("a name").as_bytes()).expect("a name"),
            notice,
        })
    });
    let read = Published::parse(bytes).map(|published| published.message());
    assert_eq!(read, expected, "{}", bytes.escape_ascii());
}
