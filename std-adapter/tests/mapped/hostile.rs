//! Files with arbitrary contents, and one that is truncated while it is in use.

use std::os::unix::process::ExitStatusExt;
use std::{fs, hint};

use atomic_breaker_std::mapped::{self, MappedSlab};
use atomic_breaker_std::{Config, State};

use super::support::{Dice, Dir, other, part, set_word, wait_until, write_in_place};

/// See the documentation of the layout.
const SINGLE: usize = 24;
const HEADER: usize = 32;

#[test]
fn any_bits_in_the_word_are_safe() {
    let dir = Dir::new();
    let path = dir.file("database");
    let breaker = mapped::open(&path, Config::new()).unwrap();
    let mut dice = Dice::new();
    for round in 0..20_000 {
        let bits = dice.below(u64::MAX) << (round % 2) | dice.below(4);
        set_word(&path, SINGLE, bits);
        assert_eq!(breaker.to_bits(), bits);
        if let Ok(permit) = breaker.acquire() {
            permit.failure();
        }
        let _ = (breaker.snapshot(), breaker.acquire().map(drop));
        if breaker.reset().is_some() || breaker.state() == State::Closed {
            continue;
        }
        breaker.enable();
        breaker.release();
        breaker.reset();
        assert_eq!(breaker.state(), State::Closed, "{bits:#x}");
    }
}

#[test]
fn any_bits_in_the_slots_are_safe_and_searches_end() {
    let dir = Dir::new();
    let path = dir.file("hosts");
    let builder = MappedSlab::builder(Config::new()).capacity(64);
    let hosts = builder.open(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    let mut dice = Dice::new();
    for _ in 0..300 {
        let mut bytes = whole.clone();
        for byte in &mut bytes[HEADER * 8..] {
            // Many zeros, as free slots have them.
            *byte = (dice.below(256) * dice.below(2)) as u8;
        }
        write_in_place(&path, &bytes);
        for key in 0..100_u8 {
            let _ = hosts.call([key], || Err::<(), _>("down"));
        }
        assert!(hosts.keys() <= 64);
        assert!(hosts.entries().count() <= 128);
        assert_eq!(
            hosts.get([0]).is_some(),
            hosts.entries().any(|e| e.key == [0])
        );
    }
    // The counters and the secret of the hash, too.
    for _ in 0..300 {
        for index in (9..11).chain(16..HEADER) {
            set_word(&path, index, dice.below(u64::MAX));
        }
        let _ = hosts.call(b"key", || Err::<(), _>("down"));
    }
}

/// What nothing can prevent, and the documentation says.
#[test]
fn a_truncation_under_a_mapping_ends_who_touches_it() {
    let test = "hostile::a_truncation_under_a_mapping_ends_who_touches_it";
    if let Some(part) = part() {
        let breaker = mapped::open(&part[0], Config::new()).unwrap();
        fs::write(&part[1], b"").unwrap();
        loop {
            hint::black_box(breaker.state());
        }
    }
    let dir = Dir::new();
    let (path, ready) = (dir.file("database"), dir.file("ready"));
    let parts = [path.to_str().unwrap(), ready.to_str().unwrap()];
    let mut child = other(test, &parts);
    wait_until("mapped", || ready.exists());
    assert!(child.try_wait().unwrap().is_none());
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(0).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGBUS));
    // It does not hinder those that come later.
    assert!(mapped::open(&path, Config::new()).is_ok());
}
