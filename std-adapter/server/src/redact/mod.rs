// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text that is kept or shown: the words of a failure without secrets, and text from outside in a safe form.

mod marks;
mod names;
mod urls;
mod value;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

pub use crate::printable::printable;

use self::value::start_of;
use crate::permit::LastFailure;
use crate::printable::within;

/// The maximum number of bytes that are kept of a failure.
const MAX_BYTES: usize = 256;

/// The part of a text that is read, in bytes: more than is ever kept of it.
const LONGEST: usize = 16 * 1024;

/// The number of times that `%25` may stand for the `%` of another `%3A`.
const DEPTH: usize = 3;

/// A failure that has just happened. Of a longer text 256 bytes are kept; anything that may be secret, such as the query
/// and the password of a URL, is left out, and line ends and other characters that [`printable`] escapes are escaped, so that no
/// error of another program writes lines of its own into a log.
///
/// ```
/// use atomic_breaker_server::redact;
///
/// let text = "no answer from https://bob:pass@api.example/items?api_key=1234: timed out\n";
/// let failure = redact::failure(text);
/// assert_eq!(&*failure.text, r"no answer from https://api.example/items?…: timed out\n");
/// ```
pub fn failure(text: &str) -> LastFailure {
    LastFailure::now(within(MAX_BYTES, without_secrets(text)))
}

/// The words about a failure that has opened a breaker already: if they panic, the caller still gets its response, and the
/// observers the transition.
pub(crate) fn words(why: impl FnOnce() -> String) -> String {
    let said = catch_unwind(AssertUnwindSafe(why));
    said.unwrap_or_else(|_| "failed, and the words about it panicked".to_owned())
}

/// The reason why a successful call opened a breaker: it took too long, measured with the clock of the breaker.
#[cold]
pub fn too_slow(started_ms: u32, now_ms: u32, limit: Option<Duration>) -> String {
    let took = Duration::from_millis(now_ms.wrapping_sub(started_ms).into());
    match limit {
        Some(limit) => format!("too slow: took {took:?}, limit {limit:?}"),
        // The rules were replaced meanwhile.
        None => format!("too slow: took {took:?}"),
    }
}

/// Returns the part of an error's text that may be kept: breakers show it to other callers, histories and pages show it
/// to people. This is the only place where the words of errors become text that is kept.
///
/// | in the text | is left out |
/// |---|---|
/// | `scheme://user:password@host`, also with any marks or spaces in the password, and where it begins like a port; `user:password@host` | user and password |
/// | `scheme://user:password` that was cut, as far as a space, or a quotation mark or bracket that a space or one of `,.:;)]}/` follows | the password |
/// | `http://host:80/path?a=b@c` | port and path, because that may be a password, too |
/// | `?query` and `#fragment` of a URL, `?a=b` and `/path?query` elsewhere | all of it |
/// | ` for url (..)`, which reqwest adds | all of it: it belongs to one caller |
/// | `Authorization: ..`, and anything that has this in its name | scheme and credentials, with all their parameters |
/// | `Cookie: ..`, `Set-Cookie: ..` | the rest of the line |
/// | `password=..`, `x-api-key: ..`, `"token": ".."`, `<secret>..</secret>`, `("pwd", "..")`, `--password ..`, `token: Some("..")` | the value: as far as its quotation marks or brackets go, else up to the next space or name |
/// | `token: ..` in a sentence, where a colon may follow any word | the value, if it has a digit or is long; after `password:` in any case |
/// | `Bearer ..`, `Basic ..` | the next word |
/// | all of these percent-encoded, also twice | the same, and the text is decoded |
/// | what comes after 16 KiB | all of it |
///
/// Names of secrets contain one of `names::SECRET`, in any case and with any marks between their letters. Host, path,
/// port and status stay. Text that has neither such a name nor such a place is not recognised as secret: for example, a
/// token that is part of a path, or a word in a sentence.
///
/// Takes time proportional to the length of the text that is read.
pub fn without_secrets(text: &str) -> String {
    let mut kept = clean(bounded(text));
    let mut encoded = kept.clone();
    for _ in 0..DEPTH {
        let Some(plain) = decoded(&encoded) else {
            break;
        };
        encoded = clean(&plain);
        if encoded != plain {
            kept.clone_from(&encoded);
        }
    }
    kept
}

fn clean(text: &str) -> String {
    names::without_values(&urls::without_users(text))
}

/// Cuts the text, but not in the middle of a line or a word, because half a secret does not look like one.
fn bounded(text: &str) -> &str {
    if text.len() <= LONGEST {
        return text;
    }
    let start = start_of(text, LONGEST);
    let line = start.rfind('\n').filter(|line| *line > LONGEST / 2);
    let word = || start.rfind(char::is_whitespace);
    &start[..line.or_else(word).unwrap_or(start.len())]
}

/// The text with each `%XX` replaced by its character, if that is visible or white space; `None` if there are none.
fn decoded(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        plain.push_str(before);
        let code = after.get(..2).filter(|code| !code.starts_with('+'));
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        let shown = code.and_then(|code| match code {
            b' ' | b'\t' | b'\r' | b'\n' => Some(' '),
            _ => code.is_ascii_graphic().then(|| char::from(code)),
        });
        if let Some(shown) = shown {
            plain.push(shown);
            rest = &after[2..];
        } else {
            plain.push('%');
            rest = after;
        }
    }
    plain.push_str(rest);
    (plain != text).then_some(plain)
}
