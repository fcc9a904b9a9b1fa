// SPDX-License-Identifier: MIT OR Apache-2.0
//! The keys that have a slot, and the cost of having one.

use std::sync::Arc;
use std::thread;

use atomic_breaker_server::{
    AnyPermit, Config, ConfigError, Failure, Guard, KeyGuard, KeyName, LastCalls, ManualClock,
    Outcome, Ratio, Registry, RegistryError, ServiceError, State,
};

use super::{Diary, MS, RULES, SECOND, build, fail, succeed};

#[test]
fn keys_that_work_take_no_slot() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    for key in 0..100_000 {
        assert!(succeed(&keys, key));
        drop(keys.of(key).acquire().unwrap());
        keys.of(key).acquire().unwrap().report(Outcome::Ignored);
    }
    assert_eq!((keys.stats().keys, keys.entries().count()), (0, 0));
}

#[test]
fn each_key_has_a_breaker_of_its_own() {
    let clock = ManualClock::new();
    let keys = build(&clock).observer(Diary::default()).build().unwrap();
    fail(&keys, 1);
    fail(&keys, 2);
    assert_eq!(
        (keys.state(&1), keys.state(&2)),
        (State::Closed, State::Closed)
    );
    fail(&keys, 1);
    assert_eq!(
        (keys.state(&1), keys.state(&2)),
        (State::Open, State::Closed)
    );
    assert!(!succeed(&keys, 1));
    assert!(succeed(&keys, 2));
    clock.advance(10 * SECOND);
    assert!(keys.of(1).acquire().unwrap().is_probe());
    assert!(succeed(&keys, 1));
    assert_eq!(keys.state(&1), State::Closed);
    let diary = keys.observer();
    let transitions = diary.transitions.lock().unwrap();
    let made: Vec<_> = transitions
        .iter()
        .map(|(key, made)| (*key, made.to))
        .collect();
    let of_one = [State::Open, State::HalfOpen, State::Closed].map(|state| (1, state));
    assert_eq!(made, of_one);
    assert_eq!(diary.rejected.lock().unwrap().len(), 1);
}

#[test]
fn a_slow_call_of_an_unknown_key_counts() {
    let clock = ManualClock::starting_at(5);
    let keys = Registry::<u32>::builder(RULES.slow_call(SECOND))
        .clock(&clock)
        .build()
        .unwrap();
    let slow = keys.of(1).acquire().unwrap();
    clock.advance(SECOND);
    slow.report(Outcome::Success);
    let dropped = keys.of(1).acquire().unwrap();
    clock.advance(SECOND);
    drop(dropped);
    assert_eq!(keys.state(&1), State::Open);
    let quick = keys.of(2).acquire().unwrap();
    clock.advance(999 * MS);
    quick.report(Outcome::Success);
    assert_eq!(keys.stats().keys, 1);
}

#[test]
fn a_failure_that_trips_at_once_does_so_for_an_unknown_key() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let permit = keys.of(1).acquire().unwrap();
    let made = permit.report_because(Failure::tripping_for(60 * SECOND).into(), || "busy".into());
    assert_eq!(made.unwrap().to, State::Open);
    let rejection = keys.of(1).acquire().unwrap_err();
    assert_eq!(rejection.retry_in(), Some(60 * SECOND));
    assert_eq!(&*rejection.last_failure.unwrap().text, "busy");
}

/// Two calls begin before the key is known; the first to end opens it and it closes again.
#[test]
fn a_late_failure_of_a_call_from_before_the_first_slot_changes_nothing() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let late: Vec<_> = (0..3).map(|_| keys.of(1).acquire().unwrap()).collect();
    fail(&keys, 1);
    fail(&keys, 1);
    let mut late = late.into_iter();
    late.next().unwrap().report(Failure::new().into());
    assert_eq!(keys.state(&1), State::Open);
    clock.advance(10 * SECOND);
    late.next().unwrap().report(Failure::new().into());
    let entered = keys.entry(&1).unwrap().snapshot.entered();
    assert_eq!(entered, State::Open, "it was no probe");
    assert!(succeed(&keys, 1));
    late.next().unwrap().report(Failure::new().into());
    assert_eq!(keys.entry(&1).unwrap().snapshot.failures(), 0);
}

#[test]
fn a_panic_counts_as_a_failure_and_leaves_no_probe_out() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let panics = || {
        let call = || keys.of(1).call(|| -> Result<(), &str> { panic!("a bug") });
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_err();
    };
    panics();
    panics();
    assert_eq!(keys.state(&1), State::Open);
    clock.advance(10 * SECOND);
    panics();
    let snapshot = keys.entry(&1).unwrap().snapshot;
    assert_eq!((snapshot.state(), snapshot.trips()), (State::Open, 2));
}

#[test]
fn a_dropped_probe_gives_its_slot_back() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    keys.command(&1, |breaker| breaker.trip()).unwrap();
    clock.advance(10 * SECOND);
    let probe = keys.of(1).acquire().unwrap();
    assert!(probe.is_probe());
    assert!(keys.of(1).acquire().is_err());
    drop(probe);
    assert!(succeed(&keys, 1));
    assert_eq!(keys.state(&1), State::Closed);
}

#[test]
fn rules_that_remember_calls_take_a_slot_from_the_first_call_on() {
    let clock = ManualClock::new();
    let half = Config::new()
        .tally_only()
        .failure_ratio(Ratio::percent(50).of_last(10));
    let keys = Registry::<u32>::builder(half)
        .clock(&clock)
        .tally(LastCalls::new)
        .build()
        .unwrap();
    for _ in 0..3 {
        keys.of(1).call(|| Ok::<_, &str>(())).unwrap();
        let _ = keys.of(1).call(|| Err::<(), _>("no answer"));
    }
    assert_eq!(keys.state(&1), State::Open);
    let without = Registry::<u32>::builder(half).build().unwrap_err();
    assert!(matches!(without, RegistryError::Config(_)), "{without}");
}

#[test]
fn bad_settings_are_errors_that_say_what_to_do() {
    let none = Registry::<u32>::builder(RULES)
        .capacity(0)
        .build()
        .unwrap_err();
    assert_eq!(
        none.to_string(),
        "a registry with a capacity of 0 remembers no key: set at least 1"
    );
    let many = Registry::<u32>::builder(RULES)
        .capacity(1 << 25)
        .build()
        .unwrap_err();
    assert_eq!(many, RegistryError::CapacityTooLarge);
    let error: Result<Registry<u32>, _> = Registry::new(RULES.probes(0));
    let RegistryError::Config(config) = error.unwrap_err() else {
        panic!("another error");
    };
    let _: ConfigError = config;
}

#[test]
fn shadow_mode_lets_calls_pass_and_still_learns() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    keys.enforcement().set_percent(0).unwrap();
    for _ in 0..5 {
        fail(&keys, 1);
    }
    assert_eq!(keys.state(&1), State::Open);
    let passes = keys.of(1).acquire().unwrap();
    assert!(!passes.is_admitted());
    passes.report(Failure::new().into());
    clock.advance(10 * SECOND);
    assert!(succeed(&keys, 1), "a probe");
    assert_eq!(keys.state(&1), State::Closed);
}

#[test]
fn permits_of_an_arc_are_owned() {
    let keys = Arc::new(Registry::<Arc<str>>::new(RULES).unwrap());
    let permit = KeyGuard::new(Arc::clone(&keys), "a.example".into())
        .acquire()
        .unwrap();
    thread::spawn(move || permit.report(Failure::new().into()))
        .join()
        .unwrap();
    let entry = keys.entry(&"a.example".into()).unwrap();
    assert_eq!(entry.snapshot.failures(), 1);
}

#[test]
fn errors_say_whether_the_call_was_made() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    let failed = keys.of(1).call(|| Err::<(), _>("no answer"));
    assert_eq!(failed, Err(ServiceError::Failed("no answer")));
    keys.command(&1, |breaker| breaker.force_open()).unwrap();
    let rejected = keys.of(1).call(|| -> Result<(), &str> { unreachable!() });
    let error = rejected.unwrap_err();
    assert_eq!(error.rejected().unwrap().state(), State::ForcedOpen);
}

#[test]
fn keys_can_be_read_back_from_their_names() {
    fn reads_back<K: KeyName + PartialEq + std::fmt::Debug>(key: K) {
        assert_eq!(K::from_name(&key.to_string()), Some(key));
    }

    reads_back("a/b c".to_owned());
    reads_back(String::new());
    reads_back::<Arc<str>>("ä".into());
    reads_back::<Box<str>>("\n".into());
    reads_back(u8::MAX);
    reads_back(i128::MIN);
    reads_back::<std::net::SocketAddr>(([127, 0, 0, 1], 80).into());
    assert_eq!(u8::from_name("256"), None);
}
