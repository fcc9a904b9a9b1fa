// SPDX-License-Identifier: MIT OR Apache-2.0
//! The extent of a value.

pub(super) const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The marks that may stand between a value and the next name.
const BETWEEN: [char; 4] = ['&', ';', ',', '|'];

/// The marks that may stand after a value without being part of it.
const AFTER: [char; 14] = [
    '&', ';', ',', '|', '.', ':', ')', ']', '}', '"', '\'', '`', '\\', '>',
];

/// The greatest distance at which the end of a value with spaces is looked for, in bytes.
const FAR: usize = 256;

/// The start of a value that extends to its matching end, whatever is inside.
struct Opening {
    /// The position of the mark.
    at: usize,
    mark: char,
    /// The number of `\` before it.
    slashes: usize,
}

/// `"..`, `b"..`, `\"..`, `[..`, `Some(..`, `Secret { ..`
fn opening(value: &str) -> Option<Opening> {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_:#&".contains(byte);
    let name = value.bytes().take(64).take_while(is_of_name).count();
    let slashes = value[name..]
        .bytes()
        .take(8)
        .take_while(|byte| *byte == b'\\')
        .count();
    let space = usize::from(value[name..].starts_with(" {"));
    let at = name + slashes + space;
    let mark = value[at..].chars().next()?;
    let is_one = if QUOTES.contains(&mark) {
        name <= 2
    } else {
        "([{".contains(mark)
    };
    is_one.then_some(Opening { at, mark, slashes })
}

pub(super) fn is_open(value: &str) -> bool {
    opening(value).is_some()
}

/// The length of a value. The text before it shows whether it is in a list separated by `;`.
pub(super) fn length(value: &str, before: &str) -> usize {
    match opening(value) {
        Some(Opening { at, mark, slashes }) if QUOTES.contains(&mark) => {
            at + 1 + quoted(&value[at + 1..], mark, slashes)
        }
        Some(Opening { at, .. }) => at + bracketed(&value[at..]),
        None => word(value, before),
    }
}

/// Up to and including the closing quotation mark; a value that was cut extends to the end of the
/// text.
fn quoted(text: &str, mark: char, slashes: usize) -> usize {
    let mut before = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        if char == '\\' {
            before += 1;
            continue;
        }
        let is_escaped = if slashes == 0 {
            before % 2 == 1
        } else {
            before > slashes
        };
        before = 0;
        if char != mark || is_escaped {
            continue;
        }
        // A doubled mark stands for a single one, and a mark before a word opens another quotation.
        let goes_on = |next: char| next.is_alphanumeric() || next == mark;
        if chars.next_if(|(_, next)| goes_on(*next)).is_none() {
            return at + 1;
        }
    }
    text.len()
}

/// Up to and including the closing bracket.
fn bracketed(text: &str) -> usize {
    let mut depth = 0;
    let mut slashes = 0;
    let mut at = 0;
    while let Some(char) = text[at..].chars().next() {
        at += char.len_utf8();
        match char {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '"' => at += quoted(&text[at..], '"', slashes),
            _ => {}
        }
        slashes = if char == '\\' { slashes + 1 } else { 0 };
        if depth == 0 {
            break;
        }
    }
    at
}

/// Up to a space or another name, or, in a list separated by `;`, up to the next `;`.
fn word(value: &str, before: &str) -> usize {
    if let Some(end) = in_list(value, before) {
        return end;
    }
    let mut between = None;
    for (at, char) in value.char_indices() {
        match (char, between) {
            // After the mark and a name.
            ('=' | ':', Some(end)) if end + 1 < at => return without_marks(&value[..end]),
            _ if char.is_whitespace() => return without_marks(&value[..at]),
            _ if at > 0 && BETWEEN.contains(&char) => between = Some(at),
            _ => {}
        }
    }
    without_marks(value)
}

/// The length without trailing marks, but never 0: a word that consists only of marks keeps its
/// full length.
fn without_marks(word: &str) -> usize {
    match word.trim_end_matches(AFTER).len() {
        0 => word.len(),
        length => length,
    }
}

/// `password=with spaces;other=..`
fn in_list(value: &str, before: &str) -> Option<usize> {
    let near = line(start_of(value, FAR));
    let is_of_list = before.trim_end().ends_with(';');
    let Some((first, next)) = near.split_once(';') else {
        return is_of_list.then(|| without_marks(&near[..near.find('"').unwrap_or(near.len())]));
    };
    let is_name = |char: char| char.is_alphanumeric() || [' ', '_', '-'].contains(&char);
    let has_name = next.starts_with(is_name) && next.trim_start_matches(is_name).starts_with('=');
    let is_value = (has_name || is_of_list) && !first.contains(['=', '"', '&']);
    is_value.then_some(first.len())
}

/// At most that many bytes, and only whole characters.
pub(super) fn start_of(text: &str, bytes: usize) -> &str {
    let mut ends = (0..=bytes.min(text.len())).rev();
    let end = ends.find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

pub(super) fn line(text: &str) -> &str {
    &text[..text.find(['\n', '\r']).unwrap_or(text.len())]
}

/// A scheme and the credentials after it, with all parameters, on one line.
pub(super) fn credentials(value: &str) -> usize {
    let mut start = 0;
    loop {
        let rest = &value[start..];
        let mut is_quoted = false;
        let length = rest.find(|char: char| {
            is_quoted ^= char == '"';
            !is_quoted && char.is_whitespace()
        });
        let word = &rest[..length.unwrap_or(rest.len())];
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_scheme = start == 0 && word.bytes().all(is_of_name);
        let end = start + word.len();
        let next = value[end..].trim_start_matches([' ', '\t']);
        start = value.len() - next.len();
        let next = &next[..next.find(char::is_whitespace).unwrap_or(next.len())];
        if next.is_empty() || !(is_scheme || word.ends_with(',') || next.contains('=')) {
            return without_marks(&value[..end]);
        }
    }
}

/// Digits that may be a port.
pub(super) fn is_port(value: &str) -> bool {
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let is_end = |next: char| !next.is_alphanumeric() && !['-', '_', '+', '='].contains(&next);
    (1..=5).contains(&digits) && value[digits..].chars().next().is_none_or(is_end)
}

/// Returns whether a value looks random: words of a sentence have no digits and are not as long.
pub(super) fn is_random(value: &str) -> bool {
    let word = value.char_indices().take(32);
    let end = word.clone().find(|(_, char)| char.is_whitespace());
    let last = word.last().map_or(0, |(at, char)| at + char.len_utf8());
    let end = end.map_or(last, |(at, _)| at);
    let word = value[..end].trim_end_matches(AFTER);
    word.len() >= 20 || word.len() >= 6 && word.bytes().any(|byte| byte.is_ascii_digit())
}
