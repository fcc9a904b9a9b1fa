// SPDX-License-Identifier: MIT OR Apache-2.0
//! The findings of attacks: slots that never change hands, failures that count for others, words of one key
//! that show at another.

use atomic_breaker_server::{
    AnyPermit, Breaker, Failure, Guard, ManualClock, Outcome, Registry, State, WhenFull,
};

use super::{Diary, MS, RULES, SECOND, build, fail, succeed};

#[test]
fn two_keys_that_fail_in_turn_trip_in_a_registry_full_of_others() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(64).build().unwrap();
    for junk in 10..74 {
        fail(&keys, junk);
    }
    for _ in 0..100 {
        fail(&keys, 0);
        fail(&keys, 1);
    }
    assert_eq!([0, 1].map(|key| keys.state(&key)), [State::Open; 2]);
}

#[test]
fn all_slots_change_hands() {
    for capacity in [8, 64, 65, 100, 128, 1_000, 1_024, 4_096] {
        let clock = ManualClock::new();
        let keys = build(&clock).capacity(capacity).build().unwrap();
        for key in 0..20 * capacity as u32 {
            fail(&keys, key);
        }
        let first = (0..capacity as u32).filter(|key| keys.entry(key).is_some());
        // Some stay for longer, by lot.
        let (first, most) = (first.count(), 4 + capacity / 64);
        assert!(first <= most, "{first} of {capacity}");
    }
}

#[test]
fn keys_that_opened_once_and_never_come_again_do_not_hold_their_slots() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(8).build().unwrap();
    for key in 0..8 {
        fail(&keys, key);
        fail(&keys, key);
    }
    fail(&keys, 100);
    assert_eq!(keys.stats().unguarded, 1, "they are open");
    clock.advance(3_600 * SECOND);
    for _ in 0..2 {
        fail(&keys, 100);
    }
    assert_eq!(keys.state(&100), State::Open, "{:?}", keys.stats());
}

#[test]
fn successes_between_failures_of_the_first_calls_clear_the_count() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let calls: Vec<_> = (0..9).map(|_| keys.of(1).acquire().unwrap()).collect();
    for (number, call) in calls.into_iter().enumerate() {
        call.report(if number % 2 == 0 {
            Failure::new().into()
        } else {
            Outcome::Success
        });
    }
    assert_eq!(keys.state(&1), State::Closed, "never two in a row");
}

#[test]
fn a_later_retry_after_of_the_first_calls_moves_the_deadline() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let (one, other) = (keys.of(1).acquire().unwrap(), keys.of(1).acquire().unwrap());
    one.report(Failure::retry_after(20 * SECOND).into());
    other.report(Failure::retry_after(60 * SECOND).into());
    let snapshot = keys.entry(&1).unwrap().snapshot;
    assert_eq!(snapshot.retry_in(), Some(60 * SECOND));
}

#[test]
fn a_full_registry_rejects_until_there_is_room_and_says_so() {
    let clock = ManualClock::new();
    let keys = build(&clock)
        .capacity(1)
        .when_full(WhenFull::Reject)
        .observer(Diary::default())
        .build()
        .unwrap();
    keys.command(&0, |breaker| breaker.force_open()).unwrap();
    fail(&keys, 1);
    clock.advance(101 * MS);
    for key in 10..1_000 {
        assert!(keys.of(key).acquire().is_err());
    }
    let rejected = keys.observer().rejected.lock().unwrap().len();
    assert_eq!(rejected, 990);
    keys.command(&0, |breaker| breaker.reset()).unwrap();
    clock.advance(101 * MS);
    assert!(keys.of(10).acquire().is_ok());
}

#[test]
fn a_late_report_never_counts_for_another_key() {
    for evictions in [1, 511, 512, 513, 1_024] {
        let clock = ManualClock::new();
        let keys = build(&clock).capacity(1).build().unwrap();
        fail(&keys, 0);
        let late = keys.of(0).acquire().unwrap();
        let dropped = keys.of(0).acquire().unwrap();
        for key in 1..=evictions {
            fail(&keys, key);
        }
        assert!(keys.entry(&0).is_none());
        let before = keys.entry(&evictions).unwrap().snapshot;
        assert_eq!(late.report(Failure::retry_after(60 * SECOND).into()), None);
        drop(dropped);
        assert_eq!(keys.entry(&evictions).unwrap().snapshot, before);
    }
}

#[test]
fn words_of_one_key_never_show_at_another() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(1).build().unwrap();
    fail(&keys, 1);
    keys.of(1)
        .acquire()
        .unwrap()
        .report_because(Failure::tripping().into(), || {
            // What others do meanwhile.
            keys.command(&1, |breaker| breaker.reset()).unwrap();
            fail(&keys, 2);
            "secret of tenant 1".into()
        });
    keys.command(&2, |breaker| breaker.trip()).unwrap();
    assert_eq!(keys.of(2).acquire().unwrap_err().last_failure, None);
}

#[test]
fn words_of_an_earlier_opening_are_not_shown() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let permit = keys.of(1).acquire().unwrap();
    permit.report_because(Failure::tripping().into(), || "503 of yesterday".into());
    clock.advance(10 * SECOND);
    assert!(succeed(&keys, 1));
    for _ in 0..2 {
        keys.of(1).acquire().unwrap().report(Failure::new().into());
    }
    assert_eq!(keys.of(1).acquire().unwrap_err().last_failure, None);
}

#[test]
fn a_probe_that_hung_says_so() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let permit = keys.of(1).acquire().unwrap();
    permit.report_because(Failure::tripping().into(), || "503 of yesterday".into());
    clock.advance(10 * SECOND);
    let probe = keys.of(1).acquire().unwrap();
    clock.advance(600 * SECOND);
    drop(probe);
    let rejection = keys.of(1).acquire().unwrap_err();
    assert!(rejection.to_string().contains("hung"), "{rejection}");
}

#[test]
fn a_failure_that_weighs_nothing_takes_no_slot() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let permit = keys.of(1).acquire().unwrap();
    permit.report(Failure::with_weight(0).into());
    assert_eq!(keys.stats().keys, 0);
}

/// A key whose hash panics once, when its slot is taken from it.
#[test]
fn a_panic_in_a_key_blocks_no_other_caller() {
    use std::cell::Cell;
    use std::hash::{Hash, Hasher};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    thread_local!(static PANIC_IN: Cell<u32> = const { Cell::new(u32::MAX) });

    #[derive(Clone, PartialEq, Eq, Debug)]
    struct Key(u32);
    impl Hash for Key {
        fn hash<H: Hasher>(&self, state: &mut H) {
            let left = PANIC_IN.get();
            if left == 0 {
                PANIC_IN.set(u32::MAX);
                panic!("a bug in a key");
            }
            if left != u32::MAX {
                PANIC_IN.set(left - 1);
            }
            self.0.hash(state);
        }
    }

    for panic_in in 0..12 {
        let clock = ManualClock::new();
        let keys = Registry::<Key>::builder(RULES)
            .clock(&clock)
            .capacity(1)
            .build()
            .unwrap();
        let fail = |key| drop(keys.of(Key(key)).call(|| Err::<(), _>("no answer")));
        fail(1);
        PANIC_IN.set(panic_in);
        let panicked = catch_unwind(AssertUnwindSafe(|| fail(2))).is_err();
        PANIC_IN.set(u32::MAX);
        // No thread spins, and the registry keeps working.
        for key in 1..4 {
            fail(key);
            fail(key);
            assert!(keys.entries().count() <= 1, "{panic_in}, {panicked}");
        }
        let _ = keys.state(&Key(1));
    }
}

/// The same as one breaker for the key.
#[test]
fn calls_that_begin_before_the_first_failure_count_as_those_of_a_breaker() {
    let clock = ManualClock::new();
    let (keys, plain) = (build(&clock).build().unwrap(), Breaker::new(RULES, &clock));
    let outcomes = [
        Failure::new().into(),
        Outcome::Ignored,
        Outcome::Success,
        Failure::new().into(),
        Failure::new().into(),
        Failure::retry_after(30 * SECOND).into(),
        Outcome::Success,
    ];
    let of_key: Vec<_> = outcomes
        .iter()
        .map(|_| keys.of(1).acquire().unwrap())
        .collect();
    let of_plain: Vec<_> = outcomes.iter().map(|_| plain.acquire().unwrap()).collect();
    for ((outcome, key), plainly) in outcomes.into_iter().zip(of_key).zip(of_plain) {
        key.report(outcome);
        plainly.report(outcome);
        let snapshot = keys.entry(&1).unwrap().snapshot;
        let expected = plain.snapshot();
        assert_eq!(
            (snapshot.state(), snapshot.failures(), snapshot.retry_in()),
            (expected.state(), expected.failures(), expected.retry_in())
        );
    }
}
