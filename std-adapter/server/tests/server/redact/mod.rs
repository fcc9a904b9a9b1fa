// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts with known secrets, generated at random, and the texts of ordinary errors.
//!
//! | file | what |
//! |---|---|
//! | `rules` | short texts: what is left of each, by the rule that it shows |
//! | `shown` | the limits of what is kept of a failure or a name |
//! | `texts` | where secrets appear in texts, and how these are written into others |
//! | `ordinary` | what errors say that contain no secret |
//!
//! `BREAKER_SEED` repeats the texts of a run.

mod ordinary;
mod rules;
mod shown;
mod texts;

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use atomic_breaker_server::redact::without_secrets;

use texts::Leak;

const TEXTS: u32 = 20_000;

/// Xorshift64* (Vigna, An experimental exploration of Marsaglia's xorshift generators, 2016).
struct Random(u64);

impl Random {
    /// Prints its seed, which repeats the run.
    fn new() -> Self {
        let given = std::env::var("BREAKER_SEED").ok();
        let seed = given.map_or_else(
            || {
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap()
                    .as_nanos() as u64
            },
            |seed| seed.parse().expect("BREAKER_SEED is a number"),
        );
        println!("BREAKER_SEED={seed}");
        Self(seed | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn chars(&mut self, of: &str, least: usize, most: usize) -> String {
        let of: Vec<_> = of.chars().collect();
        let length = least + self.below(most + 1 - least);
        (0..length).map(|_| self.of(&of)).collect()
    }
}

#[test]
fn no_secret_of_a_random_text_is_kept() {
    let mut random = Random::new();
    let mut leaks: BTreeMap<&str, (u32, String)> = BTreeMap::new();
    for _ in 0..TEXTS {
        let Leak { kind, text, secret } = texts::draw(&mut random);
        let left = without_secrets(&text);
        if texts::shows(&left, &secret) {
            let shown = format!("{secret} in\n  {text}\n  {left}");
            let (count, example) = leaks.entry(kind).or_insert((0, shown.clone()));
            *count += 1;
            if shown.len() < example.len() {
                *example = shown;
            }
        }
    }
    let told: Vec<_> = leaks
        .iter()
        .map(|(kind, (count, shown))| format!("{count} of {kind}: {shown}"))
        .collect();
    assert!(told.is_empty(), "\n{}", told.join("\n"));
}

#[test]
fn of_an_address_with_a_password_the_host_stays() {
    let cases = [
        ("amqp://bob:0/6~cmp#L@db/x", "amqp://…@db/x"),
        ("amqp://bob:0/6?a=L@db/x", "amqp://…@db/x"),
        ("https://bob:0/6~cmp#L@db/x", "https://…@db/x"),
        ("https://bob:?a=L@db/x", "https://…@db/x"),
        ("https://bob:3\"Ay/M@h/x: 503", "https://…@h/x: 503"),
        (
            "\"https://bob:3\"Ay/M@h/x\" is down",
            "\"https://…@h/x\" is down",
        ),
        // The host of an address with a query, or the user of one with a password.
        ("https://h:80/6?a=L@db/x", "https://h…?…"),
    ];
    for (text, left) in cases {
        assert_eq!(without_secrets(text), left);
    }
}

#[test]
fn of_a_cookie_that_begins_with_a_mark_nothing_is_kept() {
    for name in ["Cookie", "Set-Cookie", "cookie"] {
        for first in [
            "\"a\"", "\"a\";", "'a'", "[a]", "{a}", "(a);", "b=[1];", ":[}",
        ] {
            let text = format!("502 with {name}: {first} sid=hunter2hunter2; Path=/\nlater");
            let left = format!("502 with {name}: …\nlater");
            assert_eq!(without_secrets(&text), left, "{text}");
        }
    }
    // In quotation marks the name is that of a member, and its value ends before the next one.
    let text = r#"{"cookie": "sid=hunter2hunter2", "host": "db.example"}"#;
    let left = r#"{"cookie": …, "host": "db.example"}"#;
    assert_eq!(without_secrets(text), left);
}

#[test]
fn the_text_of_an_ordinary_error_stays_as_it_is() {
    let changed = |text: &&&str| without_secrets(text) != **text;
    let changed: Vec<_> = ordinary::ERRORS.iter().filter(changed).collect();
    assert!(changed.is_empty(), "{changed:#?}");
}

#[test]
fn a_random_address_in_an_ordinary_error_stays_readable() {
    let mut random = Random::new();
    for _ in 0..TEXTS / 4 {
        let (text, expected) = ordinary::draw(&mut random);
        assert_eq!(without_secrets(&text), expected, "{text}");
    }
}
