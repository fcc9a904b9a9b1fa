//! The words of a failure, without what nobody else may read.

use std::time::Duration;

/// Names of values that are secret, as parts of a name.
const SECRET: [&str; 10] = [
    "password",
    "passwd",
    "pwd",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "signature",
    "authorization",
];

/// Why a call that succeeded opened a breaker: it took too long. By the clock of the breaker.
#[cold]
pub(crate) fn too_slow(started_ms: u32, now_ms: u32, limit: Option<Duration>) -> String {
    let took = Duration::from_millis(now_ms.wrapping_sub(started_ms).into());
    match limit {
        Some(limit) => format!("too slow: took {took:?}, limit {limit:?}"),
        // Rules were replaced meanwhile.
        None => format!("too slow: took {took:?}"),
    }
}

/// What is kept of an error: breakers show it to other callers, histories and pages to people. Without
///
/// - user name and password, query and fragment of each URL, also without its scheme, and the query of a path alone;
/// - the whole URL where reqwest adds it to its texts, as it is that of one caller;
/// - values whose names say that they are secret (`password=..`, `"token": ".."`, `x-api-key: ..`), and what follows
///   `Bearer` and `Basic`.
///
/// The only place where words of errors become text that stays.
pub(crate) fn without_secrets(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, found)) = rest.split_once(" for url (") {
        plain_and_urls(before, &mut kept);
        // A URL may hold parentheses, but no white space.
        let (url, after) = found.split_at(found.find(char::is_whitespace).unwrap_or(found.len()));
        let end = url.rfind(')').map_or(url.len(), |end| end + 1);
        plain_and_urls(&url[end..], &mut kept);
        rest = after;
    }
    plain_and_urls(rest, &mut kept);
    kept
}

fn plain_and_urls(mut text: &str, kept: &mut String) {
    while let Some((before, after)) = text.split_once("://") {
        plain(before, kept);
        kept.push_str("://");
        let (url, rest) = without_user(after);
        without_query(url, kept);
        text = rest;
    }
    plain(text, kept);
}

fn ends_url(character: char) -> bool {
    character.is_whitespace() || character.is_control() || "\"'`<>(){}|\\".contains(character)
}

/// The URL that a text begins with, and what comes after it. Without user name and password, also where these hold what
/// should have been encoded; and without the password alone, if the text ends in it.
fn without_user(text: &str) -> (&str, &str) {
    let (url, rest) = text.split_at(text.find(ends_url).unwrap_or(text.len()));
    let authority = &url[..url.find(['/', '?', '#']).unwrap_or(url.len())];
    if let Some((user, _)) = authority.rsplit_once('@') {
        return (&url[user.len() + 1..], rest);
    }
    let Some((host, port)) = authority
        .split_once(':')
        .filter(|_| !authority.starts_with('['))
    else {
        return (url, rest);
    };
    let port = port.trim_end_matches(ENDS_CLAUSE);
    if port.bytes().all(|byte| byte.is_ascii_digit()) {
        return (url, rest);
    }
    if let Some((_, after)) = url.rsplit_once('@') {
        return (after, rest);
    }
    // Not farther than a password is long, so that a long text takes no longer than its length.
    let near = text.char_indices().nth(256);
    let near = near.map_or(text, |(end, _)| &text[..end]);
    let word = &near[..near.find(char::is_whitespace).unwrap_or(near.len())];
    if let Some((user, _)) = word.rsplit_once('@') {
        let after = &text[user.len() + 1..];
        return after.split_at(after.find(ends_url).unwrap_or(after.len()));
    }
    // Several hosts have several ports.
    let is_port = port.starts_with(|first: char| first.is_ascii_digit());
    (if is_port { url } else { host }, rest)
}

/// What may follow a URL in a sentence.
const ENDS_CLAUSE: [char; 4] = [':', ',', '.', ';'];

fn without_query(url: &str, kept: &mut String) {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    kept.push_str(&url[..end]);
    if end < url.len() {
        kept.push_str("?…");
        let last = url.chars().last();
        kept.extend(last.filter(|last| ENDS_CLAUSE.contains(last)));
    }
}

/// What is left out of the words that follow.
#[derive(Clone, Copy)]
enum Hidden {
    Nothing,
    Next,
    /// Up to the end of what is in these quotation marks.
    Until(char),
}

/// Text between URLs, word by word.
fn plain(text: &str, kept: &mut String) {
    let mut hidden = Hidden::Nothing;
    let mut before = "";
    for word in text.split_inclusive(|character: char| character.is_whitespace()) {
        let (word, space) = word.split_at(word.trim_end().len());
        if word.is_empty() {
            kept.push_str(space);
            continue;
        }
        hidden = match hidden {
            Hidden::Until(mark) => match word.split_once(mark) {
                Some((_, after)) => {
                    kept.push_str(after);
                    Hidden::Nothing
                }
                None => continue,
            },
            Hidden::Next if is_scheme(word) || word == "=" => {
                kept.push_str(word);
                Hidden::Next
            }
            Hidden::Next => {
                kept.push('…');
                in_quotes(word)
            }
            Hidden::Nothing if is_scheme(word) => {
                kept.push_str(word);
                Hidden::Next
            }
            Hidden::Nothing if word == "=" && is_secret(before) => {
                kept.push_str(word);
                Hidden::Next
            }
            Hidden::Nothing => plain_word(word, kept),
        };
        before = word;
        // That within quotation marks is left out as well.
        if !matches!(hidden, Hidden::Until(_)) {
            kept.push_str(space);
        }
    }
}

fn is_scheme(word: &str) -> bool {
    let word = word.trim_start_matches(QUOTES);
    word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic")
}

/// A secret that begins so may have its end in a later word.
fn in_quotes(value: &str) -> Hidden {
    match value.chars().next() {
        Some(mark) if QUOTES.contains(&mark) && !value[1..].contains(mark) => Hidden::Until(mark),
        _ => Hidden::Nothing,
    }
}

const QUOTES: [char; 2] = ['"', '\''];
const ENDS_VALUE: [char; 4] = ['&', ';', ',', '}'];

fn plain_word(word: &str, kept: &mut String) -> Hidden {
    if let Some((before, query)) = word.split_once('?') {
        if query.contains('=') {
            kept.push_str(before);
            without_query(&word[before.len()..], kept);
            return Hidden::Nothing;
        }
    }
    let host_at = word.rfind('@').map_or(0, |at| at + 1);
    let mut rest = word;
    while let Some(at) = rest.find(['=', ':']) {
        let (name, value) = rest.split_at(at);
        let (separator, value) = value.split_at(1);
        let (before, name) = name.split_at(name.rfind(ENDS_VALUE).map_or(0, |at| at + 1));
        kept.push_str(before);
        rest = value;
        let is_secret = is_name_of_secret(name, separator, value);
        if separator == ":" && !is_secret && host_at > word.len() - value.len() {
            // User name and password, of a URL without its scheme.
            kept.push_str("…@");
            rest = &word[host_at..];
            continue;
        }
        kept.extend([name, separator]);
        if !is_secret {
            continue;
        }
        if value.is_empty() {
            return Hidden::Next;
        }
        let end = match (in_quotes(value), value.chars().next()) {
            (until @ Hidden::Until(_), _) => {
                kept.push('…');
                return until;
            }
            (_, Some(mark)) if QUOTES.contains(&mark) => value[1..].find(mark).map(|end| end + 2),
            _ => value.find(ENDS_VALUE),
        };
        let end = end.unwrap_or(value.len());
        if end > 0 {
            kept.push('…');
        }
        rest = &value[end..];
    }
    kept.push_str(rest);
    Hidden::Nothing
}

/// In a sentence a colon comes after any word, so the name must be one in quotation marks or of a header.
fn is_name_of_secret(name: &str, separator: &str, value: &str) -> bool {
    // Such as `secret-store:8080` and `my_token::Error`.
    let is_other = || {
        value.starts_with(':')
            || (1..=5).contains(&value.trim_end_matches(ENDS_CLAUSE).len())
                && value.starts_with(|first: char| first.is_ascii_digit())
    };
    let is_name = match separator {
        "=" => true,
        _ if name.ends_with(QUOTES) => true,
        _ => {
            (name.contains(['-', '_']) || name.eq_ignore_ascii_case("authorization")) && !is_other()
        }
    };
    is_name && is_secret(name)
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|secret| name.contains(secret))
}
