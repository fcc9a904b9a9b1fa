// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys: bounded, found by all processes alike, and complete even if a process dies.

use std::collections::BTreeMap;
use std::process::Child;
use std::thread;
use std::time::Duration;

use atomic_breaker_mapped::{BootClock, Config, State};
use atomic_breaker_mapped::{KeyedWords, MappedBuilder, MappedSlab, NoSlot};

use super::support::{Dice, Dir, heard, other, part, say, set_word};

fn slab(keys: u32) -> MappedBuilder<BootClock, KeyedWords> {
    let rules = Config::new().consecutive_failures(60_000);
    MappedSlab::builder(rules).capacity(keys).max_key_bytes(30)
}

#[test]
fn keys_of_every_length_and_content_are_distinct() {
    let hosts = slab(2_000).for_forks().unwrap();
    let mut keys = Vec::new();
    for length in 0..=30 {
        for byte in [0, 1, 0x80, 0xFF] {
            for end in [0, 7] {
                let mut key = vec![byte; length];
                if let Some(last) = key.last_mut() {
                    *last = end;
                }
                keys.push(key);
            }
        }
    }
    keys.sort();
    keys.dedup();
    for (index, key) in keys.iter().enumerate() {
        let breaker = hosts.breaker(key).unwrap();
        for _ in 0..=index {
            breaker.acquire().unwrap().failure();
        }
    }
    for (index, key) in keys.iter().enumerate() {
        let breaker = hosts.get(key).unwrap();
        assert_eq!(usize::from(breaker.snapshot().failures()), index + 1);
    }
    let mut found: Vec<_> = hosts.entries().map(|(key, _)| key).collect();
    found.sort();
    assert_eq!(found, keys);
    assert_eq!(hosts.keys(), keys.len() as u64);
}

#[test]
fn a_full_slab_guards_the_keys_it_has_and_counts_the_others() {
    let hosts = slab(100).for_forks().unwrap();
    for key in 0..100 {
        let _ = hosts.breaker(format!("{key}")).unwrap();
    }
    for key in 100..10_000 {
        let refused = hosts.breaker(format!("{key}")).unwrap_err();
        assert_eq!(refused, NoSlot::Full { capacity: 100 });
    }
    assert_eq!((hosts.keys(), hosts.refused()), (100, 9_900));
    hosts.breaker("42").unwrap().trip();
    assert!(hosts.breaker("42").unwrap().acquire().is_err());
    let error = NoSlot::Full { capacity: 100 }.to_string();
    assert!(error.starts_with("all 100 slots are taken: set a greater `capacity`"));
}

#[test]
fn a_key_that_is_too_long_has_no_breaker_and_is_counted() {
    let hosts = slab(10).for_forks().unwrap();
    let long = [b'x'; 31];
    let refused = hosts.breaker(long).unwrap_err();
    assert_eq!(refused, NoSlot::KeyTooLong { bytes: 31, max: 30 });
    assert!(hosts.get(long).is_none());
    assert_eq!((hosts.keys(), hosts.refused()), (0, 1));
    assert!(hosts.breaker(&long[..30]).is_ok());
    // Far longer than a slot can record.
    assert!(hosts.get([b'x'; 5_000]).is_none());
}

#[test]
fn a_slot_stays_with_its_key_for_another_permit_of_it() {
    let hosts = slab(10).for_forks().unwrap();
    let breaker = hosts.breaker("a").unwrap();
    let permit = breaker.acquire().unwrap();
    hosts.breaker("a").unwrap().trip();
    assert!(permit.failure().is_none(), "it is of an earlier epoch");
    assert_eq!(hosts.breaker("a").unwrap().snapshot().state(), State::Open);
}

/// A process was killed after it took a slot, before it wrote any of the key, some of it, or all but its count.
#[test]
fn a_slot_left_unfinished_is_completed_by_the_next_call_for_its_key() {
    let key = b"a.long.example";
    let dir = Dir::new();
    let path = dir.file("hosts");
    let hosts = slab(4).open(&path).unwrap();
    let _ = hosts.breaker(key).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let (header, stride) = (32, 8);
    let is_taken = |slot: &usize| bytes[(header + slot * stride) * 8 + 7] & 0x80 != 0;
    let slot = (0..8).find(is_taken).unwrap();
    for unwritten in [vec![2, 3], vec![3], vec![]] {
        set_word(&path, 16, 0);
        for index in &unwritten {
            set_word(&path, header + slot * stride + index, 0);
        }
        assert_eq!(hosts.get(key).is_some(), unwritten.is_empty());
        assert_eq!(hosts.entries().count(), usize::from(unwritten.is_empty()));
        hosts.breaker(key).unwrap().trip();
        assert_eq!(hosts.get(key).unwrap().state(), State::Open);
        assert_eq!(hosts.entries().count(), 1);
    }
}

fn take_slots(part: &[String]) -> ! {
    let hosts = slab(200).open(&part[0]).unwrap();
    let mut dice = Dice::new();
    loop {
        let key = dice.below(200);
        let host = hosts
            .breaker(format!("a-host-of-some-length-{key}"))
            .unwrap();
        host.acquire().unwrap().success();
        let _ = hosts.entries().count();
    }
}

#[test]
fn processes_that_are_killed_while_they_take_slots_leave_each_key_one_slot() {
    let test = "slab::processes_that_are_killed_while_they_take_slots_leave_each_key_one_slot";
    if let Some(part) = part() {
        if part.len() > 1 {
            let hosts = slab(200).open(&part[0]).unwrap();
            for key in 0..200 {
                let host = hosts.breaker(format!("a-host-of-some-length-{key}"));
                host.unwrap().acquire().unwrap().failure();
            }
            say("done");
        }
        take_slots(&part);
    }
    let dir = Dir::new();
    let mut dice = Dice::new();
    for round in 0..6 {
        let path = dir.file(&round.to_string());
        let name = path.to_str().unwrap();
        let mut children: Vec<Child> = (0..4).map(|_| other(test, &[name])).collect();
        thread::sleep(Duration::from_millis(8));
        for child in &mut children {
            thread::sleep(Duration::from_micros(dice.below(3_000)));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // The two survivors agree about every key.
        let two = [(); 2].map(|()| other(test, &[name, "survive"]));
        let _ = two.map(heard);
        let hosts = slab(200).open(&path).unwrap();
        let mut failures = BTreeMap::new();
        for (key, snapshot) in hosts.entries() {
            let key = String::from_utf8(key).unwrap();
            let before = failures.insert(key, snapshot.failures());
            assert!(before.is_none(), "a key with two slots");
        }
        assert_eq!(failures.len(), 200);
        assert!(
            failures.values().all(|failures| *failures == 2),
            "{failures:?}"
        );
        assert!(hosts.keys() <= 200);
        assert_eq!(hosts.refused(), 0);
    }
}
