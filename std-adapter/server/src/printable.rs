// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text from outside, in a form that is safe to show.

use std::fmt::{self, Write};

/// The maximum number of bytes that are kept of a name or key.
const MAX_BYTES: usize = 128;

/// Returns a text that may come from outside, such as a name or a key, in a form that is safe in a log line, a label and a
/// terminal: at most 128 bytes, without control characters and without characters that change how others are shown. Such
/// characters are written as Rust escapes, and a longer text is cut and ends in `…`. No more than that is ever assembled,
/// however long the text is.
///
/// ```
/// use atomic_breaker_server::redact::printable;
///
/// assert_eq!(printable("a.example\n\u{1b}[31mred"), r"a.example\n\u{1b}[31mred");
/// assert_eq!(printable("x".repeat(1_000)), "x".repeat(125) + "…");
/// ```
pub fn printable(text: impl fmt::Display) -> String {
    within(MAX_BYTES, text)
}

/// A text in that form, and in at most so many bytes.
pub(crate) fn within(most: usize, text: impl fmt::Display) -> String {
    let mut kept = Printable {
        text: String::new(),
        most,
    };
    // An error means that there was more text.
    if write!(kept, "{text}").is_err() {
        while kept.text.len() > most - '…'.len_utf8() {
            kept.text.pop();
        }
        kept.text.push('…');
    }
    kept.text
}

/// A text of any length in that form.
pub(crate) fn without_lines(text: Box<str>) -> Box<str> {
    if text.contains(is_hidden) {
        within(usize::MAX, text).into()
    } else {
        text
    }
}

struct Printable {
    text: String,
    most: usize,
}

impl Printable {
    fn push(&mut self, piece: &str) -> fmt::Result {
        if self.text.len() + piece.len() > self.most {
            return Err(fmt::Error);
        }
        self.text.push_str(piece);
        Ok(())
    }
}

impl Write for Printable {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            if is_hidden(char) {
                let mut escaped = String::new();
                escaped.extend(char.escape_default());
                self.push(&escaped)?;
            } else {
                self.push(char.encode_utf8(&mut [0; 4]))?;
            }
        }
        Ok(())
    }
}

/// Control characters, and the Unicode characters that separate lines, join text or change its direction.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
