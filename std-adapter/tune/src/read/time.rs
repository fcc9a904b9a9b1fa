//! A call from the fields of a line.

use std::time::Duration;

use jiff::Timestamp;

use super::calls::Row;
use super::columns::{Column, Columns, Unit};
use super::request::Requests;
use crate::call::{Call, Ending, Met};

/// Times more than a century away from the first one are no times.
const CENTURY_NS: i128 = 100 * 366 * 86_400 * 1_000_000_000;

/// The call that a line describes, or what is wrong with the line.
pub(super) fn call(
    row: &Row<'_>,
    columns: &Columns,
    origin: &mut Option<i128>,
    requests: &mut Requests,
) -> Result<Call, String> {
    let field = |column: Column| {
        let text = row.fields[column as usize].as_deref();
        text.filter(|text| !text.is_empty())
    };
    let needed = |column: Column| field(column).ok_or_else(|| format!("has no {column}"));

    let began = moment(needed(Column::Start)?, columns.unit_of(Column::Start))?;
    let (met, is_rejected) = outcome(needed(Column::Outcome)?)?;
    let duration = match field(Column::Duration) {
        Some(text) => duration(text, columns.unit_of(Column::Duration))?,
        // It was not made.
        None if is_rejected => Duration::ZERO,
        None => return Err(format!("has no {}", Column::Duration)),
    };
    if duration > Call::LONGEST {
        return Err("took longer than 71 minutes".into());
    }
    let mut ending = Ending::new(met, duration);
    if let Some(text) = field(Column::RetryAfter)
        && met == Met::Failure
    {
        let time = self::duration(text, columns.unit_of(Column::RetryAfter))?;
        ending = ending.retry_after(time);
    }
    let first = *origin.get_or_insert(began);
    let since = began - first;
    // Calls may be logged after others that began later: the first line is in the middle of what can be told.
    let start_us = u64::try_from((since + CENTURY_NS).div_euclid(1_000));
    let Some(start_us) = start_us.ok().filter(|_| since <= CENTURY_NS) else {
        return Err("began more than a century before or after the first call".into());
    };
    let key = requests.key(field(Column::Key).unwrap_or_default())?;
    let mut call = Call::new(start_us, ending).of_key(key);
    let is_later = match field(Column::Attempt) {
        Some(text) => match text.parse::<u32>() {
            Ok(attempt) => attempt > 1,
            Err(_) => return Err(format!("the number of the try is {text:?}")),
        },
        None => false,
    };
    let is_known = field(Column::Request).is_some_and(|request| requests.is_known(request));
    if is_later || is_known {
        call = call.retry();
    }
    Ok(if is_rejected { call.rejected() } else { call })
}

fn outcome(text: &str) -> Result<(Met, bool), String> {
    let is_any = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if let Ok(status) = text.parse::<u16>() {
        return match status {
            408 | 429 | 500..=599 => Ok((Met::Failure, false)),
            100..=499 => Ok((Met::Success, false)),
            _ => Err(format!("{status} is no status of HTTP")),
        };
    }
    if is_any(&["ok", "success", "true"]) {
        return Ok((Met::Success, false));
    }
    if is_any(&[
        "failure", "failed", "error", "err", "timeout", "slow", "false", "panic",
    ]) {
        return Ok((Met::Failure, false));
    }
    if is_any(&["ignored", "cancelled", "canceled"]) {
        return Ok((Met::Ignored, false));
    }
    if is_any(&["rejected"]) {
        return Ok((Met::Ignored, true));
    }
    let shown: String = text.chars().take(40).collect();
    Err(format!(
        "its outcome is {shown:?}: write ok, failure, ignored, rejected or a status of HTTP"
    ))
}

/// Nanoseconds since some moment.
fn moment(text: &str, unit: Unit) -> Result<i128, String> {
    if let Some(ns) = nanos(text, unit) {
        return Ok(ns);
    }
    let parsed = text.parse::<Timestamp>();
    parsed
        .map(Timestamp::as_nanosecond)
        .map_err(|_| format!("its start is {:?}, which is no time", shown(text)))
}

fn duration(text: &str, unit: Unit) -> Result<Duration, String> {
    let ns = nanos(text, unit).ok_or_else(|| format!("{:?} is no duration", shown(text)))?;
    let ns = u64::try_from(ns).map_err(|_| format!("a duration is {:?}", shown(text)))?;
    Ok(Duration::from_nanos(ns))
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A decimal number of a unit, exactly: floating-point numbers cannot tell microseconds of today.
fn nanos(text: &str, unit: Unit) -> Option<i128> {
    // More digits than any time has.
    if text.len() > 40 {
        return None;
    }
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || (whole.is_empty() && part.is_empty()) {
        return scientific(text, unit);
    }
    let unit = i128::from(unit.nanos());
    let mut ns = if whole.is_empty() {
        0
    } else {
        whole.parse::<i128>().ok()?.checked_mul(unit)?
    };
    let mut step = unit;
    for digit in part.bytes() {
        step /= 10;
        ns += i128::from(digit - b'0') * step;
    }
    Some(if is_negative { -ns } else { ns })
}

/// `1.5e3`, as some writers of JSON have it.
fn scientific(text: &str, unit: Unit) -> Option<i128> {
    let looks_so = text.contains(['e', 'E']) && text.starts_with(|it: char| it.is_ascii_digit());
    let number: f64 = text.parse().ok().filter(|_| looks_so)?;
    let ns = number * f64::from(unit.nanos());
    // Beyond, whole nanoseconds cannot be told.
    (ns.abs() < 9e18).then_some(ns as i128)
}
