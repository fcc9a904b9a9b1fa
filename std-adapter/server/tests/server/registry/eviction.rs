// SPDX-License-Identifier: MIT OR Apache-2.0
//! The keys that lose a slot, and the fate of calls under way.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};

use atomic_breaker_server::{
    AnyPermit, Failure, Guard, ManualClock, Registry, RegistryError, State, WhenFull,
};

use super::{RULES, SECOND, build, fail, full, succeed};

#[test]
fn open_keys_are_never_forgotten() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(8).build().unwrap();
    for key in 0..4 {
        fail(&keys, key);
        fail(&keys, key);
    }
    // A caller who can choose keys, each of which fails once.
    for key in 1_000..100_000 {
        fail(&keys, key);
    }
    for key in 0..4 {
        assert_eq!(keys.state(&key), State::Open);
    }
    let stats = keys.stats();
    assert_eq!((stats.keys, stats.unguarded), (8, 0));
    assert_eq!(stats.evicted, 99_000 - 4);
}

#[test]
fn keys_without_counted_failures_go_first() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(8).build().unwrap();
    for key in 0..8 {
        fail(&keys, key);
        if key % 2 == 0 {
            assert!(succeed(&keys, key), "clears the count");
        }
    }
    for key in 100..104 {
        fail(&keys, key);
    }
    for key in 0..8 {
        assert_eq!(keys.entry(&key).is_some(), key % 2 == 1, "{key}");
    }
}

#[test]
fn of_keys_with_failures_the_one_that_failed_last_stays() {
    let clock = ManualClock::new();
    let keys = Registry::<u32>::builder(RULES.consecutive_failures(100))
        .clock(&clock)
        .capacity(8)
        .build()
        .unwrap();
    for key in 0..8 {
        fail(&keys, key);
    }
    for key in 101..150 {
        fail(&keys, 7);
        fail(&keys, key);
        assert!(keys.entry(&7).is_some(), "{key}");
    }
    assert_eq!(keys.entry(&7).unwrap().snapshot.failures(), 50);
}

/// 16 are compared, which are random ones: that all the others are among the quarter that came last has a probability of
/// 4^-15. The slots were given away in turn, so that neighbours would be of one age.
#[test]
fn a_key_is_guarded_while_fewer_others_come_than_a_quarter_of_the_slots() {
    const SLOTS: u32 = 128;
    let clock = ManualClock::new();
    let mut forgotten = 0;
    for _ in 0..200 {
        let keys = build(&clock).capacity(SLOTS as usize).build().unwrap();
        for key in 0..SLOTS * 3 / 2 {
            fail(&keys, key);
            let before = key.checked_sub(SLOTS / 4 - 1);
            forgotten += before.map_or(0, |before| u32::from(keys.entry(&before).is_none()));
        }
    }
    assert_eq!(forgotten, 0, "of 32,000");
}

#[test]
fn a_late_report_of_an_evicted_key_does_not_count_for_the_next_one() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(1).build().unwrap();
    fail(&keys, 1);
    let late = keys.of(1).acquire().unwrap();
    succeed(&keys, 1);
    fail(&keys, 2);
    assert!(keys.entry(&1).is_none());
    late.report(Failure::tripping().into());
    let entry = keys.entry(&2).unwrap();
    assert_eq!(
        (entry.snapshot.state(), entry.snapshot.failures()),
        (State::Closed, 1)
    );
}

#[test]
fn without_room_further_keys_pass_and_that_is_counted() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(2).build().unwrap();
    for key in 0..2 {
        keys.command(&key, |breaker| breaker.trip()).unwrap();
    }
    for _ in 0..10 {
        fail(&keys, 7);
    }
    assert!(succeed(&keys, 7));
    assert_eq!(keys.stats().unguarded, 10);
    let full = keys.command(&7, |breaker| breaker.trip()).unwrap_err();
    assert_eq!(full, RegistryError::Full);
    // As soon as one is closed again there is room.
    keys.command(&0, |breaker| breaker.reset()).unwrap();
    clock.advance(SECOND);
    fail(&keys, 7);
    assert_eq!(keys.entry(&7).unwrap().snapshot.failures(), 1);
}

#[test]
fn without_room_further_keys_can_be_rejected() {
    let clock = ManualClock::new();
    let keys = full(&clock, WhenFull::Reject);
    fail(&keys, 7);
    assert!(!succeed(&keys, 8));
    keys.command(&0, |breaker| breaker.reset()).unwrap();
    clock.advance(SECOND);
    assert!(succeed(&keys, 8), "there is room again");
}

#[test]
fn a_key_under_command_keeps_its_slot() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(1).build().unwrap();
    let commands = AtomicU32::new(0);
    keys.command(&1, |breaker| {
        fail(&keys, 2);
        assert!(keys.entry(&2).is_none(), "no room");
        breaker.trip();
        commands.fetch_add(1, Ordering::Relaxed);
    })
    .unwrap();
    assert_eq!(keys.state(&1), State::Open);
    assert_eq!(commands.into_inner(), 1);
}

#[test]
fn a_command_that_panics_does_not_pin_its_key() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(1).build().unwrap();
    let panics = || keys.command(&1, |_| panic!("a bug"));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).unwrap_err();
    fail(&keys, 2);
    assert!(keys.entry(&2).is_some());
}

thread_local!(static SALT: Cell<u32> = const { Cell::new(0) });

/// A key whose hash changes, as no key's should.
#[derive(Clone, PartialEq, Eq)]
struct Salted(u32);

impl Hash for Salted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0, SALT.get()).hash(state);
    }
}

#[test]
fn an_eviction_takes_no_other_slot_of_a_key_whose_hash_has_changed() {
    let clock = ManualClock::new();
    let keys = Registry::<Salted>::builder(RULES).clock(&clock).capacity(2);
    let keys = keys.build().unwrap();
    let fail = |key| drop(keys.of(Salted(key)).call(|| Err::<(), _>("no answer")));
    fail(1);
    keys.of(Salted(1)).call(|| Ok::<_, &str>(())).unwrap();
    // The slot that it had is not found any more: it gets another one.
    SALT.set(1);
    fail(1);
    fail(1);
    assert_eq!(keys.state(&Salted(1)), State::Open);
    fail(2);
    assert_eq!(keys.stats().evicted, 1, "the first slot of key 1");
    assert_eq!(keys.state(&Salted(1)), State::Open, "in its other slot");
}
