// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dates counted day by day, for other readings of them.

/// The seconds since 1970, of `2026-01-31` and `23:59:59`; `None` before, after 3000, and for what is no date.
pub(crate) fn seconds_since_1970(day: &str, time: &str) -> Option<u64> {
    let numbers = |text: &str, mark: char| -> Option<[u64; 3]> {
        let parts: Result<Vec<_>, _> = text.split(mark).map(str::parse).collect();
        parts.ok()?.try_into().ok()
    };
    let [year, month, day] = numbers(day, '-')?;
    let [hours, minutes, seconds] = numbers(time, ':')?;
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let days = |year: u64, month: u64| match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let is_date = (1970..3000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days(year, month)).contains(&day);
    if !is_date || hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let years = (1970..year).map(|year| 365 + u64::from(is_leap(year)));
    let months = (1..month).map(|month| days(year, month));
    let days = years.chain(months).sum::<u64>() + day - 1;
    Some(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
}
