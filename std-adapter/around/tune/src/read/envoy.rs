// SPDX-License-Identifier: MIT OR Apache-2.0
//! The access log of Envoy, in its default format.

use super::columns::TimeUnit;
use super::logged::{Logged, outcome};
use super::time::{duration, moment};
use crate::record::RecordedOutcome;

/// Flags of responses that Envoy made because the upstream did not answer properly, in time or at all.
const FAILED: [&str; 8] = ["UF", "UC", "UT", "UR", "LR", "URX", "UPE", "UMSDR"];
/// The caller has left.
const LEFT: [&str; 1] = ["DC"];
/// Flags that say nothing about the upstream: no route or cluster, limits of Envoy itself.
const NEITHER: [&str; 8] = ["NR", "NC", "RL", "UAEX", "RLSE", "DPE", "IH", "FI"];
/// Rejected by Envoy's own limits or breakers, or because all hosts are left alone for their failures.
const REJECTED: [&str; 4] = ["UO", "UH", "OM", "DO"];

/// ```text
/// [2016-04-15T20:17:00.310Z] "GET /x HTTP/2" 503 UF 0 91 30 - "-" "curl" "cc21d9b0" "shop.example" "10.0.2.1:80"
/// ```
pub(super) fn call(line: &str) -> Result<Logged<'_>, String> {
    let words = words(line)?;
    let word = |place: usize, what: &str| {
        let found = words.get(place).copied();
        found.ok_or_else(|| format!("has no {what}"))
    };
    let began = moment(word(0, "start")?, TimeUnit::Seconds)?;
    let request_line = word(1, "request")?;
    let status = word(2, "status")?;
    let flags = word(3, "flags")?;
    let took = duration(word(6, "duration")?, TimeUnit::Millis)?;
    let request = word(10, "request")?;
    let (authority, upstream) = (word(11, "authority")?, word(12, "upstream")?);
    let has = |known: &[&str]| flags.split(',').any(|flag| known.contains(&flag));
    let outcome = if has(&REJECTED) {
        RecordedOutcome::Rejected
    } else if has(&NEITHER) {
        RecordedOutcome::Ignored
    } else if has(&LEFT) {
        RecordedOutcome::Cancelled
    } else if has(&FAILED) {
        RecordedOutcome::Failed
    } else if request_line == "- - -" && status == "0" {
        // A connection of TCP has no status; a failed one has a flag.
        RecordedOutcome::Ok
    } else {
        outcome(status)?
    };
    let key = if upstream == "-" { authority } else { upstream };
    Ok(Logged {
        request: (request != "-").then_some(request.into()),
        ..Logged::new(began, took, outcome, key)
    })
}

/// Words, of which those in quotes or brackets may contain spaces.
pub(super) fn words(line: &str) -> Result<Vec<&str>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => '"',
            '[' => ']',
            _ => ' ',
        };
        let begin = usize::from(end != ' ');
        let found = rest[begin..].find(end).map(|place| place + begin);
        let length = match found {
            Some(place) => place,
            None if end == ' ' => rest.len(),
            None => return Err(format!("has a {first} without an end")),
        };
        words.push(&rest[begin..length]);
        rest = rest
            .get(length + usize::from(end != ' ')..)
            .unwrap_or_default();
        rest = rest.trim_start();
        // No format has more.
        if words.len() > 64 {
            break;
        }
    }
    Ok(words)
}
