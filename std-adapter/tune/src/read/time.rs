//! A call from the fields of a line.

use std::borrow::Cow;
use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::calls::Row;
use super::columns::{Column, Unit};
use super::error::{OtherUnit, Words};
use super::request::Requests;
use crate::call::{Call, Ending, Met};

/// Times more than a century away from the first one are no times.
const CENTURY_NS: i128 = 100 * 366 * 86_400 * 1_000_000_000;

/// A call as a line describes it.
pub(super) struct Logged<'l> {
    /// Nanoseconds since some moment.
    pub(super) began: i128,
    pub(super) took: Duration,
    pub(super) met: Met,
    pub(super) is_rejected: bool,
    pub(super) is_retry: bool,
    pub(super) key: Cow<'l, str>,
    /// The name that the tries of a request share.
    pub(super) request: Option<Cow<'l, str>>,
    pub(super) retry_after: Option<Duration>,
}

/// The call that the fields of a line describe, or what is wrong with them.
pub(super) fn logged<'l>(row: &'l Row<'_>, words: &mut Words) -> Result<Logged<'l>, String> {
    let field = |column: Column| {
        let field = row.fields[column as usize].as_ref();
        let text = field.map(|field| field.text.as_ref());
        text.filter(|text| !text.is_empty())
    };
    let unit = |column: Column| {
        let field = row.fields[column as usize].as_ref();
        field.and_then(|field| field.unit).unwrap_or_default()
    };
    let needed = |column: Column| field(column).ok_or_else(|| format!("has no {column}"));

    let began = moment(needed(Column::Start)?, unit(Column::Start))?;
    let word = needed(Column::Outcome)?;
    let (met, is_rejected) = outcome(word)?;
    if met == Met::Failure {
        words.add(word);
    }
    let took = match field(Column::Duration) {
        Some(text) => duration(text, unit(Column::Duration))?,
        // It was not made.
        None if is_rejected => Duration::ZERO,
        None => return Err(format!("has no {}", Column::Duration)),
    };
    let retry_after = field(Column::RetryAfter)
        .map(|text| duration(text, unit(Column::RetryAfter)))
        .transpose()?;
    let is_retry = match field(Column::Attempt) {
        Some(text) => match text.parse::<u32>() {
            Ok(attempt) => attempt > 1,
            Err(_) => return Err(format!("the number of the try is {:?}", shown(text))),
        },
        None => false,
    };
    Ok(Logged {
        began,
        took,
        met,
        is_rejected,
        is_retry,
        key: field(Column::Key).unwrap_or_default().into(),
        request: field(Column::Request).map(Cow::Borrowed),
        retry_after,
    })
}

/// Whether the start may be Unix time in another unit than milliseconds, and whether its column says that it is not.
pub(super) fn doubt(row: &Row<'_>) -> Option<(OtherUnit, bool)> {
    let start = row.fields[Column::Start as usize].as_ref()?;
    // A count of microseconds or nanoseconds may well begin where the computer did.
    if start.unit.unwrap_or_default() != Unit::Millis {
        return None;
    }
    let seems = Unit::Millis.mistaken_for(&start.text)?;
    let doubt = OtherUnit {
        start: shown(&start.text),
        seems,
    };
    Some((doubt, start.unit.is_some()))
}

/// The call itself. Its time is relative to the first one's.
pub(super) fn call(
    logged: Logged<'_>,
    origin: &mut Option<i128>,
    requests: &mut Requests,
) -> Result<Call, String> {
    if logged.took > Call::LONGEST {
        return Err("took longer than 71 minutes".into());
    }
    let mut ending = Ending::new(logged.met, logged.took);
    if let (Some(time), Met::Failure) = (logged.retry_after, logged.met) {
        ending = ending.retry_after(time);
    }
    let since = logged
        .began
        .saturating_sub(*origin.get_or_insert(logged.began));
    // Calls may be logged after others that began later: the first line is in the middle of what can be told.
    let start_us = u64::try_from(since.saturating_add(CENTURY_NS).div_euclid(1_000));
    let Some(start_us) = start_us.ok().filter(|_| since <= CENTURY_NS) else {
        return Err("began more than a century before or after the first call".into());
    };
    let key = requests.key(&logged.key)?;
    let mut call = Call::new(start_us, ending).of_key(key);
    let is_known = logged
        .request
        .is_some_and(|request| requests.is_known(&request));
    if logged.is_retry || is_known {
        call = call.retry();
    }
    Ok(if logged.is_rejected {
        call.rejected()
    } else {
        call
    })
}

pub(super) fn outcome(text: &str) -> Result<(Met, bool), String> {
    let is_any = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if let Ok(status) = text.parse::<u16>() {
        return match status {
            408 | 500..=599 => Ok((Met::Failure, false)),
            // The caller's quota; of nginx: its client has left.
            429 | 499 => Ok((Met::Ignored, false)),
            100..=499 => Ok((Met::Success, false)),
            _ => Err(format!("{status} is no status of HTTP")),
        };
    }
    if is_any(&["ok", "success", "true"]) {
        return Ok((Met::Success, false));
    }
    if is_any(&["ignored", "cancelled", "canceled"]) {
        return Ok((Met::Ignored, false));
    }
    if is_any(&["rejected"]) {
        return Ok((Met::Ignored, true));
    }
    // A number that is no status, or nothing that has a name.
    if !text.starts_with(char::is_alphabetic) {
        return Err(format!(
            "its outcome is {:?}: write ok, failure, ignored, rejected or a status of HTTP",
            shown(text)
        ));
    }
    Ok((Met::Failure, false))
}

/// Nanoseconds since some moment.
pub(super) fn moment(text: &str, unit: Unit) -> Result<i128, String> {
    if let Some(ns) = nanos(text, unit) {
        return Ok(ns);
    }
    OffsetDateTime::parse(text, &Rfc3339)
        .map(OffsetDateTime::unix_timestamp_nanos)
        .map_err(|_| format!("its start is {:?}, which is no time", shown(text)))
}

pub(super) fn duration(text: &str, unit: Unit) -> Result<Duration, String> {
    let ns = nanos(text, unit).ok_or_else(|| format!("{:?} is no duration", shown(text)))?;
    duration_of(ns).map_err(|_| format!("a duration is {:?}", shown(text)))
}

/// Nanoseconds, which must not be negative.
pub(super) fn duration_of(ns: i128) -> Result<Duration, String> {
    let ns = u64::try_from(ns).map_err(|_| format!("a duration is {ns} ns"))?;
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
