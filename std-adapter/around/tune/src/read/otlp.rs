// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spans of OpenTelemetry, as its collector writes them to files: JSON by the protocol, a batch per line.

use serde_json::Value;

use super::columns::TimeUnit;
use super::logged::{Logged, outcome};
use super::time::{duration_of, moment};
use crate::record::RecordedOutcome;

/// The attributes that name the resource, the first of them that is present, with the port that belongs to it.
const KEYS: [(&str, Option<&str>); 4] = [
    ("server.address", Some("server.port")),
    ("peer.service", None),
    ("net.peer.name", Some("net.peer.port")),
    ("rpc.service", None),
];
/// `SPAN_KIND_CLIENT`
const CLIENT: u64 = 3;
/// `STATUS_CODE_ERROR`
const ERROR: u64 = 2;
/// CANCELLED: the caller has left.
const GRPC_CANCELLED: i64 = 1;
/// `RESOURCE_EXHAUSTED`: the caller's quota is used up.
const GRPC_EXHAUSTED: i64 = 8;
/// Codes of gRPC that say something about the server: UNKNOWN, `DEADLINE_EXCEEDED`, INTERNAL, UNAVAILABLE, `DATA_LOSS`.
const GRPC_FAILURES: [i64; 5] = [2, 4, 13, 14, 15];

/// The spans of clients in a batch; other spans are skipped.
pub(super) fn calls(line: &str) -> Result<Vec<Result<Logged<'static>, String>>, String> {
    let batch: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let resources = list(&batch, "resourceSpans");
    let scopes = resources.flat_map(|it| list(it, "scopeSpans"));
    let spans = scopes.flat_map(|it| list(it, "spans"));
    let clients = spans.filter(|span| is(&span["kind"], CLIENT, "SPAN_KIND_CLIENT"));
    Ok(clients.map(call).collect())
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value[name].as_array().into_iter().flatten()
}

/// Enumerations are numbers, or names.
fn is(value: &Value, number: u64, name: &str) -> bool {
    value.as_u64() == Some(number) || value.as_str() == Some(name)
}

/// 64-bit numbers are strings.
fn number(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn call(span: &Value) -> Result<Logged<'static>, String> {
    let time = |name: &str| {
        let text = number(&span[name]).ok_or_else(|| format!("a span has no {name}"))?;
        moment(&text, TimeUnit::Nanos)
    };
    let (began, ended) = (time("startTimeUnixNano")?, time("endTimeUnixNano")?);
    let took = duration_of(ended.saturating_sub(began))?;
    let attribute = |wanted: &str| {
        let found = list(span, "attributes").find(|it| it["key"] == wanted);
        found.and_then(|it| {
            let value = &it["value"];
            number(&value["stringValue"]).or_else(|| number(&value["intValue"]))
        })
    };
    let resends = attribute("http.request.resend_count");
    let status = attribute("http.response.status_code").or_else(|| attribute("http.status_code"));
    let code = attribute("rpc.response.status_code").or_else(|| attribute("rpc.grpc.status_code"));
    let code = code.and_then(|it| grpc_code(&it));
    let sql_state = attribute("db.response.status_code").filter(|it| is_sql_state(it));
    let outcome = match (status, code) {
        (Some(status), _) => outcome(&status)?,
        (None, Some(GRPC_CANCELLED)) => RecordedOutcome::Cancelled,
        (None, Some(GRPC_EXHAUSTED)) => RecordedOutcome::Ignored,
        (None, Some(code)) if GRPC_FAILURES.contains(&code) => RecordedOutcome::Failed,
        (None, Some(_)) => RecordedOutcome::Ok,
        (None, None) => match sql_state {
            Some(state) => of_sql_state(&state),
            None if is(&span["status"]["code"], ERROR, "STATUS_CODE_ERROR") => {
                RecordedOutcome::Failed
            }
            None => RecordedOutcome::Ok,
        },
    };
    let key = KEYS.iter().find_map(|(name, port)| {
        let name = attribute(name)?;
        let port = port.and_then(attribute);
        Some(port.map_or(name.clone(), |port| format!("{name}:{port}")))
    });
    Ok(Logged {
        is_retry: resends.is_some_and(|it| it != "0"),
        ..Logged::new(began, took, outcome, key.unwrap_or_default())
    })
}

/// The number of a code of gRPC, which newer spans have as a name.
fn grpc_code(text: &str) -> Option<i64> {
    let code = match text {
        "OK" => 0,
        "CANCELLED" => GRPC_CANCELLED,
        "UNKNOWN" => 2,
        "DEADLINE_EXCEEDED" => 4,
        "RESOURCE_EXHAUSTED" => GRPC_EXHAUSTED,
        "INTERNAL" => 13,
        "UNAVAILABLE" => 14,
        "DATA_LOSS" => 15,
        // Names of what the caller did wrong.
        _ if text.bytes().all(|it| it.is_ascii_uppercase() || it == b'_') => 3,
        _ => return text.parse().ok(),
    };
    Some(code)
}

fn is_sql_state(text: &str) -> bool {
    text.len() == 5
        && text
            .bytes()
            .all(|it| it.is_ascii_uppercase() || it.is_ascii_digit())
}

/// Decides whose fault an error of SQL is, by its class, which is the first two characters, and by its code.
fn of_sql_state(state: &str) -> RecordedOutcome {
    match (&state[..2], state) {
        // A session that was left idle; an internal error is as often that of one query.
        (_, "57P05" | "25P03") | ("XX", _) => RecordedOutcome::Ignored,
        // Connections, logins, resources, shutdown, files; a standby that used to be the primary.
        ("08" | "28" | "3D" | "53" | "57" | "58", _) | (_, "25006") => RecordedOutcome::Failed,
        _ => RecordedOutcome::Ok,
    }
}
