// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that are done with give way; a key that fails is guarded, whatever the others do, at any capacity.

use std::time::Duration;

use atomic_breaker_server::{
    AnyPermit, Config, Failure, Guard, LastCalls, ManualClock, Outcome, Ratio, Registry,
    RegistryBuilder, State, WhenFull,
};

use super::{Keys, RULES, SECOND, build, fail, succeed};

/// The default lease of probes.
const LEASE: Duration = Duration::from_secs(30);

/// Two successes close, and two probes may be out.
const TWICE: Config = RULES.close_after(2).probes(2);

fn twice(clock: &ManualClock) -> RegistryBuilder<u32, &ManualClock> {
    Registry::<u32>::builder(TWICE).clock(clock)
}

/// Half-open with a free slot, in each of the ways to get there.
fn half_open(keys: &Keys<'_>, clock: &ManualClock, all: std::ops::Range<u32>) {
    for key in all.clone() {
        fail(keys, key);
        fail(keys, key);
        assert_eq!(keys.state(&key), State::Open);
    }
    clock.advance(10 * SECOND);
    for key in all {
        match key % 4 {
            0 => drop(keys.of(key).acquire().unwrap()),
            1 => drop(keys.of(key).acquire().unwrap().report(Outcome::Ignored)),
            2 => assert!(succeed(keys, key)),
            _ => drop(keys.command(&key, |breaker| breaker.probe_now()).unwrap()),
        }
        assert_eq!(keys.state(&key), State::HalfOpen);
    }
}

#[test]
fn half_open_keys_with_a_free_slot_do_not_hold_their_slots_forever() {
    let clock = ManualClock::new();
    let keys = twice(&clock).capacity(64).build().unwrap();
    half_open(&keys, &clock, 0..64);
    for _ in 0..2 {
        fail(&keys, 100);
    }
    assert_eq!(keys.state(&100), State::Open, "{:?}", keys.stats());
    assert_eq!(keys.stats().unguarded, 0);
}

#[test]
fn a_registry_of_half_open_keys_rejects_none_that_never_failed() {
    let clock = ManualClock::new();
    let keys = twice(&clock).capacity(64).when_full(WhenFull::Reject);
    let keys = keys.build().unwrap();
    half_open(&keys, &clock, 0..64);
    for key in 100..200 {
        fail(&keys, key);
        assert!(succeed(&keys, 1_000 + key), "{key}: {:?}", keys.stats());
    }
}

#[test]
fn closed_keys_give_way_before_those_that_have_tripped() {
    let clock = ManualClock::new();
    let keys = twice(&clock).capacity(8).build().unwrap();
    half_open(&keys, &clock, 0..4);
    for key in 10..100 {
        fail(&keys, key);
    }
    for key in 0..4 {
        assert_eq!(keys.state(&key), State::HalfOpen, "{key}");
    }
}

#[test]
fn a_key_with_a_probe_under_way_or_held_by_command_keeps_its_slot() {
    let clock = ManualClock::new();
    let keys = twice(&clock).capacity(4).build().unwrap();
    for key in 0..3 {
        keys.command(&key, |breaker| breaker.trip()).unwrap();
    }
    keys.command(&1, |breaker| breaker.force_open()).unwrap();
    keys.command(&2, |breaker| breaker.disable()).unwrap();
    clock.advance(10 * SECOND);
    let probe = keys.of(0).acquire().unwrap();
    assert!(probe.is_probe(), "another one may join it");
    clock.advance(LEASE.saturating_sub(SECOND));
    for key in 10..100 {
        fail(&keys, key);
    }
    let states = [0, 1, 2].map(|key| keys.state(&key));
    assert_eq!(
        states,
        [State::HalfOpen, State::ForcedOpen, State::Disabled]
    );
    probe.report(Failure::new().into());
    assert_eq!(keys.entry(&0).unwrap().snapshot.trips(), 2);
}

/// The growth of the open time is kept for those who come back in time.
#[test]
fn an_open_key_is_remembered_for_as_long_again_as_it_was_open() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(1).build().unwrap();
    keys.command(&0, |breaker| breaker.trip()).unwrap();
    clock.advance(19 * SECOND);
    fail(&keys, 1);
    assert_eq!(keys.entry(&0).unwrap().snapshot.entered(), State::Open);
    assert_eq!(keys.stats().unguarded, 1);
    clock.advance(SECOND);
    fail(&keys, 1);
    assert!(keys.entry(&1).is_some() && keys.entry(&0).is_none());
}

#[test]
fn a_half_open_key_keeps_its_slot_while_all_its_probes_are_out() {
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(1).build().unwrap();
    keys.command(&0, |breaker| breaker.trip()).unwrap();
    clock.advance(10 * SECOND);
    let probe = keys.of(0).acquire().unwrap();
    clock.advance(LEASE.saturating_sub(SECOND));
    fail(&keys, 1);
    assert_eq!(keys.state(&0), State::HalfOpen);
    assert_eq!(keys.stats().unguarded, 1);
    probe.report(Outcome::Ignored);
    clock.advance(SECOND);
    fail(&keys, 1);
    assert!(keys.entry(&1).is_some() && keys.entry(&0).is_none());
}

/// All slots are those of keys with a failure counted that are called all the time.
#[test]
fn a_key_that_fails_trips_at_its_limit_at_any_capacity() {
    for when_full in [WhenFull::Pass, WhenFull::Reject] {
        for capacity in [1, 2, 64, 1_000, 1_024, 1_025, 4_096, 20_000] {
            let clock = ManualClock::new();
            let keys = Registry::<u32>::builder(RULES.consecutive_failures(5))
                .clock(&clock)
                .capacity(capacity)
                .when_full(when_full)
                .build()
                .unwrap();
            let others = 1..=capacity as u32;
            for key in others.clone() {
                fail(&keys, key);
            }
            let mut reached = 0;
            for _ in 0..20 {
                for key in others.clone() {
                    // Called, and as it was.
                    drop(
                        keys.of(key)
                            .acquire()
                            .map(|permit| permit.report(Outcome::Ignored)),
                    );
                }
                clock.advance(Duration::from_millis(150));
                if let Ok(permit) = keys.of(0).acquire() {
                    reached += 1;
                    permit.report(Failure::new().into());
                }
            }
            assert_eq!(reached, 5, "{capacity} {when_full:?} {:?}", keys.stats());
            assert_eq!(keys.state(&0), State::Open);
        }
    }
}

/// Between two calls of the key that is dead, others come that fail once, a quarter as many as there are slots.
#[test]
fn keys_that_fail_once_do_not_displace_one_that_always_fails() {
    for capacity in [96, 4_096] {
        let clock = ManualClock::new();
        let rules = RULES.consecutive_failures(5);
        let keys = Registry::<u32>::builder(rules).clock(&clock);
        let keys = keys.capacity(capacity).build().unwrap();
        let mut others = 1..;
        for key in others.by_ref().take(2 * capacity) {
            fail(&keys, key);
        }
        for _ in 0..5 {
            fail(&keys, 0);
            for key in others.by_ref().take(capacity / 4) {
                fail(&keys, key);
            }
        }
        assert_eq!(keys.state(&0), State::Open, "{capacity}");
    }
}

/// Between two calls of the key that is dead, others come that fail once, four times as many as there are slots. By the
/// lot it takes 130 calls on average.
#[test]
fn a_key_that_always_fails_trips_eventually_however_many_others_fail_once() {
    for capacity in [32, 256] {
        let clock = ManualClock::new();
        let rules = RULES.consecutive_failures(5);
        let keys = Registry::<u32>::builder(rules).clock(&clock);
        let keys = keys.capacity(capacity).build().unwrap();
        let mut others = 1..;
        let calls = (0..4_000).take_while(|_| {
            fail(&keys, 0);
            for key in others.by_ref().take(4 * capacity) {
                fail(&keys, key);
            }
            keys.state(&0) == State::Closed
        });
        let calls = calls.count();
        println!("{capacity}: {calls} calls");
        assert_eq!(keys.state(&0), State::Open, "{capacity}: {calls} calls");
    }
}

/// Rules that remember calls take a slot for every key that is called.
#[test]
fn healthy_keys_do_not_erase_the_tally_of_a_failing_one() {
    let half = Config::new()
        .tally_only()
        .failure_ratio(Ratio::percent(50).of_last(10));
    let clock = ManualClock::new();
    let keys = Registry::<u32>::builder(half)
        .clock(&clock)
        .capacity(64)
        .tally(LastCalls::new)
        .build()
        .unwrap();
    let mut others = 1..;
    for _ in 0..10 {
        let _ = keys.of(0).call(|| Err::<(), _>("no answer"));
        for key in others.by_ref().take(1_000) {
            keys.of(key).call(|| Ok::<_, &str>(())).unwrap();
        }
    }
    assert_eq!(keys.state(&0), State::Open, "{:?}", keys.stats());
}

/// A single slot among many that are held is found, a part of them at a time.
#[test]
fn the_one_slot_that_is_free_is_found_within_a_second_of_calls() {
    let capacity = 10_000;
    let clock = ManualClock::new();
    let keys = build(&clock).capacity(capacity).build().unwrap();
    for key in 0..capacity as u32 {
        keys.command(&key, |breaker| breaker.force_open()).unwrap();
    }
    fail(&keys, 1_000_000);
    assert_eq!(keys.stats().unguarded, 1);
    keys.command(&77, |breaker| breaker.reset()).unwrap();
    for _ in 0..20 {
        clock.advance(Duration::from_millis(100));
        fail(&keys, 1_000_000);
    }
    assert_eq!(keys.state(&1_000_000), State::Open, "{:?}", keys.stats());
}

#[test]
fn a_key_that_changes_slots_during_listing_is_not_listed_twice() {
    for _ in 0..50 {
        let clock = ManualClock::new();
        let keys = build(&clock).capacity(2).build().unwrap();
        for key in [0, 1] {
            fail(&keys, key);
            succeed(&keys, key);
        }
        let mut listed = keys.entries();
        let first = *listed.next().unwrap().key;
        // It loses its slot, and comes back in either.
        for key in [100, first] {
            fail(&keys, key);
            succeed(&keys, key);
        }
        assert!(keys.entry(&first).is_some());
        assert_eq!(listed.filter(|entry| *entry.key == first).count(), 0);
    }
}

#[test]
fn calls_without_a_slot_are_counted_however_they_end() {
    for when_full in [WhenFull::Pass, WhenFull::Reject] {
        let clock = ManualClock::new();
        let keys = super::full(&clock, when_full);
        fail(&keys, 1);
        let before = keys.stats().unguarded;
        for _ in 0..10 {
            let _ = keys
                .of(2)
                .acquire()
                .map(|permit| permit.report(Failure::new().into()));
        }
        assert_eq!(keys.stats().unguarded - before, 10, "{when_full:?}");
    }
}
