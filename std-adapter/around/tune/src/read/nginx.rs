// SPDX-License-Identifier: MIT OR Apache-2.0
//! The access log of nginx, in a format that names what breakers see.

use std::time::Duration;

use super::columns::TimeUnit;
use super::logged::{Logged, outcome};
use super::time::{duration, duration_of, moment};
use crate::record::RecordedOutcome;

/// Every upstream that a request was sent to is a call; those after the first are retries. A line that was answered without
/// an upstream has none. Where all servers of a group are left alone for their failures, nginx calls none of them, and the
/// group's name stands in the place of an address: such a call was rejected.
///
/// ```text
/// msec=1795521600.250 request_time=0.350 upstream=10.0.0.1:80, 10.0.0.2:80 status=502, 200 time=0.250, 0.100
/// ```
pub(super) fn calls(line: &str) -> Result<Vec<Logged<'_>>, String> {
    let field = |name: &str| {
        let mark = format!("{name}=");
        // At the beginning, or after a space: a value may contain the name.
        let place = line
            .match_indices(&mark)
            .find(|(place, _)| *place == 0 || line.as_bytes()[place - 1] == b' ');
        let (place, _) = place.ok_or_else(|| format!("has no {name}="))?;
        let value = &line[place + mark.len()..];
        // Values are lists with spaces, so they end where the next name begins.
        let names = ["msec=", "request_time=", "upstream=", "status=", "time="];
        let ends = names
            .iter()
            .filter_map(|next| value.find(&format!(" {next}")));
        Ok::<&str, String>(value[..ends.min().unwrap_or(value.len())].trim())
    };
    // Tries are separated by commas, and by colons after an internal redirect.
    let list = |text: &'_ str| -> Vec<String> {
        let text = text.replace(" : ", ", ");
        text.split(", ").map(|it| it.trim().to_owned()).collect()
    };
    let ended = moment(field("msec")?, TimeUnit::Seconds)?;
    let whole = duration(field("request_time")?, TimeUnit::Seconds)?;
    let upstreams = list(field("upstream")?);
    let statuses = list(field("status")?);
    let times = list(field("time")?);
    if upstreams.len() != statuses.len() || statuses.len() != times.len() {
        return Err("has not as many upstreams as statuses and times".into());
    }
    let mut began = ended.saturating_sub(i128::from(whole.as_nanos() as u64));
    let mut calls = Vec::new();
    for ((upstream, status), time) in upstreams.into_iter().zip(statuses).zip(times) {
        if upstream == "-" {
            continue;
        }
        // A try that was given up before its answer has no status, and perhaps no time: it lasted until the end.
        let took = match &*time {
            "-" if status == "-" => duration_of(ended.saturating_sub(began).max(0))?,
            "-" => Duration::ZERO,
            time => duration(time, TimeUnit::Seconds)?,
        };
        let outcome = if !is_address(&upstream) {
            RecordedOutcome::Rejected
        } else if status == "-" {
            // Its caller left before an answer.
            RecordedOutcome::Cancelled
        } else {
            outcome(&status)?
        };
        calls.push(Logged {
            is_retry: !calls.is_empty(),
            ..Logged::new(began, took, outcome, upstream)
        });
        began = began.saturating_add(i128::from(took.as_nanos() as u64));
    }
    Ok(calls)
}

/// Addresses of servers have a port, or are the path of a socket; names of groups have neither.
fn is_address(upstream: &str) -> bool {
    upstream.starts_with("unix:") || upstream.contains(':')
}
