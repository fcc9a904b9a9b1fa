// SPDX-License-Identifier: MIT OR Apache-2.0
//! The view and the commands of an operator, without taking a slot.

use atomic_breaker_server::{Config, Guard, ManualClock, Registry, RegistryError, State};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const RULES: Config = Config::new().consecutive_failures(1);
const OTHER: Config = Config::new().consecutive_failures(9);

fn fail(hosts: &Registry<u32>, key: u32) {
    let _ = hosts.of(key).call(|| Err::<(), _>("down"));
}

#[test]
fn a_key_without_a_slot_is_not_commanded_and_gets_none() {
    let hosts = Registry::<u32>::new(RULES).unwrap();
    assert_eq!(hosts.command_if_present(&1, |host| host.force_open()), None);
    assert_eq!(hosts.set_config_if_present(&1, OTHER), Ok(false));
    assert_eq!((hosts.stats().keys, hosts.config_of(&1)), (0, RULES));
    fail(&hosts, 1);
    let made = hosts.command_if_present(&1, |host| host.reset()).unwrap();
    assert_eq!(
        made.map(|made| (made.from, made.to)),
        Some((State::Open, State::Closed))
    );
}

#[test]
fn rules_of_a_key_are_set_where_it_has_a_slot() {
    let hosts = Registry::<u32>::new(RULES).unwrap();
    fail(&hosts, 1);
    assert_eq!(hosts.set_config_if_present(&1, OTHER), Ok(true));
    assert_eq!((hosts.config_of(&1), hosts.config_of(&2)), (OTHER, RULES));
    assert!(hosts.entry(&1).unwrap().has_own_rules);
    assert!(hosts.clear_config_of(&1));
    assert_eq!(hosts.config_of(&1), RULES);
}

#[test]
fn rules_that_do_not_fit_are_found_without_setting_them() {
    let hosts = Registry::<u32>::new(RULES).unwrap();
    let wrong = Config::new().consecutive_failures(0);
    assert!(matches!(
        hosts.check_config(wrong),
        Err(RegistryError::Config(_))
    ));
    assert!(matches!(
        hosts.set_config_if_present(&1, wrong),
        Err(RegistryError::Config(_))
    ));
    assert_eq!(hosts.check_config(OTHER), Ok(()));
    assert_eq!(hosts.config(), RULES);
}

#[test]
fn entries_come_one_by_one_and_are_those_that_have_a_slot() {
    let hosts = Registry::<u32>::builder(RULES)
        .capacity(1_000)
        .build()
        .unwrap();
    assert_eq!(hosts.entries().count(), 0);
    for key in 0..5 {
        fail(&hosts, key);
    }
    let mut keys: Vec<_> = hosts.entries().map(|entry| *entry.key).collect();
    keys.sort_unstable();
    assert_eq!(keys, [0, 1, 2, 3, 4]);
    // Others come while it is under way.
    for entry in hosts.entries() {
        hosts
            .command(&(*entry.key + 100), |host| host.trip())
            .unwrap();
    }
    assert_eq!(hosts.entries().count(), 10);
}

#[test]
fn a_key_is_not_evicted_while_it_is_commanded() {
    let clock = ManualClock::new();
    let hosts = Registry::<u32>::builder(RULES)
        .capacity(1)
        .clock(&clock)
        .build()
        .unwrap();
    let fail = |key| {
        let _ = hosts.of(key).call(|| Err::<(), _>("down"));
    };
    fail(1);
    let done = hosts.command_if_present(&1, |host| {
        host.reset();
        fail(2);
        host.state()
    });
    assert_eq!(
        (done, hosts.entry(&2).is_none()),
        (Some(State::Closed), true)
    );
    // A full registry looks for room again after a tenth of a second.
    clock.advance(Duration::from_millis(100));
    fail(2);
    assert!(hosts.entry(&2).is_some(), "afterwards it gives way");
}

#[test]
fn commands_reach_the_key_that_was_meant_while_slots_change_hands() {
    let hosts = Registry::<u32>::builder(Config::new().consecutive_failures(2))
        .capacity(2)
        .build()
        .unwrap();
    let hosts = Arc::new(hosts);
    let churns = thread::spawn({
        let hosts = Arc::clone(&hosts);
        move || (0..20_000).for_each(|key| fail(&hosts, key % 7))
    });
    for turn in 0..20_000_u32 {
        let key = turn % 7;
        // What is disabled stays, so it is found again by the same key, or not at all.
        let held = hosts.command_if_present(&key, |host| host.disable().is_some());
        if held == Some(true) {
            assert_eq!(hosts.state(&key), State::Disabled);
            assert!(
                hosts
                    .command_if_present(&key, |host| host.enable())
                    .is_some()
            );
        }
    }
    churns.join().unwrap();
}
