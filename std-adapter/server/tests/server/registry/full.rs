// SPDX-License-Identifier: MIT OR Apache-2.0
//! A registry without room: how calls are counted, and when it looks for room again.

use std::time::Duration;

use atomic_breaker_server::{
    AnyPermit, ConnectionId, Failure, Guard, GuardPermit, KeyGuard, LastCalls, ManualClock,
    Outcome, Ratio, Registry, WhenFull,
};

use super::{RULES, SECOND, fail, full, succeed};

#[test]
fn a_registry_that_was_full_and_then_idle_for_long_looks_for_room_again() {
    for idle_ms in [101, 1 << 30, 1 << 31, (1 << 31) + 1_000, 3 << 30] {
        let clock = ManualClock::new();
        let keys = full(&clock, WhenFull::Reject);
        fail(&keys, 1);
        assert!(!succeed(&keys, 1), "full");
        keys.command(&0, |breaker| breaker.reset()).unwrap();
        clock.advance(Duration::from_millis(idle_ms));
        assert!(succeed(&keys, 1), "after {idle_ms} ms");
    }
}

#[test]
fn a_call_without_a_slot_is_counted_once_if_rules_remember_calls() {
    for when_full in [WhenFull::Pass, WhenFull::Reject] {
        let clock = ManualClock::new();
        let keys = remembering(&clock, when_full);
        let ends: [fn(GuardPermit<KeyGuard<_>>); 4] = [
            |permit| {
                permit.report(Failure::new().into());
            },
            |permit| {
                permit.report_shared(Failure::new().into(), ConnectionId::UNKNOWN, String::new);
            },
            |permit| {
                permit.report(Outcome::Success);
            },
            drop,
        ];
        for (end, count) in ends.into_iter().zip(1..) {
            let _ = keys.of(2).acquire().map(end);
            assert_eq!(keys.stats().unguarded, count, "{when_full:?}");
        }
    }
}

#[test]
fn a_failure_that_calls_share_is_counted_once_without_a_slot() {
    let clock = ManualClock::new();
    let keys = full(&clock, WhenFull::Pass);
    let permit = keys.of(2).acquire().unwrap();
    permit.report_shared(Failure::new().into(), ConnectionId::UNKNOWN, String::new);
    assert_eq!(keys.stats().unguarded, 1);
}

/// A single slot, which key 0 keeps, and rules that remember calls.
fn remembering(clock: &ManualClock, when_full: WhenFull) -> Registry<u32, &ManualClock, LastCalls> {
    let half = Ratio::percent(50).of_last(20).min_calls(20);
    let keys = Registry::<u32>::builder(RULES.failure_ratio(half))
        .clock(clock)
        .tally(LastCalls::new)
        .capacity(1)
        .when_full(when_full)
        .build()
        .unwrap();
    keys.command(&0, |breaker| breaker.force_open()).unwrap();
    keys
}

#[test]
fn a_success_gets_the_slot_that_is_free_when_it_ends_if_rules_remember_calls() {
    let clock = ManualClock::new();
    let keys = remembering(&clock, WhenFull::Pass);
    let permit = keys.of(2).acquire().unwrap();
    keys.command(&0, |breaker| breaker.release()).unwrap();
    keys.command(&0, |breaker| breaker.reset()).unwrap();
    clock.advance(SECOND);
    permit.report(Outcome::Success);
    assert!(keys.entry(&2).is_some());
}
