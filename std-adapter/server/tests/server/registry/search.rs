// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search for a slot: none that may be taken is missed, whatever the others do; how long its result is kept.

use std::collections::HashSet;

use atomic_breaker_server::{
    AnyPermit, Guard, LastCalls, ManualClock, Outcome, Ratio, Registry, State, WhenFull,
};

use super::{MS, RULES, SECOND, build, fail, full, succeed};

/// All other slots are disabled, forced open, or half-open with their probes under way.
#[test]
fn the_only_slot_that_may_be_taken_is_found_each_time() {
    for capacity in [8, 512] {
        let clock = ManualClock::new();
        let keys = build(&clock).capacity(capacity).build().unwrap();
        let others = 1..capacity as u32;
        for key in others.clone() {
            keys.command(&key, |breaker| match key % 3 {
                0 => breaker.disable(),
                1 => breaker.force_open(),
                _ => breaker.trip(),
            })
            .unwrap();
        }
        clock.advance(10 * SECOND);
        let tripped = || others.clone().filter(|key| key % 3 == 2);
        let probes: Vec<_> = tripped()
            .map(|key| keys.of(key).acquire().unwrap())
            .collect();
        clock.advance(15 * SECOND);
        for key in 1_000..1_200 {
            fail(&keys, key);
            assert!(keys.entry(&key).is_some(), "{key}");
        }
        assert_eq!((keys.stats().unguarded, keys.stats().evicted), (0, 199));
        assert_eq!(keys.state(&3), State::Disabled);
        drop(probes);
    }
}

#[test]
fn a_search_that_finds_none_is_not_repeated_for_a_tenth_of_a_second_or_less_if_there_are_many_slots()
 {
    for (capacity, ms) in [(1, 100), (10_240, 100), (20_480, 50)] {
        let clock = ManualClock::new();
        let keys = build(&clock).capacity(capacity).when_full(WhenFull::Reject);
        let keys = keys.build().unwrap();
        for key in 0..capacity as u32 {
            keys.command(&key, |breaker| breaker.force_open()).unwrap();
        }
        fail(&keys, 100_000);
        for key in 0..capacity as u32 {
            keys.command(&key, |breaker| breaker.reset()).unwrap();
        }
        assert!(!succeed(&keys, 100_001), "{capacity}");
        clock.advance((ms - 1) * MS);
        assert!(!succeed(&keys, 100_001), "{capacity}: before {ms} ms");
        clock.advance(MS);
        assert!(succeed(&keys, 100_001), "{capacity}: after {ms} ms");
    }
}

/// A slot that is found free is kept for the key that asks next.
#[test]
fn the_slot_that_was_found_is_taken_from_one_key_only() {
    let clock = ManualClock::new();
    let keys = full(&clock, WhenFull::Reject);
    fail(&keys, 1);
    keys.command(&0, |breaker| breaker.reset()).unwrap();
    clock.advance(SECOND);
    assert!((0..10).all(|_| succeed(&keys, 1)));
    assert_eq!(keys.stats().evicted, 1);
    fail(&keys, 1);
    assert_eq!((keys.stats().evicted, keys.stats().keys), (1, 1));
}

/// A caller who can choose keys cannot predict it.
#[test]
fn of_slots_that_are_as_good_as_free_which_is_taken_first_differs_by_registry() {
    let taken: HashSet<_> = (0..20)
        .map(|_| {
            let clock = ManualClock::new();
            let keys = build(&clock).capacity(256).build().unwrap();
            for key in 0..256 {
                fail(&keys, key);
                succeed(&keys, key);
            }
            fail(&keys, 1_000);
            (0..256).find(|key| keys.entry(key).is_none())
        })
        .collect();
    assert!(taken.len() > 10, "{taken:?}");
}

/// As the failures that they are.
#[test]
fn of_keys_with_slow_calls_the_one_that_was_slow_last_stays() {
    for is_dropped in [false, true] {
        let clock = ManualClock::starting_at(5);
        let rules = RULES.consecutive_failures(100).slow_call(SECOND);
        let keys = Registry::<u32>::builder(rules).clock(&clock);
        let keys = keys.capacity(8).build().unwrap();
        for key in 0..8 {
            fail(&keys, key);
        }
        for key in 101..150 {
            let slow = keys.of(7).acquire().unwrap();
            clock.advance(SECOND);
            if is_dropped {
                drop(slow);
            } else {
                slow.report(Outcome::Success);
            }
            fail(&keys, key);
            assert!(keys.entry(&7).is_some(), "{key}");
        }
    }
}

/// It says nothing against the key.
#[test]
fn of_keys_with_failures_one_whose_calls_are_fast_now_does_not_stay() {
    for rules in [RULES, RULES.slow_call(SECOND)] {
        let clock = ManualClock::starting_at(5);
        let keys = Registry::<u32>::builder(rules.failure_ratio(half()));
        let keys = keys.clock(&clock).tally(LastCalls::new).capacity(8);
        let keys = keys.build().unwrap();
        let fail = |key| drop(keys.of(key).call(|| Err::<(), _>("no answer")));
        for key in 0..8 {
            fail(key);
        }
        for key in 101..150 {
            assert!(keys.of(0).call(|| Ok::<_, &str>(())).is_ok());
            fail(key);
        }
        assert!(keys.entry(&0).is_none());
    }
}

fn half() -> Ratio {
    Ratio::percent(50).of_last(20).min_calls(20)
}

#[test]
fn with_rules_that_remember_calls_a_key_that_never_failed_goes_first() {
    for rules in [RULES, RULES.slow_call(SECOND)] {
        let clock = ManualClock::starting_at(5);
        let keys = Registry::<u32>::builder(rules.failure_ratio(half()));
        let keys = keys.clock(&clock).tally(LastCalls::new).capacity(2);
        let keys = keys.build().unwrap();
        let fail = |key| drop(keys.of(key).call(|| Err::<(), _>("no answer")));
        fail(1);
        for _ in 0..3 {
            assert!(keys.of(2).call(|| Ok::<_, &str>(())).is_ok());
        }
        fail(3);
        assert!(keys.entry(&1).is_some() && keys.entry(&2).is_none());
    }
}

#[test]
fn with_rules_that_remember_calls_a_key_has_its_slot_while_its_first_call_is_under_way() {
    let clock = ManualClock::new();
    let keys = Registry::<u32>::builder(RULES.failure_ratio(half()));
    let keys = keys.clock(&clock).tally(LastCalls::new).build().unwrap();
    let permit = keys.of(1).acquire().unwrap();
    assert!(keys.entry(&1).is_some());
    permit.report(Outcome::Success);
    assert_eq!((keys.stats().keys, keys.stats().unguarded), (1, 0));
}

/// Rules that remember calls are set while it is under way.
#[test]
fn a_call_that_says_nothing_takes_no_slot_when_it_ends() {
    let clock = ManualClock::new();
    let keys = Registry::<u32>::builder(RULES).clock(&clock);
    let keys = keys.tally(LastCalls::new).build().unwrap();
    let [dropped, ignored, succeeds] = [1, 2, 3].map(|key| keys.of(key).acquire().unwrap());
    keys.set_config(RULES.failure_ratio(half())).unwrap();
    drop(dropped);
    ignored.report(Outcome::Ignored);
    assert_eq!(keys.stats().keys, 0);
    succeeds.report(Outcome::Success);
    assert_eq!(keys.stats().keys, 1);
}
