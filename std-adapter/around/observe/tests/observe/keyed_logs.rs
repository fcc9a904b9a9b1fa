// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of the keys of a registry.

use std::hash::Hash;
use std::time::Duration;

use atomic_breaker_observe::Log;
use atomic_breaker_server::{AnyPermit, Failure, Guard, ManualClock, Outcome, Registry, StdClock};

use crate::support::{RULES, SECOND, logged};

fn hosts<K: Hash + Eq>(name: &str) -> Registry<K, StdClock, (), Log> {
    let builder = Registry::builder(RULES).observer(Log::new(name));
    builder.build().unwrap()
}

#[test]
fn a_transition_says_the_key_and_the_words_of_the_failure_that_opened_it() {
    let events = logged(|| {
        let hosts = hosts("hosts");
        for text in ["first", "503 Service Unavailable"] {
            let permit = hosts.of("a.example").acquire().unwrap();
            permit.report_because(Failure::new().into(), || text.to_owned());
        }
    });
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].get("name"), Some("hosts"));
    assert_eq!(events[0].get("key"), Some("a.example"));
    assert_eq!(
        events[0].get("last_failure"),
        Some("503 Service Unavailable")
    );
}

#[test]
fn the_words_are_put_together_once_for_the_log_and_the_rejections() {
    let mut made = 0;
    let events = logged(|| {
        let hosts = hosts("hosts");
        hosts.of(1).acquire().unwrap().report(Failure::new().into());
        hosts
            .of(1)
            .acquire()
            .unwrap()
            .report_because(Failure::new().into(), || {
                made += 1;
                "no answer".to_owned()
            });
        let rejection = hosts.of(1).acquire().unwrap_err();
        assert_eq!(&*rejection.last_failure.unwrap().text, "no answer");
    });
    assert_eq!(events.len(), 2);
    assert_eq!(made, 1);
}

#[test]
fn each_key_is_sampled_separately() {
    let clock = ManualClock::new();
    let events = logged(|| {
        let hosts = Registry::<u32>::builder(RULES)
            .clock(&clock)
            .observer(Log::new("hosts").clock(&clock))
            .build()
            .unwrap();
        for key in 0..3 {
            hosts.command(&key, |host| host.trip()).unwrap();
            for _ in 0..=key {
                assert!(hosts.of(key).acquire().is_err());
            }
        }
        clock.advance(SECOND * 2);
        for key in 0..3 {
            assert!(hosts.of(key).acquire().is_err());
        }
    });
    let rejections = events
        .iter()
        .filter(|event| event.target == "atomic_breaker::rejection");
    let left_out: Vec<_> = rejections
        .map(|event| (event.get("key").unwrap(), event.left_out()))
        .collect();
    let first = [("0", 0), ("1", 0), ("2", 0)];
    assert_eq!(left_out, [first, [("0", 0), ("1", 1), ("2", 2)]].concat());
}

#[test]
fn rejections_in_shadow_mode_are_marked() {
    let events = logged(|| {
        let hosts = Registry::builder(RULES)
            .observer(Log::new("hosts").rejections_every(Duration::ZERO))
            .build()
            .unwrap();
        hosts.command(&"a", |host| host.trip()).unwrap();
        assert!(hosts.of("a").acquire().is_err());
        hosts.enforcement().set_percent(0).unwrap();
        assert!(hosts.of("a").acquire().is_ok());
    });
    let modes: Vec<_> = events
        .iter()
        .map(|event| event.get("enforcement"))
        .collect();
    assert_eq!(modes, [None, Some("enforced"), Some("shadow")]);
}

#[test]
fn hostile_keys_break_no_line() {
    let key = "a\"b\n\u{1b}[31mred\u{202e}\r\0é…";
    let mut lines = Vec::new();
    let events = logged(|| {
        let hosts = hosts("ho\nsts");
        hosts.command(&key, |host| host.trip()).unwrap();
        hosts
            .command(&&*"x".repeat(100_000).leak(), |host| host.trip())
            .unwrap();
    });
    for event in &events {
        let text = event.get("key").unwrap();
        assert!(text.len() <= 128, "{text}");
        assert!(!text.chars().any(char::is_control), "{text:?}");
        lines.push(text.to_owned());
    }
    assert_eq!(lines[0], r#"a"b\n\u{1b}[31mred\u{202e}\r\u{0}é…"#,);
    assert!(lines[1].ends_with("x…"));
    assert_eq!(events[0].get("name"), Some(r"ho\nsts"));
}

#[test]
fn a_key_of_128_bytes_is_logged_whole_and_a_longer_one_cut_between_characters() {
    let keys = ["x".repeat(128), "é".repeat(64), "é".repeat(65)];
    let events = logged(|| {
        let hosts = hosts("hosts");
        for key in &keys {
            hosts.command(key, |host| host.trip()).unwrap();
        }
    });
    let texts: Vec<_> = events
        .iter()
        .map(|event| event.get("key").unwrap())
        .collect();
    let cut = "é".repeat(62) + "…";
    assert_eq!(texts, [&keys[0], &keys[1], &cut]);
}

#[test]
fn a_hundred_thousand_keys_that_reject_are_logged_or_counted() {
    const KEYS: u32 = 100_000;
    let clock = ManualClock::new();
    let events = logged(|| {
        let hosts = Registry::<u32>::builder(RULES)
            .capacity(KEYS as usize)
            .clock(&clock)
            .observer(Log::new("hosts").clock(&clock))
            .build()
            .unwrap();
        for key in 0..KEYS {
            for _ in 0..2 {
                hosts
                    .of(key)
                    .acquire()
                    .unwrap()
                    .report(Outcome::Failure(Failure::new()));
            }
            assert!(hosts.of(key).acquire().is_err());
            if key % 10_000 == 0 {
                clock.advance(SECOND / 2);
            }
        }
    });
    let rejections = events
        .iter()
        .filter(|event| event.target == "atomic_breaker::rejection");
    // An event that only reports omitted rejections is not a rejection itself.
    let logged: u64 = rejections
        .map(|event| event.left_out() + u64::from(event.get("enforcement").is_some()))
        .sum();
    assert_eq!(logged, u64::from(KEYS));
    let own = events
        .iter()
        .filter(|event| event.target == "atomic_breaker::rejection")
        .count();
    assert!(own < 1_024 + 100, "{own}");
}
