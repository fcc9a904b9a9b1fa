// SPDX-License-Identifier: MIT OR Apache-2.0
//! Another reading of the spans of clients in batches of OpenTelemetry.

use serde_json::Value;

use crate::lines::{Call, End, Line, Unclear, end, moment};

pub(crate) fn spans(line: &str) -> Line {
    let Ok(batch) = serde_json::from_str::<Value>(line) else {
        return Ok(vec![None]);
    };
    let mut found = vec![&batch];
    for name in ["resourceSpans", "scopeSpans", "spans"] {
        let lists = found.into_iter().map(|it| it[name].as_array());
        found = lists.flatten().flatten().collect();
    }
    let is_client = |it: &&Value| it["kind"] == 3 || it["kind"] == "SPAN_KIND_CLIENT";
    found.into_iter().filter(is_client).map(span).collect()
}

pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn span(span: &Value) -> Result<Option<Call>, Unclear> {
    let attributes = span["attributes"].as_array();
    let attribute = |name: &str| {
        let mut all = attributes.into_iter().flatten();
        let value = &all.find(|it| it["key"] == name)?["value"];
        scalar(&value["stringValue"]).or_else(|| scalar(&value["intValue"]))
    };
    let time = |name: &str| scalar(&span[name]).map_or(Ok(None), |text| moment(&text, 1));
    let (began, ended) = (time("startTimeUnixNano")?, time("endTimeUnixNano")?);
    let status = ["http.response.status_code", "http.status_code"].into_iter();
    let mut new = ["rpc.response.status_code", "db.response.status_code"].into_iter();
    if new.any(|it| attribute(it).is_some()) {
        return Err(Unclear);
    }
    let code = match attribute("rpc.grpc.status_code") {
        Some(code) => Some(code.parse().map_err(|_| Unclear)?),
        None => None,
    };
    let is_error =
        ["2", "STATUS_CODE_ERROR"].map(|it| scalar(&span["status"]["code"]).as_deref() == Some(it));
    let end = match (status.clone().find_map(attribute), code) {
        (Some(status), _) => end(&status),
        (_, Some(1 | 8)) => Some(End::Ignored),
        (_, Some(2 | 4 | 13 | 14 | 15)) => Some(End::Failed),
        (_, Some(0_i64..)) => Some(End::Ok),
        (_, Some(_)) => return Err(Unclear),
        (_, None) if is_error.contains(&true) => Some(End::Failed),
        (_, None) => Some(End::Ok),
    };
    let keys = [
        ("server.address", "server.port"),
        ("peer.service", ""),
        ("net.peer.name", "net.peer.port"),
        ("rpc.service", ""),
    ];
    let key = keys.into_iter().find_map(|(name, port)| {
        let port = attribute(port).map_or(String::new(), |it| format!(":{it}"));
        attribute(name).map(|name| name + &port)
    });
    let key = key.unwrap_or_default();
    let (Some(began), Some(ended), Some(end)) = (began, ended, end) else {
        return Ok(None);
    };
    let call = Call {
        is_retry: attribute("http.request.resend_count").is_some_and(|it| it != "0"),
        ..Call::plain(began, ended - began, end, &key)
    };
    Ok((call.took >= 0).then_some(call))
}
