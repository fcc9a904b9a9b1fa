// SPDX-License-Identifier: MIT OR Apache-2.0
//! The places of secrets in texts, and the ways in which these are written into others.

use super::Random;

/// No text below has these letters, so what shows one of them shows a secret.
const LETTERS: &str = "QXZJK";

/// The characters of a password, besides letters.
const MARKS: &str = "0123456789!#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\"";
const TOKEN: &str = "QXZJK0123456789QXZJK-._~+/";

pub(super) struct Leak {
    pub(super) kind: &'static str,
    pub(super) text: String,
    pub(super) secret: String,
}

/// Returns whether a text shows part of a secret.
pub(super) fn shows(left: &str, secret: &str) -> bool {
    let digits = secret.split(|char: char| !char.is_ascii_digit());
    left.contains(|char| LETTERS.contains(char))
        || digits
            .filter(|digits| digits.len() > 3)
            .any(|it| left.contains(it))
}

/// Digits and marks in any order, with letters among them.
fn password(random: &mut Random) -> String {
    let begin = match random.below(4) {
        0 => String::new(),
        1 => random.chars("0123456789", 1, 6),
        _ => random.chars(MARKS, 1, 8),
    };
    let end = random.chars(MARKS, 0, 3);
    format!("{begin}{}{end}", random.chars(LETTERS, 1, 4))
}

/// Words, of which the first may be a port; where a URL rarely has a password, no mark in it ends a clause.
fn spaced(random: &mut Random, is_web: bool) -> String {
    let marks = if is_web {
        "QXZJK0123456789#$%&(*+-=?[^_{|~"
    } else {
        "QXZJK0123456789#$%&(*+-=?[^_{|~!'),./:;]}"
    };
    let first = random.chars("0123456789", 1, 5);
    let words: Vec<_> = (0..=random.below(3))
        .map(|_| random.chars(marks, 0, 5))
        .collect();
    format!("{first} {}{}", words.join(" "), random.chars(LETTERS, 1, 4))
}

fn token(random: &mut Random) -> String {
    let first = random.chars(LETTERS, 1, 1);
    first + &random.chars(TOKEN, 7, 30) + &random.chars(LETTERS, 1, 1)
}

/// With each `\` and quotation mark escaped.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// A URL with a password; with spaces in it, if `is_spaced`.
fn url(random: &mut Random, is_spaced: bool) -> (String, String) {
    let scheme = random.of(&[
        "http",
        "https",
        "amqp",
        "postgres",
        "redis",
        "mysql",
        "mongodb+srv",
        "wss",
    ]);
    let is_web = ["http", "https", "wss"].contains(&scheme);
    let password = if is_spaced {
        spaced(random, is_web)
    } else {
        password(random)
    };
    let user = random.of(&["bob", "", "svc.user", "b-7"]);
    let host = random.of(&["db", "h.example", "10.0.0.1:443", "[::1]:80", "a:1,b:2"]);
    let path = random.of(&["", "/", "/x", "/x/y.html", "/x?ssl=1", "/?a#b"]);
    (
        format!("{scheme}://{user}:{password}@{host}{path}"),
        password,
    )
}

/// A secret where one is expected.
fn leak(random: &mut Random) -> (&'static str, String, String) {
    let name = random.of(&[
        "password",
        "api_key",
        "x-api-key",
        "client_secret",
        "accessToken",
        "db.passwd",
    ]);
    match random.below(16) {
        0..4 => {
            let (text, secret) = url(random, false);
            ("a URL", text, secret)
        }
        14 => {
            let (text, secret) = url(random, true);
            ("a URL with spaces", text, secret)
        }
        4 => {
            let secret = token(random);
            let host = random.of(&["https://h/x", "http://h:80", "/x", "https://[::1]:80/x/y"]);
            let mark = random.of(&["?q=", "?a=1&q=", "?"]);
            ("a query", format!("{host}{mark}{secret}"), secret)
        }
        5 => {
            let secret = password(random);
            let mark = random.of(&[":", ": ", "=", " = ", " : "]);
            let text = format!("{{\"a\":1,\"{name}\"{mark}{},\"b\":2}}", quoted(&secret));
            ("a quoted value", text, secret)
        }
        6 => {
            let secret = password(random);
            let text = format!(
                "Config {{ a: 1, password: Some({}), b: 2 }}",
                quoted(&secret)
            );
            ("a field", text, secret)
        }
        7 => {
            let secret = password(random);
            let open = random.of(&["(", "["]);
            let text = format!("[{open}\"{name}\", {}), (\"b\", \"2\")]", quoted(&secret));
            ("a pair", text, secret)
        }
        8 => {
            let secret = token(random);
            let mark = random.of(&["=", ": "]);
            ("a value", format!("{name}{mark}{secret}"), secret)
        }
        9 => {
            let secret = token(random);
            (
                "an option",
                format!("run --{name} {secret} --host h"),
                secret,
            )
        }
        10 => {
            let secret = token(random);
            let scheme = random.of(&["Bearer", "Basic", "bearer", "Token"]);
            (
                "a header",
                format!("authorization: {scheme} {secret}"),
                secret,
            )
        }
        11 => {
            let secret = token(random);
            let scheme = random.of(&["Bearer", "Basic", "bearer"]);
            ("credentials", format!("refused {scheme} {secret}"), secret)
        }
        12 => {
            // An `@` would end it, and what looks like a port stays.
            let marks = random.chars("QXZJK0123456789!#$%&'*+-=?^_`|~\"<>\\", 0, 12);
            let secret = format!("Q{marks}X");
            ("a URL that was cut", format!("amqp://bob:{secret}"), secret)
        }
        13 => {
            let secret = token(random);
            ("a cookie", format!("Cookie: a=1; b={secret}; c=2"), secret)
        }
        _ => {
            let secret = token(random);
            (
                "an element",
                format!("<a><password>{secret}</password><b>2</b></a>"),
                secret,
            )
        }
    }
}

fn percent(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// A text with a secret in it, within another.
pub(super) fn draw(random: &mut Random) -> Leak {
    let (kind, text, secret) = leak(random);
    let text = match random.below(10) {
        0 => text,
        1 => format!("cannot reach {text}"),
        2 => format!("500: {text}\nfor the second time"),
        3 => format!("error ({text})"),
        4 => format!("Error {{ status: 500, text: {} }}", quoted(&text)),
        5 => format!(
            "Custom {{ error: {} }}",
            quoted(&format!("Error {{ text: {} }}", quoted(&text)))
        ),
        6 => format!("{{\"error\":{},\"status\":500}}", quoted(&text)),
        7 => percent(&text),
        8 => format!("failed: {}", percent(&percent(&text))),
        _ => format!(
            "{}: {text}",
            random.of(&["GET", "connect", "could not send"])
        ),
    };
    Leak { kind, text, secret }
}
