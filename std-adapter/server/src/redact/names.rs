// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values whose names say that they are secret.

use super::value;

/// Parts of such names: only letters and digits, in lower case.
pub(super) const SECRET: [&str; 25] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "accountkey",
    "authkey",
    "privatekey",
    "sharedkey",
    "subscriptionkey",
    "functionskey",
    "encryptionkey",
    "masterkey",
    "signature",
    "authorization",
    "credential",
    "cookie",
    "session",
    "sessid",
    "csrf",
    "xsrf",
    "jwt",
];

/// Names of secrets that may also be part of harmless names.
const SECRET_ALONE: [&str; 5] = ["pass", "auth", "sig", "pin", "otp"];

/// After these, a colon is not followed by a word of a sentence.
const PASSWORD: [&str; 4] = ["password", "passwd", "passphrase", "pwd"];

const HARMLESS: [&str; 7] = ["null", "none", "true", "false", "yes", "no", "…"];

/// Words that follow the name of a scheme in a sentence.
const AFTER_SCHEME: [&str; 5] = [
    "auth",
    "authentication",
    "authorization",
    "token",
    "credentials",
];

/// The greatest distance before its end at which the beginning of a name is looked for, in characters.
const LONGEST_NAME: usize = 64;

pub(super) fn without_values(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let (mut done, mut from) = (0, 0);
    let separates = |mark: char| mark.is_whitespace() || ['=', ':', '>', ','].contains(&mark);
    while let Some(found) = text[from..].find(separates) {
        let at = from + found;
        // Includes the text that is left out: after an unmatched quotation mark, it may be the name of what follows.
        let (before, rest) = (&text[..at], &text[at..]);
        let mark = rest.chars().next().unwrap_or(' ');
        from = at + mark.len_utf8();
        if let Some((start, length)) = secret(before, mark, rest) {
            kept.push_str(&text[done..at + start]);
            kept.push('…');
            done = at + start + length;
            from = done;
        }
    }
    kept.push_str(&text[done..]);
    kept
}

/// The beginning of the secret after this mark, and its length.
fn secret(before: &str, mark: char, rest: &str) -> Option<(usize, usize)> {
    if rest.starts_with("::") || rest.starts_with("://") {
        return None;
    }
    if mark == '>' {
        return element(before, &rest[1..]).map(|length| (1, length));
    }
    if ['\n', '\r'].contains(&mark) {
        return None;
    }
    let name = Name::before(before, !mark.is_whitespace())?;
    let start = value_at(rest, mark, name.is_quoted);
    let value = &rest[start..];
    let length = match mark {
        ',' => name.of_pair(value),
        ':' | '=' => name.of_value(value, mark == ':', start > 1),
        _ => name.of_word(value),
    };
    length
        .filter(|length| *length > 0)
        .map(|length| (start, length))
}

/// The position after the mark and the space that follows it: on the same line, unless the name is in quotation marks.
fn value_at(rest: &str, mark: char, is_quoted: bool) -> usize {
    let marks = match mark {
        '=' => rest
            .bytes()
            .take(3)
            .take_while(|mark| b"=>".contains(mark))
            .count(),
        ':' if rest.starts_with(":=") => 2,
        _ => mark.len_utf8(),
    };
    let is_space =
        |next: char| next.is_whitespace() && (is_quoted || !['\n', '\r'].contains(&next));
    rest.len() - rest[marks..].trim_start_matches(is_space).len()
}

/// The name before a mark.
struct Name<'a> {
    text: &'a str,
    /// Its letters and digits, in lower case.
    letters: String,
    is_quoted: bool,
    /// The text before the name, and before its quotation mark.
    before: &'a str,
}

impl<'a> Name<'a> {
    fn before(text: &'a str, may_be_away: bool) -> Option<Self> {
        let mut named = text;
        // Removes only a few spaces, so that many of them do not take quadratic time.
        for _ in 0..if may_be_away { 4 } else { 0 } {
            named = named.strip_suffix([' ', '\t']).unwrap_or(named);
        }
        let unquoted = named.strip_suffix(value::QUOTES);
        let is_quoted = unquoted.is_some();
        let named = unquoted.unwrap_or(named);
        let named = named.trim_end_matches('\\');
        let ends = |char: char| {
            value::QUOTES.contains(&char)
                || char == '\\'
                || !is_quoted && (char.is_whitespace() || "=:,;&?#/(){}[]<>|…".contains(char))
        };
        let mut back = named.char_indices().rev().zip(0..);
        let start = back.find(|((_, char), far)| ends(*char) || *far == LONGEST_NAME);
        let start = start.map_or(0, |((at, char), _)| at + char.len_utf8());
        let text = &named[start..];
        let letters = letters(text);
        (!letters.is_empty()).then(|| Self {
            text,
            letters,
            is_quoted,
            before: named[..start].trim_end_matches(['\\', '"', '\'', '`']),
        })
    }

    /// `("name", "value")`
    fn of_pair(&self, value: &str) -> Option<usize> {
        let is_pair = self.is_quoted && self.before.ends_with(['(', '[']);
        let is_text = value.trim_start_matches('\\').starts_with(value::QUOTES);
        let is_secret = is_pair && is_text && is_secret(&self.letters);
        is_secret.then(|| value::length(value, self.before))
    }

    /// `Bearer value`, `--name value`
    fn of_word(&self, value: &str) -> Option<usize> {
        let is_scheme = ["bearer", "basic"].contains(&&*self.letters);
        let is_option = self.text.starts_with("--") && is_secret(&self.letters);
        let is_other = value.starts_with(['=', ':']) || is_option && value.starts_with('-');
        let length = || value::length(value, "");
        let is_word = || AFTER_SCHEME.contains(&&*letters(&value[..length()]));
        ((is_scheme && !is_word() || is_option) && !is_other).then(length)
    }

    /// `name: value`, `name=value`
    fn of_value(&self, value: &str, is_colon: bool, is_spaced: bool) -> Option<usize> {
        if !is_secret(&self.letters) && self.letters != "bearer" {
            return None;
        }
        if is_colon && !self.is_quoted && !self.is_name(value, is_spaced) {
            return None;
        }
        let is_cookie = ["cookie", "setcookie"].contains(&&*self.letters);
        let length = if is_cookie && !self.is_quoted {
            // What looks like marks around a value may be around its beginning only.
            let marked = value::is_open(value).then(|| value::length(value, self.before));
            value::line(value).len().max(marked.unwrap_or(0))
        } else if value::is_open(value) {
            value::length(value, self.before)
        } else if is_cookie {
            value::line(value).len()
        } else if self.letters.contains("authorization") {
            value::credentials(value)
        } else {
            value::length(value, self.before)
        };
        (!is_harmless(&value[..length])).then_some(length)
    }

    /// In a sentence a colon may follow any word, and after a host its port.
    fn is_name(&self, value: &str, is_spaced: bool) -> bool {
        let name = &*self.letters;
        let has_end = |parts: &[&str]| parts.iter().any(|part| name.ends_with(part));
        let is_compound = self.text.contains(['-', '_'])
            || self
                .text
                .chars()
                .skip(1)
                .any(|char| char.is_ascii_uppercase());
        PASSWORD.contains(&name)
            || (is_spaced || !value::is_port(value))
                && (has_end(&PASSWORD)
                    || has_end(&["authorization", "cookie"])
                    || is_compound && has_end(&SECRET)
                    || value::is_open(value)
                    || value::is_random(value))
    }
}

/// `<name ..>value</name>`
fn element(before: &str, value: &str) -> Option<usize> {
    let near = before.char_indices().rev().take(128);
    let start = near.into_iter().find(|(_, char)| *char == '<')?.0;
    let tag = before[start + 1..].split_whitespace().next()?;
    let name = tag.rsplit(':').next().unwrap_or(tag);
    if tag.starts_with('/') || !is_secret(&letters(name)) {
        return None;
    }
    match value.split_once('<') {
        Some((value, end)) if end.starts_with('/') => Some(value.len()),
        // Cut, and not the parameter of a type.
        None if value.starts_with(char::is_alphanumeric) => Some(value.len()),
        _ => None,
    }
}

/// A value that is useful and reveals no secret, such as a mark that a parser did not expect.
fn is_harmless(value: &str) -> bool {
    let is_mark = value.starts_with('`') && !value.contains(char::is_alphanumeric);
    is_mark || HARMLESS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

fn letters(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

fn is_secret(letters: &str) -> bool {
    SECRET_ALONE.contains(&letters) || SECRET.iter().any(|part| letters.contains(part))
}
