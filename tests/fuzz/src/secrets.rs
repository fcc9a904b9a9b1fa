// SPDX-License-Identifier: MIT OR Apache-2.0
//! The texts of errors, and a secret in each of the places that `without_secrets` documents.

use atomic_breaker_server::redact::without_secrets;

use crate::text;

const SECRET: &str = "hunter2hunter2";
/// One that a port could be taken for.
const DIGITS: &str = "867530942";

/// The names of secrets.
const NAMES: [&str; 30] = [
    "password",
    "db_passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "x-api-key",
    "AccessKey",
    "AccountKey",
    "auth_key",
    "private_key",
    "SharedKey",
    "subscription-key",
    "functions_key",
    "encryption_key",
    "master_key",
    "Signature",
    "X-Amz-Signature",
    "credential",
    "session",
    "PHPSESSID",
    "csrf",
    "xsrf",
    "jwt",
    "pass",
    "auth",
    "sig",
    "pin",
    "otp",
];

/// Whatever surrounds them.
pub(crate) fn without(bytes: &[u8]) {
    let Some(text) = text(bytes) else {
        return;
    };
    let kept = without_secrets(text);
    assert!(
        kept.len() <= text.len() + 64,
        "{} of {}",
        kept.len(),
        text.len()
    );
    let middle = (0..=text.len() / 2)
        .rev()
        .find(|at| text.is_char_boundary(*at));
    let (before, after) = text.split_at(middle.unwrap_or(0));
    let is_in = [SECRET, DIGITS].map(|secret| text.contains(secret));
    if is_in != [false; 2] || text.contains('%') {
        return;
    }
    // All names around next to nothing; another one for each other text, as each takes its time.
    let names = if text.len() < 4 {
        &NAMES[..]
    } else {
        let name = bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>() % NAMES.len();
        &NAMES[name..=name]
    };
    let of_names = names.iter().flat_map(|name| named(name));
    // Those with quotation marks may not come after others, one of which they would close.
    let may_close = before.contains(['"', '\'', '`']);
    let leaks = of_names.chain(PLACES.map(str::to_owned));
    for leak in leaks.filter(|leak| !(may_close && leak.contains('"'))) {
        // On lines of their own.
        let leak = leak.replace("{}", SECRET).replace("{digits}", DIGITS);
        let leak = format!("{before}\n{leak}\n{after}");
        let kept = without_secrets(&leak);
        assert!(
            !kept.contains(SECRET) && !kept.contains(DIGITS),
            "{leak:?}: {kept:?}"
        );
    }
}

/// A secret with a name.
fn named(name: &str) -> [String; 9] {
    [
        format!("{name}={{}}"),
        format!("{name}: {{}}"),
        format!("\"{name}\": \"{{}}\""),
        format!("<{name}>{{}}</{name}>"),
        format!("(\"{name}\", \"{{}}\")"),
        format!("--{name} {{}}"),
        format!("{name}: Some(\"{{}}\")"),
        format!("{name}%3D{{}}"),
        format!("{name}%253D{{}}"),
    ]
}

/// Secrets that are known by their places.
const PLACES: [&str; 22] = [
    "https://me:{}@db.example/x",
    "postgres://me:{}@db.example/x",
    "amqp://me:{digits}@db.example/x",
    "postgres://me:{}",
    "postgres://me:{digits}",
    "me:{}@db.example",
    "http://db.example:80/{}?a=b@c",
    "https://db.example/a?x={}",
    "https://db.example/a#{}",
    "GET /a?x={}",
    "?a={}",
    "no answer for url (https://db.example/{})",
    "Authorization: Bearer {}",
    "Proxy-Authorization: Basic {}",
    "Authorization: Digest username=\"me\", response=\"{}\"",
    "Authorization: Digest username=\"me\" response=\"{}\"",
    "Authorization: AWS4-HMAC-SHA256 Credential=me/2026, SignedHeaders=host, Signature={}",
    "Cookie: a=b; c={}",
    "Set-Cookie: a=b; c={}; Path=/",
    "Bearer {}",
    "password=\"a\"\"{}\"",
    "token: Secret { of: [1, {}] }",
];
