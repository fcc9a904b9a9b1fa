// SPDX-License-Identifier: MIT OR Apache-2.0
//! Another reading of whole logs: their calls, with numbers for their keys.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::lines::{Call, DURATIONS, End, Line, STARTS, Unclear, envoy, named, nginx};
use crate::spans::{scalar, spans};

/// A call as it must have been read: microseconds since the first one, the number of its key, how many it took; how it
/// ended, with the milliseconds of a `Retry-After`; whether it is a retry.
pub(crate) type Read = (u64, u32, u32, (End, u32), bool);

/// All calls in order; how many lines there were, and in how many something was wrong. `None` if there is no call.
pub(crate) type Log = Option<(Vec<Read>, u64, u64)>;

/// The longest call, in nanoseconds.
const LONGEST: i128 = u32::MAX as i128 * 1_000;
/// A century, beyond which no call is from the first one.
const CENTURY: i128 = 100 * 366 * 86_400 * 1_000_000_000;

/// Beyond, a start may have another unit than the first one.
const YEAR: i128 = 366 * 86_400 * 1_000_000_000;

/// The knowledge of the calls so far.
#[derive(Default)]
struct Known {
    calls: Vec<Read>,
    origin: Option<i128>,
    keys: HashMap<String, u32>,
    requests: HashSet<String>,
}

impl Known {
    /// Returns whether the call is clear.
    fn add(&mut self, call: Call, one_key: bool) -> bool {
        if call.took > LONGEST {
            return false;
        }
        let since = call.began - *self.origin.get_or_insert(call.began);
        if !(-CENTURY..=CENTURY).contains(&since) {
            return false;
        }
        let next = self.keys.len() as u32;
        let key = if one_key {
            0
        } else {
            *self.keys.entry(call.key).or_insert(next)
        };
        let is_known = call.request.is_some_and(|it| !self.requests.insert(it));
        let ms = |ns: i128| u32::try_from((ns + 999_999) / 1_000_000).unwrap_or(u32::MAX);
        let (took, asked) = match call.end {
            End::Rejected => (0, 0),
            End::Failed => (call.took / 1_000, call.retry_after.map_or(0, ms)),
            End::Ok | End::Ignored => (call.took / 1_000, 0),
        };
        let start = u64::try_from((since + CENTURY).div_euclid(1_000)).expect("not before it");
        self.calls.push((
            start,
            key,
            u32::try_from(took).expect("at most 71 minutes"),
            (call.end, asked),
            call.is_retry || is_known,
        ));
        true
    }
}

/// Reads a log.
pub(crate) fn read(text: &str, one_key: bool) -> Result<Log, Unclear> {
    // Line ends and marks of other systems, and names that may be too long.
    if text.contains(['\r', '\u{feff}']) || text.lines().any(|line| line.len() > 1_000) {
        return Err(Unclear);
    }
    let mut lines = text
        .split('\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .peekable();
    let Some(first) = lines.peek().map(|line| line.trim_start()) else {
        return Ok(None);
    };
    let plain: String = first.split_whitespace().collect();
    let is_json = first.starts_with('{');
    let parse = match first {
        _ if plain.starts_with("{\"resourceSpans\"") => Some(spans as fn(&str) -> Line),
        _ if is_json => None,
        _ if first.starts_with('[') => Some(envoy as fn(&str) -> Line),
        _ if first.starts_with("msec=") => Some(nginx as fn(&str) -> Line),
        _ => None,
    };
    let mut columns = Vec::new();
    if parse.is_none() && !is_json {
        if text.contains('"') {
            return Err(Unclear);
        }
        columns = lines
            .next()
            .map_or(Vec::new(), |line| line.split(',').map(str::trim).collect());
        let has = |names: &[&str]| names.iter().any(|name| columns.contains(name));
        if !has(&STARTS) || !has(&DURATIONS) || !has(&["outcome", "status"]) {
            return Ok(None);
        }
    }
    let (mut known, mut all, mut wrong) = (Known::default(), 0, 0);
    for line in lines {
        all += 1;
        let is_first = known.origin.is_none();
        let calls = match parse {
            Some(parse) => parse(line)?,
            None if is_json => {
                let value = serde_json::from_str::<Value>(line).unwrap_or_default();
                let field = |name: &str| match &value[name] {
                    Value::Bool(it) => Some(it.to_string()),
                    other => scalar(other),
                };
                vec![named(&field, is_first)?]
            }
            None => {
                let fields: Vec<_> = line.split(',').map(str::trim).collect();
                let field = |name: &str| {
                    let place = columns.iter().position(|it| *it == name)?;
                    Some(fields.get(place).copied().unwrap_or_default().to_owned())
                };
                vec![named(&field, is_first)?]
            }
        };
        let far = |call: &Call| {
            known
                .origin
                .is_some_and(|it| (call.began - it).abs() > YEAR)
        };
        if parse.is_none() && calls.iter().flatten().any(far) {
            // Perhaps in another unit, which is refused.
            return Err(Unclear);
        }
        let mut is_wrong = false;
        for call in calls {
            is_wrong |= !call.is_some_and(|call| known.add(call, one_key));
            if is_wrong && first.starts_with("msec=") {
                break;
            }
        }
        wrong += u64::from(is_wrong);
    }
    if known.origin.is_none() && wrong == all {
        return Ok(None);
    }
    let first = known.calls.iter().map(|it| it.0).min().unwrap_or(0);
    known.calls.iter_mut().for_each(|it| it.0 -= first);
    known.calls.sort_unstable();
    Ok(Some((known.calls, all, wrong)))
}
