// SPDX-License-Identifier: MIT OR Apache-2.0
//! The description of a failure, which a breaker keeps and shows to other callers, contains no secrets of the caller
//! that failed.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use atomic_breaker_http::{
    Config, Failure, Guard, KeyedObserver, Registry, ServiceError, WithCauses, breaker,
};
use atomic_breaker_server::{AnyPermit, Present, Resource, Transition, redact};

use crate::support::Random;

const ONCE: Config = Config::new().consecutive_failures(1);

const TEXTS: [(&str, &str); 16] = [
    (
        "https://bob:S3CR3T@api.example/items",
        "https://api.example/items",
    ),
    (
        "GET https://a.example/x?api_key=S3CR3T failed",
        "GET https://a.example/x?… failed",
    ),
    (
        "(https://a.example/x#S3CR3T): reset",
        "(https://a.example/x?…): reset",
    ),
    (
        "https://a.example?S3CR3T: timed out",
        "https://a.example?…: timed out",
    ),
    (
        "postgres://u:S3CR3T@db:5432/jobs: refused",
        "postgres://db:5432/jobs: refused",
    ),
    ("postgres://u:S3/CR3T@db/jobs", "postgres://…@db/jobs"),
    ("redis://:S3CR3T@[::1]:6379/0", "redis://[::1]:6379/0"),
    (
        "no such path: /x?key=S3CR3T, sorry",
        "no such path: /x?…, sorry",
    ),
    (
        "host=db user=u password=S3CR3T dbname=x",
        "host=db user=u password=… dbname=x",
    ),
    ("a=1&access_token=S3CR3T&b=2", "a=1&access_token=…&b=2"),
    (
        "authorization: Bearer S3CR3T was rejected",
        "authorization: … was rejected",
    ),
    ("x-api-key: S3CR3T is unknown", "x-api-key: … is unknown"),
    (
        "error sending request for url (https://a.example/alice?k=S3CR3T)",
        "error sending request",
    ),
    (
        "a for url (http://a/S3CR3T): b for url (http://b/S3CR3T): c",
        "a: b: c",
    ),
    (
        "[https://a.example/?x=S3CR3T]\nhttps://u:S3CR3T@b",
        "[https://a.example/?…]\nhttps://b",
    ),
    (
        "why? = because: connection reset (os error 104)",
        "why? = because: connection reset (os error 104)",
    ),
];

#[test]
fn words_of_a_failure_hold_no_query_no_password_and_no_key() {
    for (text, expected) in TEXTS {
        // Nor does it begin a line of its own.
        let expected = &expected.replace('\n', "\\n");
        assert_eq!(&*redact::failure(text).text, expected);
        let again = redact::failure(expected);
        assert_eq!(&*again.text, expected, "once more changes nothing");
    }
}

/// Secrets that are neither in a URL with a scheme nor in `name=value` without spaces.
const OTHER_TEXTS: [(&str, &str); 24] = [
    (
        r#"400: {"password":"S3CR3T","a":1}"#,
        r#"400: {"password":…,"a":1}"#,
    ),
    (
        r#"{"client_secret": "S3CR3T", "a": 1}"#,
        r#"{"client_secret": …, "a": 1}"#,
    ),
    (
        r#"{"token":"S3 CR3T, S3CR3T", "a":1}"#,
        r#"{"token":…, "a":1}"#,
    ),
    (r#"{\"token\":\"S3CR3T\"}"#, r#"{\"token\":…}"#),
    (
        r#"{"authorization": "Bearer S3CR3T"}"#,
        r#"{"authorization": …}"#,
    ),
    ("x-api-key:S3CR3T is unknown", "x-api-key:… is unknown"),
    (
        "user = u password = S3CR3T dbname = x",
        "user = u password = … dbname = x",
    ),
    ("password='S3 CR3T S3CR3T' dbname=x", "password=… dbname=x"),
    ("dsn=password=S3CR3T;host=db", "dsn=password=…;host=db"),
    (r#"password="S3'CR3T" dbname=x"#, "password=… dbname=x"),
    ("password=S3:CR3T@S3CR3T", "password=…"),
    ("dsn=bob:S3CR3T@db/x", "dsn=…@db/x"),
    ("bob:S3CR3T@db:5432: refused", "…@db:5432: refused"),
    (r"https:\/\/bob:S3CR3T@db\/x", r"https:\/\/…@db\/x"),
    (
        "postgres://u:S3(CR3T@db/x: refused",
        "postgres://db/x: refused",
    ),
    ("postgres://u:S3CR3T", "postgres://u"),
    (
        "error sending request for url (https://a.example/Users('x')/S3CR3T): reset",
        "error sending request: reset",
    ),
    ("error for url (https://a.example/(S3CR3T", "error"),
    // None of this is secret.
    ("http://db:5432: refused", "http://db:5432: refused"),
    (
        "mongodb://a:1,b:2/x: refused",
        "mongodb://a:1,b:2/x: refused",
    ),
    ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
    ("secret-store:8080: refused", "secret-store:8080: refused"),
    (
        "my_token::Error: invalid token: x",
        "my_token::Error: invalid token: x",
    ),
    ("git@github.com:a/b.git", "git@github.com:a/b.git"),
];

#[test]
fn values_in_json_and_after_spaces_and_users_without_a_scheme_are_left_out() {
    for (text, expected) in OTHER_TEXTS {
        assert_eq!(&*redact::failure(text).text, expected, "{text}");
    }
}

#[test]
fn no_text_causes_a_panic_or_shows_a_secret_of_a_url() {
    let mut random = Random::new();
    let parts = [
        "://",
        "@",
        "?",
        "#",
        ":",
        "/",
        "=",
        "[",
        "]",
        " ",
        "a",
        "é",
        "…",
        "token",
        "Bearer",
        "&",
        "\"",
        "'",
        " for url (",
        ")",
        ";",
        ",",
    ];
    for _ in 0..20_000 {
        let length = random.below(12);
        let mut text: String = (0..length)
            .map(|_| parts[random.below(parts.len())])
            .collect();
        let _ = redact::failure(&text);
        text.push_str(" https://u:S3CR3T@a.example/?S3CR3T");
        let kept = redact::failure(&text).text;
        assert!(!kept.contains("S3CR3T"), "{text:?}: {kept:?}");
    }
}

/// The error of bob's call.
fn fails() -> io::Error {
    io::Error::other("no answer from https://bob:S3CR3T@a.example/?api_key=S3CR3T")
}

#[test]
fn a_rejection_shows_nothing_of_anothers_url() {
    let server = Resource::new(breaker(ONCE));
    assert!(server.call(|| Err::<(), _>(fails())).is_err());
    let rejected = server.call(|| Ok::<_, io::Error>(())).unwrap_err();
    assert!(matches!(rejected, ServiceError::Rejected(_)));
    for text in [rejected.to_string(), format!("{rejected:?}")] {
        assert!(
            text.contains("a.example") && !text.contains("S3CR3T"),
            "{text}"
        );
    }
    assert!(!WithCauses(fails()).to_string().contains("S3CR3T"));
}

/// The events that logs and pages are notified of.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl KeyedObserver<u8> for Told {
    fn opened(&self, _: &u8, _: &Transition, _: Present<'_>, words: &str) {
        self.0.lock().unwrap().push(words.to_owned());
    }
}

#[test]
fn nor_do_logs_and_pages() {
    let told = Told::default();
    let hosts = Registry::builder(ONCE)
        .observer(told.clone())
        .build()
        .unwrap();
    let permit = hosts.of(7).acquire().unwrap();
    permit.report_because(Failure::new().into(), || fails().to_string());
    let words = told.0.lock().unwrap();
    assert_eq!(*words, ["no answer from https://a.example/?…"]);
    let entry = hosts.entry(&7).unwrap().last_failure.unwrap();
    assert_eq!(&*entry.text, words[0]);
}

#[test]
fn what_follows_a_long_secret_is_kept() {
    let key = "S3CR3T".repeat(1_000);
    let text = format!("https://a.example/?key={key}: connection refused");
    let kept = WithCauses(io::Error::other(text)).to_string();
    assert_eq!(kept, "https://a.example/?…: connection refused");
    let text = format!("postgres://bob:{key}@db/jobs: refused");
    let kept = WithCauses(io::Error::other(text)).to_string();
    assert_eq!(kept, "postgres://db/jobs: refused");
}

/// An error that would show megabytes, piece by piece.
#[derive(Debug)]
struct Endless(AtomicUsize);

impl fmt::Display for Endless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for _ in 0..10_000 {
            self.0.fetch_add(1, Relaxed);
            f.write_str(&"no ".repeat(100))?;
        }
        Ok(())
    }
}

impl Error for Endless {}

#[test]
fn a_text_without_an_end_is_read_no_further_than_needed() {
    let error = WithCauses(Endless(AtomicUsize::new(0)));
    assert_eq!(error.to_string().len(), 512);
    let pieces = error.0.0.load(Relaxed);
    assert!(pieces < 100, "{pieces} of 300 bytes");
}

#[test]
fn a_long_text_is_cut_once_it_is_clean() {
    // Wherever in the password the cut would fall.
    for before in 440..512 {
        let padding = "x".repeat(before);
        let text = format!("{padding} https://bob:my S3CR3T pass@a.example/ is down");
        let kept = WithCauses(io::Error::other(text)).to_string();
        assert!(!kept.contains("S3CR"), "{kept}");
        assert!(kept.len() <= 512, "{}", kept.len());
    }
}
