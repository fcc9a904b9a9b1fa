// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules by a function of the key.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use atomic_breaker_server::{
    AnyPermit, Config, Failure, Guard, LastCalls, ManualClock, Ratio, Registry, RegistryBuilder,
    RegistryError, State, TripRule,
};

use super::{Keys, MS, RULES, SECOND, build, fail, succeed};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Plan {
    Free,
    Paid,
    Internal,
}

/// Those of 100 and more are free, those below 10 internal.
fn plan(tenant: u32) -> Plan {
    match tenant {
        0..10 => Plan::Internal,
        10..100 => Plan::Paid,
        _ => Plan::Free,
    }
}

const STRICT: Config = RULES.consecutive_failures(1);
const LENIENT: Config = RULES.consecutive_failures(4);

fn by_plan(clock: &ManualClock) -> RegistryBuilder<u32, &ManualClock> {
    build(clock).rules_by(
        [(Plan::Free, STRICT), (Plan::Paid, LENIENT)],
        |tenant: &u32| plan(*tenant),
    )
}

/// The number of failures after which a key opens.
fn limit(keys: &Keys<'_>, key: u32) -> u32 {
    let mut failures = 0;
    while keys.state(&key) == State::Closed {
        fail(keys, key);
        failures += 1;
    }
    failures
}

#[test]
fn a_key_follows_the_rules_of_its_class_and_the_common_ones_if_that_has_none() {
    let clock = ManualClock::new();
    let keys = by_plan(&clock).build().unwrap();
    let rules = |key| keys.config_of(&key);
    assert_eq!([rules(1), rules(10), rules(100)], [RULES, LENIENT, STRICT]);
    let limits = [1, 10, 100, 2, 11, 101].map(|key| limit(&keys, key));
    assert_eq!(limits, [2, 4, 1, 2, 4, 1]);
    assert_eq!([rules(1), rules(10), rules(100)], [RULES, LENIENT, STRICT]);
    assert!(keys.entries().all(|entry| !entry.has_own_rules));
    assert_eq!(keys.config(), RULES);
}

#[test]
fn a_slot_that_changes_hands_follows_the_class_of_its_next_key() {
    let clock = ManualClock::new();
    let keys = by_plan(&clock).capacity(1).build().unwrap();
    for key in [100, 1, 10, 101, 10, 2, 102] {
        let failures = limit(&keys, key);
        assert_eq!(
            keys.config_of(&key).trip,
            TripRule::Consecutive { failures }
        );
        clock.advance(20 * SECOND);
    }
    assert_eq!(keys.stats().evicted, 6, "a class holds no slot");
}

#[test]
fn rules_of_its_own_come_first_and_those_of_the_class_again_without_them() {
    let clock = ManualClock::new();
    let keys = by_plan(&clock).build().unwrap();
    keys.set_config_of(&10, RULES.consecutive_failures(3))
        .unwrap();
    assert_eq!(limit(&keys, 10), 3);
    keys.command(&10, |breaker| breaker.reset()).unwrap();
    assert!(keys.entry(&10).unwrap().has_own_rules);
    assert!(keys.clear_config_of(&10));
    assert_eq!((keys.config_of(&10), limit(&keys, 10)), (LENIENT, 4));
}

#[test]
fn rules_of_a_class_are_replaced_while_running() {
    let clock = ManualClock::new();
    let keys = by_plan(&clock).build().unwrap();
    fail(&keys, 10);
    fail(&keys, 1);
    keys.set_config(RULES.consecutive_failures(9)).unwrap();
    keys.set_config_of_class(&Plan::Paid, STRICT).unwrap();
    assert_eq!(keys.config_of_class(&Plan::Paid), Some(STRICT));
    assert_eq!(limit(&keys, 10), 1, "the second in all");
    assert_eq!(limit(&keys, 11), 1);
    assert_eq!(limit(&keys, 1), 8, "the common rules are others");
    assert_eq!(
        keys.config_of(&100),
        STRICT,
        "the other class keeps its own"
    );
}

#[test]
fn a_class_without_rules_or_of_another_type_is_an_error_that_changes_nothing() {
    let clock = ManualClock::new();
    let keys = by_plan(&clock).build().unwrap();
    let set = |answer| assert_eq!(answer, Err(RegistryError::NoSuchClass));
    set(keys.set_config_of_class(&Plan::Internal, STRICT));
    set(keys.set_config_of_class(&0, STRICT));
    let wrong = keys.set_config_of_class(&Plan::Paid, RULES.probes(0));
    assert!(matches!(wrong, Err(RegistryError::Config(_))), "{wrong:?}");
    assert_eq!(keys.config_of_class(&Plan::Internal), None);
    assert_eq!(keys.config_of_class(&0), None);
    assert_eq!(keys.config_of_class(&Plan::Paid), Some(LENIENT));
    let plain = build(&clock).build().unwrap();
    assert_eq!(
        plain.set_config_of_class(&Plan::Paid, STRICT),
        Err(RegistryError::NoSuchClass)
    );
}

#[test]
fn all_rules_are_checked_when_it_is_built() {
    let clock = ManualClock::new();
    let built = |rules: Vec<(u32, Config)>| {
        let keys = build(&clock).rules_by(rules, |key: &u32| *key).build();
        keys.map(drop)
    };
    let error = built(vec![(0, STRICT), (1, RULES.probes(0))]).unwrap_err();
    assert!(matches!(error, RegistryError::ClassConfig { index: 1, .. }));
    assert!(error.to_string().contains("index 1"), "{error}");
    // A ratio without a memory of calls.
    let ratio = RULES.failure_ratio(Ratio::percent(50).of_last(10));
    let error = built(vec![(0, ratio)]).unwrap_err();
    assert!(matches!(error, RegistryError::ClassConfig { index: 0, .. }));
    let error = built(vec![(0, STRICT), (1, STRICT), (0, LENIENT)]).unwrap_err();
    assert_eq!(error, RegistryError::RepeatedClass { index: 2 });
    let many = |classes| (0..classes).map(|class| (class, STRICT)).collect();
    assert_eq!(built(many(255)), Ok(()));
    assert_eq!(built(many(256)), Err(RegistryError::TooManyClasses));
    assert_eq!(built(many(0)), Ok(()));
}

#[test]
fn only_a_class_that_remembers_calls_takes_slots_for_keys_that_work() {
    let clock = ManualClock::new();
    let ratio = RULES.failure_ratio(Ratio::percent(50).of_last(10));
    let keys = build(&clock)
        .tally(LastCalls::new)
        .rules_by([(Plan::Paid, ratio)], |tenant: &u32| plan(*tenant));
    let keys = keys.build().unwrap();
    for key in [1, 10, 100] {
        drop(keys.of(key).call(|| Ok::<_, &str>(())));
    }
    assert!(keys.entry(&10).is_some());
    assert_eq!(keys.stats().keys, 1);
}

#[test]
fn calls_without_a_slot_are_slow_by_the_limit_of_their_class() {
    let clock = ManualClock::new();
    let keys = build(&clock).rules_by(
        [
            (Plan::Free, STRICT.slow_call(SECOND)),
            (Plan::Paid, STRICT.slow_call(5 * SECOND)),
        ],
        |tenant: &u32| plan(*tenant),
    );
    let keys = keys.build().unwrap();
    for (key, ms, state) in [
        (1, 60_000, State::Closed),
        (10, 4_999, State::Closed),
        (11, 5_000, State::Open),
        (100, 999, State::Closed),
        (101, 1_000, State::Open),
    ] {
        let called = keys.of(key).call(|| {
            clock.advance(ms * MS);
            Ok::<_, &str>(())
        });
        assert!(called.is_ok());
        assert_eq!(keys.state(&key), state, "{key} after {ms} ms");
    }
}

thread_local!(static PANICS: Cell<bool> = const { Cell::new(false) });

#[test]
fn a_panic_in_the_function_reaches_the_caller_and_changes_nothing() {
    let clock = ManualClock::new();
    let keys = build(&clock)
        .capacity(3)
        .rules_by([(1, STRICT)], |key: &u32| {
            assert!(!PANICS.get(), "armed: in the class");
            key % 2
        });
    let keys = keys.build().unwrap();
    fail(&keys, 1);
    let panicked = |act: &dyn Fn()| {
        PANICS.set(true);
        let answer = catch_unwind(AssertUnwindSafe(act));
        PANICS.set(false);
        assert!(answer.is_err());
    };
    let under_way = keys.of(3).acquire().unwrap();
    let under_way = Cell::new(Some(under_way));
    panicked(&|| fail(&keys, 2));
    panicked(&|| drop(keys.of(3).acquire()));
    panicked(&|| {
        let _ = keys.config_of(&2);
    });
    panicked(&|| keys.set_config_of(&2, STRICT).unwrap());
    panicked(&|| {
        keys.command(&2, |breaker| breaker.trip()).unwrap();
    });
    panicked(&|| {
        under_way.take().unwrap().report(Failure::new().into());
    });
    assert_eq!((keys.stats().keys, keys.stats().evicted), (1, 0));
    assert!(!succeed(&keys, 1), "open as before");
    assert_eq!((limit(&keys, 2), limit(&keys, 3)), (2, 1));
}

#[test]
fn the_function_runs_without_the_lock_of_the_registry() {
    static KEYS: OnceLock<Registry<u32>> = OnceLock::new();
    let keys = Registry::builder(RULES)
        .capacity(2)
        .rules_by([(1, STRICT)], |key: &u32| {
            // Waits for the lock.
            if let Some(keys) = KEYS.get() {
                let _ = keys.entries().count();
            }
            key % 2
        });
    let keys = KEYS.get_or_init(|| keys.build().unwrap());
    for key in 0..10 {
        let _ = keys.of(key).call(|| Err::<(), _>("no answer"));
        let _ = keys.config_of(&key);
        let _ = keys.set_config_of(&key, LENIENT);
        assert_eq!(keys.set_config_if_present(&key, STRICT), Ok(true));
        assert!(keys.clear_config_of(&key));
        keys.command(&key, |breaker| breaker.reset()).unwrap();
        let _ = keys.command_if_present(&key, |breaker| breaker.reset());
    }
}

#[test]
fn a_registry_is_send_and_unwind_safe_with_any_function() {
    const fn crosses<T: Send + Sync + RefUnwindSafe>() {}
    crosses::<Registry<u32>>();
    crosses::<RegistryBuilder<u32>>();
    let clock = ManualClock::new();
    let builder = by_plan(&clock);
    let keys = builder.clone().build().unwrap();
    keys.set_config_of_class(&Plan::Free, LENIENT).unwrap();
    let other = builder.build().unwrap();
    assert_eq!(other.config_of(&100), STRICT, "another registry");
}
