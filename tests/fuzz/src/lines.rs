// SPDX-License-Identifier: MIT OR Apache-2.0
//! Another reading of the lines of logs, by patterns: as they usually look.

use std::sync::LazyLock;

use regex::Regex;

use crate::date::seconds_since_1970;

/// A line that is not read here: it looks otherwise.
pub(crate) struct Unclear;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    Ok,
    Failed,
    Ignored,
    Rejected,
}

#[derive(Debug)]
pub(crate) struct Call {
    /// Nanoseconds since any moment.
    pub(crate) began: i128,
    pub(crate) took: i128,
    pub(crate) end: End,
    pub(crate) key: String,
    pub(crate) is_retry: bool,
    pub(crate) request: Option<String>,
    pub(crate) retry_after: Option<i128>,
}

macro_rules! pattern {
    ($name:ident = $pattern:literal) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($pattern).expect("a pattern"));
    };
}
pattern!(NUMBER = r"^(-?)(\d{0,20})(?:\.(\d*))?$");
pattern!(TIME = r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d{1,9})?Z$");
pattern!(NGINX = r"^msec=(\S+) request_time=(\S+) upstream=([^=]*) status=([^=]*) time=([^=]*)$");
pattern!(
    ENVOY = r#"^\[([^\]]*)\] "[^"]*" (\S+) (\S+) \S+ \S+ (\S+) \S+ "[^"]*" "[^"]*" "([^"]*)" "([^"]*)" "([^"]*)"$"#
);

pub(crate) const STARTS: [&str; 7] = [
    "start_ms",
    "start_s",
    "start_us",
    "start_ns",
    "start",
    "timestamp",
    "time",
];
pub(crate) const DURATIONS: [&str; 5] = [
    "duration_ms",
    "duration_s",
    "duration_us",
    "duration_ns",
    "duration",
];

/// A number of a unit of so many nanoseconds, or a time.
fn nanos(text: &str, unit: i128) -> Result<Option<i128>, Unclear> {
    if let Some(found) = NUMBER.captures(text) {
        let part = |place| found.get(place).map_or("", |it| it.as_str());
        let (whole, part) = (part(2), part(3));
        if whole.is_empty() && part.is_empty() {
            return Ok(None);
        }
        if text.len() > 40 {
            return Err(Unclear);
        }
        let whole: i128 = format!("0{whole}").parse().map_err(|_| Unclear)?;
        let digits: Vec<_> = part
            .bytes()
            .take(9)
            .map(|it| i128::from(it - b'0'))
            .collect();
        let part = (0..9).fold(0, |sum, place| {
            sum * 10 + digits.get(place).copied().unwrap_or(0)
        });
        let ns = whole * unit + part * unit / 1_000_000_000;
        return Ok(Some(if found[1].is_empty() { ns } else { -ns }));
    }
    // Other forms of numbers and times.
    if text.contains(|c: char| c.is_ascii_digit()) {
        return Err(Unclear);
    }
    Ok(None)
}

pub(crate) fn moment(text: &str, unit: i128) -> Result<Option<i128>, Unclear> {
    let Some(found) = TIME.captures(text) else {
        return nanos(text, unit);
    };
    let seconds = seconds_since_1970(&found[1], &found[2]).ok_or(Unclear)?;
    let part = found.get(3).map_or("0", |it| &it.as_str()[1..]);
    let part: i128 = format!("{part:0<9}").parse().map_err(|_| Unclear)?;
    Ok(Some(i128::from(seconds) * SECOND + part))
}

pub(crate) fn end(text: &str) -> Option<End> {
    if let Ok(status) = text.parse::<i32>() {
        return match status {
            -1 | 0 => Some(End::Failed),
            429 | 499 | 511 => Some(End::Ignored),
            501 | 505 | 507 => Some(End::Ok),
            408 | 500..=599 => Some(End::Failed),
            100..=498 => Some(End::Ok),
            _ => None,
        };
    }
    match text.to_ascii_lowercase().as_str() {
        "ok" | "success" | "true" => Some(End::Ok),
        "ignored" | "cancelled" | "canceled" => Some(End::Ignored),
        "rejected" => Some(End::Rejected),
        _ => text.starts_with(char::is_alphabetic).then_some(End::Failed),
    }
}

pub(crate) type Line = Result<Vec<Option<Call>>, Unclear>;

/// The first field of these names, with its unit if the name says one.
fn first(
    names: &[&str],
    field: &impl Fn(&str) -> Option<String>,
) -> Option<(String, Option<i128>)> {
    names.iter().find_map(|name| {
        let unit = match name.rsplit_once('_').map(|(_, unit)| unit) {
            Some("s") => Some(1_000_000_000),
            Some("ms") => Some(1_000_000),
            Some("us") => Some(1_000),
            Some("ns") => Some(1),
            _ => None,
        };
        field(name).map(|text| (text, unit))
    })
}

/// A line of named fields. `is_first`: no call was read yet, so the unit of the start may be in doubt.
pub(crate) fn named(
    field: &impl Fn(&str) -> Option<String>,
    is_first: bool,
) -> Result<Option<Call>, Unclear> {
    const MS: i128 = 1_000_000;
    let text = |names: &[&str]| first(names, field).filter(|(text, _)| !text.is_empty());
    let time = |names: &[&str]| match text(names) {
        None => Ok(Some(None)),
        Some((text, unit)) => {
            let ns = nanos(&text, unit.unwrap_or(MS))?;
            Ok(ns.filter(|ns| *ns >= 0).map(Some))
        }
    };
    let Some((start, unit)) = text(&STARTS) else {
        return Ok(None);
    };
    let began = moment(&start, unit.unwrap_or(MS))?;
    let end = text(&["outcome", "status"]).and_then(|(word, _)| end(&word));
    let (took, retry_after) = (
        time(&DURATIONS)?,
        time(&["retry_after_ms", "retry_after_s"])?,
    );
    let attempt = text(&["attempt"]).map(|(text, _)| text.parse::<u32>().ok());
    let (Some(began), Some(end), Some(took), Some(retry_after)) = (began, end, took, retry_after)
    else {
        return Ok(None);
    };
    let took = match took {
        None if end == End::Rejected => 0,
        None => return Ok(None),
        Some(took) => took,
    };
    let number = start.parse::<f64>();
    if attempt == Some(None) {
        return Ok(None);
    }
    // Unix time in another unit than milliseconds is refused as a whole.
    if is_first
        && unit.is_none()
        && number.is_ok_and(|it| it >= 1e9 && !(1e12..4.1e12).contains(&it))
    {
        return Err(Unclear);
    }
    Ok(Some(Call {
        began,
        took,
        end,
        key: text(&["key", "host"]).map_or(String::new(), |(key, _)| key),
        is_retry: attempt.flatten().is_some_and(|attempt| attempt > 1),
        request: text(&["request", "request_id"]).map(|(text, _)| text),
        retry_after,
    }))
}

impl Call {
    pub(crate) fn plain(began: i128, took: i128, end: End, key: &str) -> Self {
        Self {
            began,
            took,
            end,
            key: key.to_owned(),
            is_retry: false,
            request: None,
            retry_after: None,
        }
    }
}

const SECOND: i128 = 1_000_000_000;

pub(crate) fn nginx(line: &str) -> Line {
    let found = NGINX.captures(line).ok_or(Unclear)?;
    let list = |place: usize| -> Vec<String> {
        let text = found[place].trim().replace(" : ", ", ");
        text.split(", ").map(|it| it.trim().to_owned()).collect()
    };
    let (upstreams, statuses, times) = (list(3), list(4), list(5));
    let (ended, whole) = (nanos(&found[1], SECOND)?, nanos(&found[2], SECOND)?);
    let (Some(ended), Some(whole @ 0..)) = (ended, whole) else {
        return Ok(vec![None]);
    };
    if upstreams.len() != statuses.len() || statuses.len() != times.len() {
        return Ok(vec![None]);
    }
    let mut calls = Vec::new();
    let mut began = ended - whole;
    for ((upstream, status), time) in upstreams.iter().zip(&statuses).zip(&times) {
        if upstream == "-" {
            continue;
        }
        let took = match (time.as_str(), status.as_str()) {
            ("-", "-") => Some((ended - began).max(0)),
            ("-", _) => Some(0),
            (time, _) => nanos(time, SECOND)?,
        };
        let end = match (upstream.contains(':'), status.as_str()) {
            (false, _) => Some(End::Rejected),
            (_, "-") => Some(End::Ignored),
            (_, status) => end(status),
        };
        let (Some(took @ 0..), Some(end)) = (took, end) else {
            return Ok(vec![None]);
        };
        calls.push(Some(Call {
            is_retry: !calls.is_empty(),
            ..Call::plain(began, took, end, upstream)
        }));
        began += took;
    }
    Ok(calls)
}

pub(crate) fn envoy(line: &str) -> Line {
    let found = ENVOY.captures(line.trim()).ok_or(Unclear)?;
    let has = |flags: &str| {
        found[3]
            .split(',')
            .any(|it| flags.split(' ').any(|flag| flag == it))
    };
    let end = if has("UO UH OM DO") {
        Some(End::Rejected)
    } else if has("DC NR NC RL UAEX RLSE DPE IH FI") {
        Some(End::Ignored)
    } else if has("UF UC UT UR LR URX UPE UMSDR") {
        Some(End::Failed)
    } else if line.contains("] \"- - -\" 0 ") {
        Some(End::Ok)
    } else {
        end(&found[2])
    };
    let key = if &found[7] == "-" {
        &found[6]
    } else {
        &found[7]
    };
    let (began, took) = (moment(&found[1], SECOND)?, nanos(&found[4], 1_000_000)?);
    let (Some(began), Some(took @ 0..), Some(end)) = (began, took, end) else {
        return Ok(vec![None]);
    };
    let request = (&found[5] != "-").then(|| found[5].to_owned());
    let call = Call::plain(began, took, end, key);
    Ok(vec![Some(Call { request, ..call })])
}
