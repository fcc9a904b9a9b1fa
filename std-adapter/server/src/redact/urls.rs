// SPDX-License-Identifier: MIT OR Apache-2.0
//! URLs without user, password, query and fragment.

use super::marks::Marks;

/// The greatest distance at which a password with spaces in it is looked for, in characters.
const FAR: usize = 256;

/// The marks that may follow a URL in a sentence.
const ENDS_CLAUSE: [char; 9] = [':', ',', '.', ';', ')', ']', '}', '\'', '!'];

/// The marks that may follow the mark that encloses a URL, besides white space; `/` in an element.
const ENDS_QUOTE: [char; 8] = [':', ',', '.', ';', ')', ']', '}', '/'];

/// Characters that start another value, so they are not part of a user name.
const ENDS_USER: [char; 12] = ['=', ',', ';', '&', '(', '[', '{', '\'', '|', '/', '?', '#'];

/// Schemes whose URLs often have a query.
const WEB: [&str; 4] = ["http", "https", "ws", "wss"];

pub(super) fn without_users(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, found)) = rest.split_once(" for url (") {
        tokens(before, &mut kept);
        // A URL may hold parentheses, but no white space.
        let (url, after) = found.split_at(found.find(char::is_whitespace).unwrap_or(found.len()));
        let end = url.rfind(')').map_or(url.len(), |end| end + 1);
        tokens(&url[end..], &mut kept);
        rest = after;
    }
    tokens(rest, &mut kept);
    kept
}

pub(super) fn ends_token(character: char) -> bool {
    character.is_whitespace() || character.is_control() || "\"`<>\\".contains(character)
}

fn tokens(mut text: &str, kept: &mut String) {
    let mut marks = Marks::default();
    loop {
        let (token, after) = text.split_at(marks.end_of_token(text));
        text = Token::new(token, after).without_users(kept);
        if !token.is_empty() {
            marks.slashes = 0;
        }
        if text.len() == after.len() {
            let Some(end) = text.chars().next() else {
                return;
            };
            kept.push(end);
            text = &text[end.len_utf8()..];
            marks.note(end);
        }
    }
}

/// A URL with what stands around it, up to white space or a mark that no URL has.
struct Token<'a> {
    text: &'a str,
    /// The text that comes after it.
    after: &'a str,
    /// The position of its last `@`.
    last_at: Option<usize>,
}

impl<'a> Token<'a> {
    fn new(text: &'a str, after: &'a str) -> Self {
        Self {
            text,
            after,
            last_at: text.rfind('@'),
        }
    }

    /// Returns the text to read next: the text after this token, unless a password continued there.
    fn without_users(&self, kept: &mut String) -> &'a str {
        let mut at = 0;
        let mut is_url = false;
        loop {
            let rest = &self.text[at..];
            let scheme = rest.find("://");
            let before = &rest[..scheme.unwrap_or(rest.len())];
            let keep = if is_url { keep } else { without_user };
            if let Some(query) = query_of(before, &rest[before.len()..], is_url) {
                keep(&before[..query], kept);
                let query = &rest[query..];
                kept.push_str("?…");
                kept.push_str(&query[query.trim_end_matches(ENDS_CLAUSE).len()..]);
                return self.after;
            }
            let Some(scheme) = scheme else {
                keep(rest, kept);
                return self.after;
            };
            keep(before, kept);
            kept.push_str("://");
            is_url = true;
            match self.host(at + scheme + 3, kept) {
                Host::At(host) => at = host,
                Host::After(text) => return text,
            }
        }
    }

    /// The beginning of the host in a URL whose user or host is at `at`.
    fn host(&self, at: usize, kept: &mut String) -> Host<'a> {
        let rest = &self.text[at..];
        if rest.starts_with("…@") {
            kept.push_str("…@");
            return Host::At(at + "…@".len());
        }
        let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
        let user = authority.rfind('@');
        let Some((name, port)) = authority.split_once(':') else {
            return Host::At(user.map_or(at, |user| at + user + 1));
        };
        if user.is_none() && name.starts_with('[') {
            return Host::At(at);
        }
        let is_port = is_port(port) && !(port.is_empty() && self.goes_on());
        let last_at = self.last_at.filter(|last| *last >= at);
        let is_query = |last| is_port && user.is_none() && self.is_query(at, last, port);
        if last_at.is_some_and(is_query) {
            // What comes before the port is a host, or a user.
            kept.push_str(name);
            kept.push('…');
            let query = rest.find(['?', '#']);
            return Host::At(at + query.unwrap_or(rest.len()));
        }
        let end = match user {
            // A user without a password.
            Some(user) if is_port && !port.contains('@') => Some(at + user),
            // A password may contain characters that should have been encoded.
            _ => last_at,
        };
        let is_port = is_port && user.is_none();
        if let Some(end) = end {
            if user.is_none_or(|user| at + user != end) {
                kept.push_str("…@");
            }
            return Host::At(end + 1);
        }
        let is_last = authority.len() == rest.len();
        if let Some(end) = self.end_of_spaced(is_port, self.is_web(at), is_last) {
            kept.push_str("…@");
            return Host::After(&self.after[end + 1..]);
        }
        if is_port {
            return Host::At(at);
        }
        // The text was cut in the middle of a password.
        kept.push_str(name);
        Host::After(self.after_password())
    }

    /// Returns whether the scheme of the URL whose user or host is at `at` is one of the web.
    fn is_web(&self, at: usize) -> bool {
        let scheme = &self.text[..at - "://".len()];
        WEB.iter().any(|web| scheme.ends_with(web))
    }

    /// Returns whether the last `@` may be part of a query. A password may have the same marks, but rarely in an
    /// address of the web, and with a number at its beginning that may be a port.
    fn is_query(&self, at: usize, last: usize, port: &str) -> bool {
        let query = self.text[at..last].find(['?', '#']);
        let query = query.map_or("", |query| &self.text[at + query..last]);
        self.is_web(at) && !port.is_empty() && query.contains('=')
    }

    /// Returns whether the mark that ends the token is followed by more of a word.
    fn goes_on(&self) -> bool {
        self.after_password().len() != self.after.len()
    }

    /// The text after a password that was cut: such marks may stand within it, too.
    fn after_password(&self) -> &'a str {
        let ends_word = |next: char| next.is_whitespace() || ENDS_QUOTE.contains(&next);
        let is_mark = |next: char| ends_token(next) && !next.is_whitespace() || "'!".contains(next);
        let mut after = self.after;
        loop {
            let word = after.trim_start_matches(is_mark);
            if word.is_empty() || word.starts_with(ends_word) {
                return after;
            }
            after = &word[word.find(ends_token).unwrap_or(word.len())..];
        }
    }

    /// The `@` at the end of a password with spaces. Text that may be a port is treated as a password only if a space follows
    /// it, and then only as far as no mark encloses it; in an address of the web, which rarely has a password, only digits
    /// that are followed by no more than the words of one clause.
    fn end_of_spaced(&self, is_port: bool, is_web: bool, is_last: bool) -> Option<usize> {
        let near = self.after.char_indices().nth(FAR);
        let near = near.map_or(self.after, |(end, _)| &self.after[..end]);
        let line = &near[..near.find(['\n', '\r']).unwrap_or(near.len())];
        if !is_port {
            return line.rfind('@');
        }
        let is_cut = is_last && self.text.ends_with(|last: char| last.is_ascii_digit());
        let is_mark = |next: char| ends_token(next) && !next.is_whitespace();
        let line = &line[..line.find(is_mark).unwrap_or(line.len())];
        let words = line.starts_with(' ') && (is_cut || !is_web);
        let clause = if is_web {
            end_of_clause(line)
        } else {
            line.len()
        };
        line[..clause].rfind('@').filter(|_| words)
    }
}

/// The length of the words up to a mark that ends a clause.
fn end_of_clause(line: &str) -> usize {
    let mut marks = line.match_indices(ENDS_CLAUSE);
    let is_end = |(at, mark): &(usize, &str)| {
        let after = &line[at + mark.len()..];
        after.starts_with(char::is_whitespace)
    };
    marks.find(is_end).map_or(line.len(), |(at, _)| at)
}

enum Host<'a> {
    At(usize),
    /// Nothing of the token is left, and this text comes next.
    After(&'a str),
}

/// Returns whether this may follow the colon after a host: a port, and possibly other hosts.
fn is_port(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[digits..];
    digits <= 5 && (rest.is_empty() || rest.starts_with(ENDS_CLAUSE) || rest.starts_with('|'))
}

/// The beginning of a query in `text`, which `more` follows, if there is one.
fn query_of(text: &str, more: &str, is_url: bool) -> Option<usize> {
    if is_url {
        return text.find(['?', '#']);
    }
    let (before, query) = text.split_once('?')?;
    let is_query = query.contains('=') || more.contains('=') || before.contains('/');
    (is_query && !(query.is_empty() && more.is_empty())).then_some(before.len())
}

fn keep(text: &str, kept: &mut String) {
    kept.push_str(text);
}

/// Text without a scheme: `user:password@host`.
fn without_user(text: &str, kept: &mut String) {
    let host = text.rfind('@');
    let password = host.and_then(|host| text[..host].find(':'));
    let (Some(host), Some(password)) = (host, password) else {
        kept.push_str(text);
        return;
    };
    let user = text[..password].rfind(ENDS_USER).map_or(0, |end| end + 1);
    kept.push_str(&text[..user]);
    kept.push_str("…@");
    kept.push_str(&text[host + 1..]);
}
