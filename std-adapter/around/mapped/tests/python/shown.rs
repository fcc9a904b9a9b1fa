// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both sides show the same state of a word, for any content.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use atomic_breaker_mapped::{BootClock, Clock, Config, ManualClock, MappedBuilder, MappedSlab};
use atomic_breaker_mapped::{Snapshot, Wait, open};
use test_support::dice::Dice;

use crate::ask::{ask, dice, quoted};
use crate::rules::draw;
use crate::support::Dir;

fn or_null(number: Option<impl ToString>) -> String {
    number.map_or_else(|| "null".into(), |number| number.to_string())
}

/// The names of the reader, in order.
pub(crate) fn json(shown: &Snapshot) -> String {
    let wait = shown.wait().map(|wait| match wait {
        Wait::For(time) | Wait::AtMost(time) => time.as_millis(),
        Wait::UntilReleased => 0,
    });
    format!(
        r#"{{"demanded":{},"due":{},"epoch":{},"failures":{},"in_flight":{},"lost":{},"open_for":{},"opened_at":{},"percent":{},"state":"{}","successes":{},"trips":{},"wait":{}}}"#,
        shown.is_demanded(),
        shown.is_due(),
        shown.epoch(),
        shown.failures(),
        shown.probes_in_flight(),
        shown.lost_rounds(),
        or_null(shown.open_for().map(|time| time.as_millis())),
        or_null(shown.opened_at_ms()),
        or_null(shown.returning_percent()),
        shown.entered(),
        shown.successes(),
        shown.trips(),
        or_null(wait),
    )
}

fn hex(key: &[u8]) -> String {
    key.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Everything that the reader shows of a slab.
pub(crate) fn all(hosts: &MappedSlab<&ManualClock>) -> String {
    let shown: BTreeMap<_, _> = hosts.entries().collect();
    let shown = shown.iter();
    let shown = shown.map(|(key, shown)| format!(r#"["{}",{}]"#, hex(key), json(shown)));
    let shown = shown.collect::<Vec<_>>().join(",");
    format!("[{},{},[{shown}]]", hosts.keys(), hosts.refused())
}

/// Any bits, or fields as breakers write them and a little beyond.
fn word(dice: &mut Dice, now: u32) -> u64 {
    if dice.percent(20) {
        return dice.next();
    }
    if dice.percent(15) {
        // Held, or nearly.
        return dice.below(512) << 55 | dice.below(6) << 7 | 3;
    }
    let trips = dice.pick(&[0, 0, 1, 2, 31]);
    let payload = match dice.below(4) {
        0 => dice.below(6),
        1 => dice.below(4) << 8 | dice.below(4) | dice.below(2) << 15,
        2 => dice.below(2) << 15 | u64::from(dice.within(22_000..22_600)),
        _ => dice.below(1 << 16),
    };
    let time = match dice.below(5) {
        0 => 0,
        1 => now.wrapping_add(dice.within(0..70_000)),
        2 => now.wrapping_sub(dice.next() as u32 >> 1),
        _ => now.wrapping_sub(dice.within(0..70_000)),
    };
    dice.below(512) << 55 | u64::from(time) << 23 | payload << 7 | trips << 2 | dice.below(4)
}

fn keys(dice: &mut Dice, longest: u32) -> Vec<u8> {
    (0..dice.within(0..longest + 1))
        .map(|_| dice.pick(&[0, b'a', b'.', 0x7F, 0x80, 0xFF]) ^ dice.below(3) as u8)
        .collect()
}

#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn random_words_of_slabs_show_the_same() {
    let mut dice = dice(2);
    let dir = Dir::new();
    let (mut requests, mut wanted, mut states) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut count = 0;
    for round in 0..40 {
        let rules = draw(&mut dice);
        let clock = ManualClock::starting_at(dice.next() as u32);
        let (capacity, longest) = (dice.within(1..400), dice.pick(&[1, 6, 7, 8, 41, 98, 1_000]));
        let path = dir.file(&round.to_string());
        let builder = MappedSlab::builder(rules.config).clock(&clock);
        let builder = builder.capacity(capacity).max_key_bytes(longest);
        let hosts = builder.open(&path).unwrap();
        let now = clock.now_ms();
        for _ in 0..capacity + 5 {
            // A few get no slot.
            if let Ok(breaker) = hosts.breaker(keys(&mut dice, longest)) {
                breaker
                    .word()
                    .store(word(&mut dice, now), Ordering::Relaxed);
            }
        }
        for (_, shown) in hosts.entries() {
            *states.entry(shown.entered().name()).or_insert(0) += 1;
            count += 1;
        }
        requests.push(format!("[{},{now},{}]", quoted(&path), rules.json));
        wanted.push(all(&hosts));
    }
    println!("{count} words of slabs: {states:?}");
    for (found, wanted) in ask("show", &requests).iter().zip(&wanted) {
        // A whole slab is too long to read.
        let differ = found.split("[\"").zip(wanted.split("[\""));
        let differ: Vec<_> = differ.filter(|(one, other)| one != other).take(3).collect();
        assert_eq!(differ, []);
        assert_eq!(found, wanted);
    }
    assert_eq!(states.len(), 6);
    assert!(states.values().all(|count| *count > 100));
}

#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn random_words_of_single_breakers_show_the_same() {
    let mut dice = dice(3);
    let dir = Dir::new();
    let (mut requests, mut wanted) = (Vec::new(), Vec::new());
    for round in 0..500 {
        let rules = draw(&mut dice);
        let clock = ManualClock::starting_at(dice.next() as u32);
        let path = dir.file(&round.to_string());
        let builder = MappedBuilder::new(rules.config).clock(&clock);
        let breaker = builder.open(&path).unwrap();
        let now = clock.now_ms();
        crate::support::set_word(&path, 24, word(&mut dice, now));
        requests.push(format!("[{},{now},{}]", quoted(&path), rules.json));
        wanted.push(format!("[0,0,[[null,{}]]]", json(&breaker.snapshot())));
    }
    for ((found, wanted), request) in ask("show", &requests).iter().zip(&wanted).zip(&requests) {
        assert_eq!(found, wanted, "{request}");
    }
}

/// The clock of the page is the library's, to the millisecond.
#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn the_time_that_is_left_is_the_same_by_the_clock_of_the_page() {
    let dir = Dir::new();
    let path = dir.file("database");
    let breaker = open(&path, Config::new()).unwrap();
    breaker.trip();
    let left = || match breaker.snapshot().wait() {
        Some(Wait::For(time)) => time.as_millis(),
        other => panic!("{other:?}"),
    };
    let most = left();
    let found = ask("show", &[format!("[{},null,{{}}]", quoted(&path))]).remove(0);
    let least = left();
    let wait = found.rsplit(r#""wait":"#).next().unwrap();
    let wait: u128 = wait.trim_end_matches([']', '}']).parse().unwrap();
    assert!((least..=most).contains(&wait), "{least} {wait} {most}");
    assert!(BootClock.now_ms() > 0);
}

#[test]
#[ignore = "needs Python: tests/shared-file/run"]
fn the_examples_of_the_page_are_right() {
    assert_eq!(ask("page", &["[]".into()]), [r#""ok""#]);
}
