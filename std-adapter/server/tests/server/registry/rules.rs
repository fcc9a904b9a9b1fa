// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules that are replaced while running, and rules of one key.

use atomic_breaker_server::{AnyPermit, Guard, ManualClock, State, TripRule};

use super::{RULES, SECOND, build, fail, succeed};

#[test]
fn new_rules_apply_from_the_next_event_on_and_states_are_kept() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    fail(&keys, 1);
    keys.command(&2, |breaker| breaker.trip()).unwrap();
    keys.set_config(RULES.consecutive_failures(4).open_for(SECOND))
        .unwrap();
    assert_eq!(keys.config().trip, TripRule::Consecutive { failures: 4 });
    fail(&keys, 1);
    fail(&keys, 1);
    assert_eq!(keys.state(&1), State::Closed, "three of four");
    fail(&keys, 1);
    assert_eq!(keys.state(&1), State::Open);
    let waits = |key| keys.entry(&key).unwrap().snapshot.retry_in();
    assert_eq!(waits(1), Some(SECOND));
    assert_eq!(waits(2), Some(10 * SECOND), "a running open time stays");
    keys.command(&2, |breaker| breaker.probe_now()).unwrap();
    assert!(keys.of(2).acquire().is_ok_and(|permit| permit.is_probe()));
}

#[test]
fn a_key_that_is_open_follows_another_open_time_from_its_next_trip() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    keys.command(&1, |breaker| breaker.trip()).unwrap();
    let waits = || keys.entry(&1).unwrap().snapshot.retry_in();
    for open_for in [SECOND, 60 * SECOND] {
        let before = waits();
        keys.set_config_of(&1, RULES.open_for(open_for)).unwrap();
        assert_eq!(
            waits(),
            before,
            "it stays open for the time that it opened with"
        );
        keys.command(&1, |breaker| breaker.probe_now()).unwrap();
        fail(&keys, 1);
        assert_eq!(waits(), Some(open_for));
    }
}

#[test]
fn bad_rules_change_nothing() {
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    assert!(keys.set_config(RULES.probes(0)).is_err());
    assert!(keys.set_config_of(&1, RULES.probes(0)).is_err());
    assert_eq!(keys.config(), RULES);
    assert_eq!(keys.stats().keys, 0);
}

#[test]
fn a_key_can_have_rules_of_its_own_and_keeps_its_slot_with_them() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(2).build().unwrap();
    keys.set_config_of(&1, RULES.consecutive_failures(1))
        .unwrap();
    for key in 100..200 {
        fail(&keys, key);
    }
    assert!(keys.entry(&1).unwrap().has_own_rules);
    keys.set_config(RULES.consecutive_failures(9)).unwrap();
    fail(&keys, 1);
    assert_eq!(keys.state(&1), State::Open);
    assert!(keys.clear_config_of(&1));
    assert!(!keys.clear_config_of(&1));
    clock.advance(10 * SECOND);
    assert!(succeed(&keys, 1));
    for key in 200..300 {
        fail(&keys, key);
    }
    assert!(keys.entry(&1).is_none(), "as any other key");
}

#[test]
fn permits_of_the_old_rules_report_under_the_new_ones() {
    use atomic_breaker_server::Failure;
    let clock = ManualClock::new();
    let keys = build(&clock).build().unwrap();
    fail(&keys, 1);
    let [one, other] = [1, 2].map(|key| keys.of(key).acquire().unwrap());
    keys.set_config(RULES.consecutive_failures(1)).unwrap();
    one.report(Failure::new().into());
    other.report(Failure::new().into());
    assert_eq!((keys.state(&1), keys.state(&2)), (State::Open, State::Open));
}
