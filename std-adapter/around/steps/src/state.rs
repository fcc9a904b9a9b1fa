// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads states, but none of which this release would write only a part back: another release has written it.

use std::collections::HashSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error;

use super::caught::caught_now;
use super::text::{redacted, unreadable};

/// The most parts that are tried out in one state.
const MOST: usize = 64;

/// The reason why a state is not read, without its values.
#[derive(Debug, Error)]
pub(super) enum Unread {
    #[error("{}", unreadable(.0))]
    Json(serde_json::Error),
    /// The name of a part that would be lost.
    #[error("the state has {}, which this release does not know and would not write back", redacted(&format!("{:?}", .0)))]
    Lost(String),
}

/// A part of the stored JSON that is not written back as it is.
struct Part {
    /// The position of the part: a JSON pointer.
    pointer: String,
    /// A text that is written otherwise; if not, a name that is not written.
    is_text: bool,
}

impl Part {
    /// The last name in the pointer.
    fn name(&self) -> String {
        let is_name = |part: &&str| !part.bytes().all(|byte| byte.is_ascii_digit());
        let name = self.pointer.rsplit('/').find(is_name).unwrap_or("a value");
        name.replace("~1", "/").replace("~0", "~")
    }
}

/// Reads a state, unless some of it would be lost when it is written again.
pub(super) fn read<S: Serialize + DeserializeOwned>(stored: &str) -> Result<S, Unread> {
    let state = serde_json::from_str(stored).map_err(Unread::Json)?;
    match lost(stored, &state) {
        Some(name) => Err(Unread::Lost(name)),
        None => Ok(state),
    }
}

/// The name of a part that is not written back, and that the type ignores: it reads the same whatever is there. A part
/// that it does not ignore may be written otherwise: under a newer name, not at all if it is the default, or no longer.
fn lost<S: Serialize + DeserializeOwned>(stored: &str, state: &S) -> Option<String> {
    let written = serde_json::to_string(state).ok()?;
    // Mostly: the same release wrote it.
    if written == stored {
        return None;
    }
    let mut stored: Value = serde_json::from_str(stored).ok()?;
    let written = serde_json::from_str(&written).ok()?;
    let mut parts = Vec::new();
    differences(&stored, &written, &mut String::new(), &mut parts);
    if parts.is_empty() {
        return None;
    }
    // One of each name before others like it, as in lists and maps.
    let mut seen = HashSet::new();
    let (first, others): (Vec<_>, Vec<_>) = parts
        .into_iter()
        .partition(|part| seen.insert((part.pointer.matches('/').count(), part.name())));
    let mut parts = first.into_iter().chain(others).take(MOST);
    let written = sorted(written);
    // A type that does not even read the same twice cannot be tried out.
    let is_same = again::<S>(&stored).as_ref() == Some(&written);
    let lost = parts.find(|part| !is_same || is_ignored::<S>(&mut stored, part, &written));
    lost.map(|part| part.name())
}

fn differences(stored: &Value, written: &Value, at: &mut String, parts: &mut Vec<Part>) {
    let length = at.len();
    let part = |at: &String, is_text| Part {
        pointer: at.clone(),
        is_text,
    };
    match (stored, written) {
        (Value::Object(stored), Value::Object(written)) => {
            for (name, stored) in stored {
                at.push('/');
                at.push_str(&name.replace('~', "~0").replace('/', "~1"));
                match written.get(name) {
                    Some(written) => differences(stored, written, at, parts),
                    None if stored.is_null() => {}
                    None => parts.push(part(at, false)),
                }
                at.truncate(length);
            }
        }
        (Value::Array(stored), Value::Array(written)) => {
            for (index, (stored, written)) in stored.iter().zip(written).enumerate() {
                at.push('/');
                at.push_str(&index.to_string());
                differences(stored, written, at, parts);
                at.truncate(length);
            }
        }
        (Value::String(stored), Value::String(written)) if stored != written => {
            parts.push(part(at, true));
        }
        _ => {}
    }
}

/// Returns whether the type reads the same with something else in place of this part.
fn is_ignored<S>(stored: &mut Value, part: &Part, written: &Value) -> bool
where
    S: Serialize + DeserializeOwned,
{
    let others = [json!("\u{1}"), json!(true), json!([{}])];
    let others = &others[..if part.is_text { 1 } else { 3 }];
    others.iter().all(|other| {
        let Some(value) = stored.pointer_mut(&part.pointer) else {
            return false;
        };
        let own = std::mem::replace(value, other.clone());
        let is_same = again::<S>(stored).as_ref() == Some(written);
        if let Some(value) = stored.pointer_mut(&part.pointer) {
            *value = own;
        }
        is_same
    })
}

/// The JSON that the type writes for this one; `None` if it cannot read it.
fn again<S: Serialize + DeserializeOwned>(stored: &Value) -> Option<Value> {
    let read = || serde_json::from_str::<S>(&stored.to_string()).ok();
    let state = caught_now(read).ok()??;
    serde_json::to_value(state).ok().map(sorted)
}

/// With lists in an order of their own, as sets have none.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(list) => {
            let mut list: Vec<_> = list.into_iter().map(sorted).collect();
            list.sort_by_cached_key(Value::to_string);
            Value::Array(list)
        }
        Value::Object(names) => {
            let names = names.into_iter();
            Value::Object(names.map(|(name, value)| (name, sorted(value))).collect())
        }
        other => other,
    }
}
