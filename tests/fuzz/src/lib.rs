// SPDX-License-Identifier: MIT OR Apache-2.0
//! The readers of hostile text and bytes: each with the properties that must hold for any input.
//!
//! | target | given |
//! |---|---|
//! | `history_wide`, `history_narrow` | any history, on a word beside the reference |
//! | `word` | any word of either layout, and any operations |
//! | `secrets` | the text of an error, around a secret |
//! | `retry_after`, `grpc` | headers of a response |
//! | `origin` | the address of a request |
//! | `rules`, `client`, `breakers` | rules, settings of a client, and `breakers.toml`, as text |
//! | `log` | a log for `atomic-breaker-tune` |
//! | `mapped` | a file that processes share |
//! | `flash` | flash that a journal opens |
//! | `rows` | rows of jobs in a database |
//! | `published`, `engine` | what Redis publishes for a fleet, and an engine that says anything |
//! | `admin` | requests to the admin's router |
//! | `c` | a C program that does everything wrong |
//!
//! `tests/fuzz/run` runs them under a fuzzer. `cargo test -p fuzz` replays what it found: inputs that reach every place it
//! reached, an archive for each target in `corpus`, and inputs that once failed, in `found`; and for a second some that are
//! made of these, others in each run.

mod address;
mod admin;
mod breakers;
mod c;
mod calls;
mod client;
mod date;
mod draw;
mod engine;
mod flash;
mod form;
mod headers;
mod history;
mod lines;
mod log;
#[cfg(target_os = "linux")]
mod mapped;
mod pages;
mod published;
mod reading;
mod rows;
mod rules;
mod secrets;
mod spans;
mod spec;
mod waits;
mod word;

/// A property of whatever bytes.
pub type Target = fn(&[u8]);

/// All targets, by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("history_wide", history::wide),
    ("history_narrow", history::narrow),
    ("word", word::any),
    ("secrets", secrets::without),
    ("retry_after", headers::retry_after),
    ("grpc", headers::grpc),
    ("origin", address::origin),
    ("rules", rules::of_a_breaker),
    ("client", client::settings),
    ("breakers", breakers::made),
    ("log", log::read),
    #[cfg(target_os = "linux")]
    ("mapped", mapped::open),
    ("flash", flash::open),
    ("rows", rows::of_a_store),
    ("published", published::read),
    ("engine", engine::lies),
    ("admin", admin::requests),
    ("c", c::any),
];

/// The target of this name.
///
/// # Panics
/// If there is none.
pub fn target(name: &str) -> Target {
    let found = TARGETS.iter().find(|(it, _)| *it == name);
    found.expect("a target of this name").1
}

/// The text of the bytes, if they are one.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
