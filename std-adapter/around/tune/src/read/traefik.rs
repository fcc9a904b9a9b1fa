// SPDX-License-Identifier: MIT OR Apache-2.0
//! The access log of Traefik, in JSON and in its common format.

use std::time::Duration;

use serde_json::Value;

use super::columns::{Column, TimeUnit};
use super::envoy::words;
use super::logged::{Logged, outcome};
use super::named::Columns;
use super::time::{duration, moment, shown};

/// Returns whether the first line of a log is one of Traefik's.
pub(super) fn is_first(line: &str) -> bool {
    let has = |name: &str| line.contains(&format!("\"{name}\""));
    if line.starts_with('{') {
        let has_start = has("StartUTC") || has("StartLocal");
        return has_start
            && (has("Duration") || has("OriginDuration"))
            && (has("OriginStatus") || has("DownstreamStatus"));
    }
    // Others end with words of the client.
    line.contains("] \"") && line.trim_end().ends_with("ms")
}

/// A call, unless Traefik answered by itself. Columns that were named take the place of the usual fields.
pub(super) fn call(line: &str, columns: &Columns) -> Result<Option<Logged<'static>>, String> {
    if line.starts_with('{') {
        json(line, columns)
    } else {
        common(line)
    }
}

/// ```text
/// {"Duration":2031842,"OriginDuration":1927946,"OriginStatus":200,"ServiceAddr":"10.0.1.2:80","StartUTC":"2026-09-29T20:44:56Z"}
/// ```
fn json(line: &str, columns: &Columns) -> Result<Option<Logged<'static>>, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let text = |name: &str| match value.get(name)? {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let first = |column: Column, usual: &[&str]| match &columns.given[column as usize] {
        Some(name) => text(name),
        None => usual.iter().find_map(|name| text(name)),
    };
    let needed = |column: Column, usual: &[&str]| {
        first(column, usual).ok_or_else(|| format!("has no {column}"))
    };
    let servers = ["ServiceAddr", "ServiceName"];
    // Traefik found no route or no server, or a middleware has answered.
    let is_own = text("OriginStatus").is_none_or(|status| status == "0");
    if is_own && !servers.iter().any(|name| value.get(name).is_some()) {
        return Ok(None);
    }
    let unit = columns.unit.unwrap_or(TimeUnit::Nanos);
    let start = needed(Column::Start, &["StartUTC", "StartLocal"])?;
    let began = moment(&start, columns.start_unit.unwrap_or(unit))?;
    let statuses: &[&str] = if is_own {
        &["DownstreamStatus"]
    } else {
        &["OriginStatus"]
    };
    let outcome = outcome(&needed(Column::Outcome, statuses)?)?;
    let durations: &[&str] = if is_own {
        &["Duration"]
    } else {
        &["OriginDuration", "Duration"]
    };
    let took = duration(&needed(Column::Duration, durations)?, unit)?;
    // Before it, Traefik looked for a server, and asked others.
    let whole = text("Duration").map(|text| duration(&text, unit));
    let before = whole.transpose()?.unwrap_or(took).saturating_sub(took);
    let key = first(Column::Key, &["ServiceAddr", "ServiceName", "RequestHost"]);
    Ok(Some(Logged {
        is_retry: text("RetryAttempts").is_some_and(|tries| tries != "0"),
        ..Logged::new(
            began.saturating_add(i128::from(before.as_nanos() as u64)),
            took,
            outcome,
            key.unwrap_or_default(),
        )
    }))
}

/// ```text
/// 10.0.0.1 - - [11/Aug/2026:12:00:00 +0000] "GET / HTTP/2.0" 503 12 "-" "curl" 42 "web@docker" "http://172.18.0.5:3000" 87ms
/// ```
fn common(line: &str) -> Result<Option<Logged<'static>>, String> {
    let words = words(line)?;
    // What clients say of themselves may have quotes in it, so the last ones are found from the end.
    let (Some([status, ..]), [.., server, took]) = (words.get(5..), &*words) else {
        return Err("has too few words".into());
    };
    if *server == "-" {
        return Ok(None);
    }
    let began = moment(&rfc_3339(words[3])?, TimeUnit::Nanos)?;
    let took = took.strip_suffix("ms").unwrap_or(took);
    let took: Duration = duration(took, TimeUnit::Millis)?;
    let server = server.split_once("://").map_or(*server, |(_, rest)| rest);
    let server = server.trim_end_matches('/').to_owned();
    Ok(Some(Logged::new(began, took, outcome(status)?, server)))
}

/// `11/Aug/2026:12:00:00 +0000` in the other order.
fn rfc_3339(text: &str) -> Result<String, String> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let parts = || {
        let (date, rest) = text.split_once(':')?;
        let (clock, zone) = rest.split_once(' ')?;
        let (day, rest) = date.split_once('/')?;
        let (month, year) = rest.split_once('/')?;
        let at = MONTHS.find(month)?;
        let month = (month.len() == 3 && at % 3 == 0).then_some(at / 3 + 1)?;
        let (hours, minutes) = zone.split_at_checked(3)?;
        Some(format!("{year}-{month:02}-{day}T{clock}{hours}:{minutes}"))
    };
    parts().ok_or_else(|| format!("its start is {:?}, which is not a time", shown(text)))
}
