// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times and durations as text.

use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::columns::TimeUnit;

/// Nanoseconds since any moment.
pub(super) fn moment(text: &str, unit: TimeUnit) -> Result<i128, String> {
    if let Some(ns) = nanos(text, unit) {
        return Ok(ns);
    }
    let found = OffsetDateTime::parse(text, &Rfc3339);
    let found =
        found.map_err(|_| format!("its start is {:?}, which is not a time", shown(text)))?;
    // The time that nobody has set is year 1 in some languages. As the first one, it would be more than a century from others.
    if found.unix_timestamp() < 0 {
        return Err(format!(
            "its start is {:?}, which is before 1970",
            shown(text)
        ));
    }
    Ok(found.unix_timestamp_nanos())
}

pub(super) fn duration(text: &str, unit: TimeUnit) -> Result<Duration, String> {
    let ns = nanos(text, unit).ok_or_else(|| format!("{:?} is not a duration", shown(text)))?;
    duration_of(ns).map_err(|_| format!("a duration is {:?}", shown(text)))
}

/// A duration of so many nanoseconds, which must not be negative.
pub(super) fn duration_of(ns: i128) -> Result<Duration, String> {
    let ns = u64::try_from(ns).map_err(|_| format!("a duration is {ns} ns"))?;
    Ok(Duration::from_nanos(ns))
}

/// The beginning of a field, for messages.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A decimal number of a unit, exactly: floating-point numbers cannot tell microseconds of today.
fn nanos(text: &str, unit: TimeUnit) -> Option<i128> {
    // More digits than any time has.
    if text.len() > 40 {
        return None;
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || (whole.is_empty() && part.is_empty()) {
        return scientific(text, unit);
    }
    // Digits beyond nanoseconds are cut off.
    let part = &format!("{part:0<9}")[..9];
    let (whole, part): (i128, i128) = (format!("0{whole}").parse().ok()?, part.parse().ok()?);
    let unit = i128::from(unit.nanos());
    let ns = whole.checked_mul(unit)?;
    Some(sign * ns.checked_add(part * unit / 1_000_000_000)?)
}

/// `1.5e3`, as some writers of JSON have it.
fn scientific(text: &str, unit: TimeUnit) -> Option<i128> {
    let looks_so = text.contains(['e', 'E']) && text.starts_with(|it: char| it.is_ascii_digit());
    let number: f64 = text.parse().ok().filter(|_| looks_so)?;
    let ns = number * f64::from(unit.nanos());
    // Beyond, whole nanoseconds cannot be told.
    (ns.abs() < 9e18).then_some(ns as i128)
}
