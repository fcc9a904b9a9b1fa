// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spans of OpenTelemetry, as its collector writes them to files: JSON by the protocol, a batch per line.

use serde_json::Value;

use super::columns::TimeUnit;
use super::logged::{Logged, outcome};
use super::time::{duration_of, moment};
use crate::record::RecordedOutcome;

/// What is called, by the first of these attributes.
const KEYS: [&str; 4] = [
    "server.address",
    "peer.service",
    "net.peer.name",
    "rpc.service",
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
    let code = attribute("rpc.grpc.status_code").and_then(|it| it.parse::<i64>().ok());
    let outcome = match (status, code) {
        (Some(status), _) => outcome(&status)?,
        (None, Some(GRPC_CANCELLED)) => RecordedOutcome::Cancelled,
        (None, Some(GRPC_EXHAUSTED)) => RecordedOutcome::Ignored,
        (None, Some(code)) if GRPC_FAILURES.contains(&code) => RecordedOutcome::Failed,
        (None, None) if is(&span["status"]["code"], ERROR, "STATUS_CODE_ERROR") => {
            RecordedOutcome::Failed
        }
        (None, _) => RecordedOutcome::Ok,
    };
    let key = KEYS.iter().find_map(|key| attribute(key));
    Ok(Logged {
        is_retry: resends.is_some_and(|it| it != "0"),
        ..Logged::new(began, took, outcome, key.unwrap_or_default())
    })
}
