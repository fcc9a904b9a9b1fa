// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files with arbitrary contents, and one that is truncated while it is in use.

use std::os::unix::process::ExitStatusExt;
use std::{fs, hint};

use atomic_breaker_mapped::{self as mapped, MappedSlab};
use atomic_breaker_mapped::{Config, State};

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
            // Many zeros, as in free slots.
            *byte = (dice.below(256) * dice.below(2)) as u8;
        }
        write_in_place(&path, &bytes);
        for key in 0..100_u8 {
            let _ = hosts
                .breaker([key])
                .map(|host| host.call(|| Err::<(), _>("down")));
        }
        assert!(hosts.keys() <= 64);
        assert!(hosts.entries().count() <= 128);
        for key in 0..100_u8 {
            let shown = hosts.entries().filter(|(shown, _)| *shown == [key]).count();
            assert_eq!(shown, usize::from(hosts.get([key]).is_some()));
        }
    }
    // The counters and the secret of the hash are changed, too.
    for _ in 0..300 {
        for index in (9..11).chain(16..HEADER) {
            set_word(&path, index, dice.below(u64::MAX));
        }
        let _ = hosts
            .breaker(b"key")
            .map(|host| host.call(|| Err::<(), _>("down")));
    }
}

/// A slot that reads like a key's, but is where no call would look for it.
#[test]
fn only_keys_that_calls_find_are_shown() {
    let dir = Dir::new();
    let path = dir.file("hosts");
    let builder = MappedSlab::builder(Config::new())
        .capacity(2)
        .max_key_bytes(7);
    let hosts = builder.open(&path).unwrap();
    hosts.breaker("a").unwrap().acquire().unwrap().failure();
    for slot in (HEADER..HEADER + 4 * 8).step_by(8) {
        // Only free slots are filled.
        let words: Vec<u8> = fs::read(&path).unwrap();
        if words[slot * 8..][..8] == [0_u8; 8] {
            set_word(&path, slot, 1 << 63 | 1 << 53 | 0x3039);
            set_word(&path, slot + 2, 0x81 << 56 | u64::from(b'a'));
        }
    }
    let shown: Vec<_> = hosts.entries().collect();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(shown[0].0, b"a");
    assert_eq!(shown[0].1.failures(), 1, "the one of the calls");
}

/// Nothing can prevent this, and the documentation says so.
#[test]
fn a_truncated_file_ends_the_process_that_touches_it() {
    let test = "hostile::a_truncated_file_ends_the_process_that_touches_it";
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
    // It does not hinder later processes.
    assert!(mapped::open(&path, Config::new()).is_ok());
}
