// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of a key that pile up.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;

use atomic_breaker_server::{
    Admit, AnyPermit, ByKey, ConnectionId, Failure, InFlightLimit, ManualClock, Outcome, Registry,
    Resource, State, breaker,
};

use super::threads::{Random, seed};
use super::{Keys, RULES, SECOND, build};

type Limited<'a> = InFlightLimit<ByKey<&'a Keys<'a>, fn(&u32) -> u32>, u32>;

fn limited<'a>(keys: &'a Keys<'a>, limit: u32) -> Limited<'a> {
    let key: fn(&u32) -> u32 = |key| *key;
    InFlightLimit::by_key(ByKey::new(keys, key), limit).tripping()
}

#[test]
fn a_key_that_hangs_trips_before_anything_has_failed_and_others_are_untouched() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let limit = &limited(&keys, 10);
    let hanging: Vec<_> = (0..10).map(|_| limit.admit(&1).unwrap()).collect();
    let others: Vec<_> = (0..10).map(|_| limit.admit(&2).unwrap()).collect();
    assert_eq!(keys.state(&1), State::Closed);
    let rejection = limit.admit(&1).unwrap_err();
    assert_eq!(&*rejection.last_failure.unwrap().text, "10 calls in flight");
    assert_eq!(
        limit.in_flight_of(&1),
        10,
        "the one that was rejected is none"
    );
    assert_eq!(
        (keys.state(&1), keys.state(&2)),
        (State::Open, State::Closed)
    );
    drop(others);
    assert!(limit.admit(&2).is_ok());
    // The probe is let through though the others still hang.
    clock.advance(10 * SECOND);
    let probe = limit.admit(&1).unwrap();
    assert!(probe.is_probe());
    probe.report(Outcome::Success);
    assert_eq!(keys.state(&1), State::Closed);
    assert!(limit.admit(&1).is_err(), "still too many");
    drop(hanging);
    assert_eq!((limit.in_flight_of(&1), limit.in_flight_of(&2)), (0, 0));
}

#[test]
fn calls_that_end_make_room_however_they_end() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let limit = &limited(&keys, 4);
    for _ in 0..1_000 {
        let [a, b, c, d] = [(); 4].map(|()| limit.admit(&1).unwrap());
        a.report(Outcome::Success);
        b.report_because(Outcome::Ignored, || unreachable!());
        c.report_shared(Outcome::Success, ConnectionId::UNKNOWN, || unreachable!());
        drop(d);
    }
    assert_eq!(limit.in_flight_of(&1), 0);
    limit.admit(&1).unwrap().report(Failure::new().into());
    assert_eq!(keys.entry(&1).unwrap().snapshot.failures(), 1);
}

#[test]
fn in_shadow_mode_all_calls_pass_and_it_trips_nevertheless() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    keys.enforcement().set_percent(0).unwrap();
    let limit = &limited(&keys, 2);
    let hanging: Vec<_> = (0..10).map(|_| limit.admit(&1).unwrap()).collect();
    assert_eq!(keys.state(&1), State::Open);
    assert_eq!(limit.in_flight_of(&1), 10);
    drop(hanging);
    assert_eq!(limit.in_flight_of(&1), 0);
}

#[test]
fn the_key_of_a_request_is_computed_once_even_if_it_is_one_too_many() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let asked = AtomicU32::new(0);
    let by_key = ByKey::new(&keys, |key: &u32| {
        asked.fetch_add(1, Relaxed);
        *key
    });
    let limit = &InFlightLimit::by_key(by_key, 1).tripping();
    let _held = limit.admit(&1).unwrap();
    assert_eq!(asked.swap(0, Relaxed), 1);
    assert!(limit.admit(&1).is_err());
    assert_eq!(asked.swap(0, Relaxed), 1);
}

#[test]
fn keys_that_find_no_room_pass_uncounted_and_are_counted_when_there_is_room_again() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    // A row of eight.
    let limit = &limited(&keys, 1).for_keys(1);
    let held: Vec<_> = (0..20).map(|key| limit.admit(&key).unwrap()).collect();
    let counted =
        |keys: std::ops::Range<u32>| keys.map(|key| limit.in_flight_of(&key)).sum::<u64>();
    assert_eq!(counted(0..20), 8);
    let _second = limit.admit(&19).unwrap();
    assert_eq!(keys.state(&19), State::Closed, "not counted, not limited");
    assert!(limit.admit(&0).is_err(), "counted and limited");
    drop(held);
    assert_eq!(counted(0..20), 0);
    let _held = limit.admit(&20).unwrap();
    assert!(limit.admit(&20).is_err());
}

/// Twenty threads. When a call finds too many, up to nineteen others have been counted that are not held, and are rejected
/// as well.
#[test]
fn threads_together_never_exceed_the_limit() {
    for _ in 0..20 {
        let clock = ManualClock::new();
        let keys = build(&clock).build().unwrap();
        let limit = &limited(&keys, 100);
        let (barrier, done) = (Barrier::new(20), Barrier::new(20));
        let held: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..20)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        let held: Vec<_> = (0..50).filter_map(|_| limit.admit(&1).ok()).collect();
                        done.wait();
                        held.len()
                    })
                })
                .collect();
            threads.into_iter().map(|it| it.join().unwrap()).sum()
        });
        assert!((81..=100).contains(&held), "{held}");
        assert_eq!(keys.state(&1), State::Open);
        assert_eq!(limit.in_flight_of(&1), 0);
    }
}

/// Keys come and go in rows that they share, so that words change hands while others look.
#[test]
fn threads_with_many_keys_in_little_room_leave_no_count_behind() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let limit = &limited(&keys, 1_000).for_keys(8);
    let seed = seed();
    println!("seed {seed}");
    thread::scope(|scope| {
        for number in 1..=8 {
            scope.spawn(move || {
                let mut random = Random(seed.wrapping_mul(number) | 1);
                let mut held = Vec::new();
                for _ in 0..20_000 {
                    let key = random.below(24) as u32;
                    held.push(limit.admit(&key).unwrap());
                    if held.len() > 3 {
                        drop(held.swap_remove(random.below(4) as usize));
                    }
                }
            });
        }
    });
    for key in 0..24 {
        assert_eq!(limit.in_flight_of(&key), 0, "{key}");
        assert_eq!(keys.state(&key), State::Closed, "{key}");
    }
}

#[test]
fn a_shared_failure_stays_one_through_a_limit() {
    let registry = Arc::new(Registry::new(RULES.consecutive_failures(5)).unwrap());
    let by_key = ByKey::new(Arc::clone(&registry), |key: &u32| *key);
    let by_key = Arc::new(InFlightLimit::by_key(by_key, 100));
    let permits: Vec<_> = (0..11).map(|_| by_key.admit(&1).unwrap()).collect();
    for permit in permits {
        permit.report_shared(Failure::new().into(), ConnectionId::UNKNOWN, || {
            "connection lost".to_owned()
        });
    }
    assert_eq!(registry.entry(&1).unwrap().snapshot.failures(), 1);

    let one = Arc::new(Resource::new(breaker(RULES.consecutive_failures(5))));
    let limit = InFlightLimit::new(Arc::clone(&one), 100);
    let permits: Vec<_> = (0..11).map(|_| (&limit).admit(&()).unwrap()).collect();
    for permit in permits {
        permit.report_shared(Failure::new().into(), ConnectionId::UNKNOWN, || {
            "connection lost".to_owned()
        });
    }
    assert_eq!(one.breaker().snapshot().failures(), 1);
}

#[test]
#[should_panic(expected = "a limit of 0 calls in flight lets none pass: set at least 1")]
fn a_limit_of_zero_is_an_error() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let _ = limited(&keys, 0);
}

#[test]
#[should_panic(
    expected = "calls in flight are counted for 1 to 16777216 keys at a time: change the number of keys"
)]
fn room_for_no_key_is_an_error() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let _ = limited(&keys, 1).for_keys(0);
}
