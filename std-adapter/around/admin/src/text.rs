// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts that may come from outside, and the names of commands.

use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hasher};

use serde::Serialize;
use serde_json::json;

/// The most bytes of a key that are kept unchanged.
const KEY_BYTES: usize = 256;

/// A text in at most this many bytes; a longer one is cut and ends in `…`.
pub(super) fn bounded(text: &dyn fmt::Display, most: usize) -> String {
    cut(whole(text), most, "…")
}

/// A key as it is shown and requested. One of more than 256 bytes is cut, and ends in a number derived from all of it,
/// so that it stays distinct from similar ones.
pub(super) fn of_key(key: &dyn fmt::Display) -> String {
    let key = whole(key);
    if key.len() <= KEY_BYTES {
        return key;
    }
    let mut number = DefaultHasher::new();
    number.write(key.as_bytes());
    cut(key, KEY_BYTES, &format!("…#{:016x}", number.finish()))
}

fn whole(text: &dyn fmt::Display) -> String {
    let mut whole = String::new();
    // Only foreign `Display` code fails; its output so far is kept.
    let _ = write!(whole, "{text}");
    whole
}

fn cut(mut text: String, most: usize, end: &str) -> String {
    if text.len() > most {
        let mut kept = most - end.len();
        while !text.is_char_boundary(kept) {
            kept -= 1;
        }
        text.truncate(kept);
        text.push_str(end);
    }
    text
}

/// The name of a command, as requests have it.
pub(super) fn of_command(command: impl Serialize) -> String {
    json!(command).as_str().unwrap_or_default().to_owned()
}
