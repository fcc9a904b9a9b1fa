// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts that are kept: how long they may be, and what is left out of them.

use atomic_breaker_server::redact::without_secrets;

/// The longest name of a kind, step or lane, in bytes.
pub const LONGEST_NAME: usize = 64;
/// The longest key, in bytes.
pub const LONGEST_KEY: usize = 255;
/// The largest state, in bytes of its JSON.
pub const LARGEST_STATE: usize = 1 << 20;
/// The most of an error that is kept, in bytes.
pub const LONGEST_ERROR: usize = 4_096;

/// The reason why a state cannot be read, without any of its content: serde's own message quotes values.
pub(super) fn unreadable(error: &serde_json::Error) -> String {
    use serde_json::error::Category;
    let what = match error.classify() {
        Category::Data => "the state is JSON of another type",
        Category::Eof => "the state is truncated JSON",
        Category::Syntax | Category::Io => "the state is not JSON",
    };
    let (line, column) = (error.line(), error.column());
    redacted(&format!("{what}, at line {line} column {column}"))
}

/// The part of an error that is kept in history, logs and messages: at most [`LONGEST_ERROR`] bytes of its text. Any
/// part that may be secret is left out: user name, password and query of URLs, cookies and credentials, and values
/// whose names say that they are secret, in headers, connection strings, JSON, XML and the debug output of programs. A
/// secret without such a name or place, such as a token that is part of a path, is not recognized. NUL is replaced, as
/// not every database can store it.
///
/// ```
/// use atomic_breaker_steps::redacted;
///
/// let words = "GET https://app:secret@api.example/pay?key=4711: refused";
/// assert_eq!(redacted(words), "GET https://api.example/pay?…: refused");
/// ```
pub fn redacted(error: &str) -> String {
    let mut text = without_secrets(error).replace('\0', "\u{FFFD}");
    let mut ends = (0..=text.len().min(LONGEST_ERROR)).rev();
    let end = ends.find(|&end| text.is_char_boundary(end));
    text.truncate(end.unwrap_or(0));
    text
}
