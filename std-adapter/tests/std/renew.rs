// SPDX-License-Identifier: MIT OR Apache-2.0
//! Permits that are granted some time before their call begins.

use std::time::Duration;

use atomic_breaker_std::{Breaker, Config, ManualClock, State, word::AtomicU32};

const SECOND: Duration = Duration::from_secs(1);
const RULES: Config = Config::new()
    .consecutive_failures(1)
    .open_for(SECOND)
    .probe_lease(Duration::from_secs(10));

#[test]
fn a_renewed_probe_keeps_its_slot_and_the_one_before_it_is_stale() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(RULES, &clock);
    breaker.trip();
    clock.advance(SECOND);
    let mut probe = breaker.acquire().unwrap();
    for _ in 0..10 {
        clock.advance(9 * SECOND);
        assert!(probe.renew() && probe.is_probe());
        assert!(breaker.acquire().is_err());
    }
    assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    clock.advance(10 * SECOND);
    let other = breaker.acquire().unwrap();
    assert!(!probe.renew(), "the slot has gone to another");
    drop(probe);
    assert_eq!(breaker.snapshot().probes_in_flight(), 1);
    other.success();
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn waiting_before_a_call_makes_it_neither_slow_nor_cancelled_late() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(RULES.slow_call(SECOND).cancel_limit(SECOND), &clock);
    let mut waited = breaker.acquire().unwrap();
    clock.advance(5 * SECOND);
    assert!(waited.renew());
    waited.success();
    assert_eq!(breaker.state(), State::Closed);
    breaker.trip();
    clock.advance(SECOND);
    let mut probe = breaker.acquire().unwrap();
    clock.advance(5 * SECOND);
    assert!(probe.renew());
    drop(probe);
    assert_eq!(breaker.state(), State::HalfOpen);
    assert_eq!(breaker.snapshot().probes_in_flight(), 0);
}

#[test]
fn a_permit_of_another_epoch_is_not_renewed() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(RULES, &clock);
    let mut closed = breaker.acquire().unwrap();
    assert!(closed.renew() && !closed.is_probe());
    breaker.trip();
    assert!(!closed.renew());
    closed.failure();
    assert_eq!(breaker.snapshot().trips(), 1);
    clock.advance(SECOND);
    let mut probe = breaker.acquire().unwrap();
    breaker.reset();
    assert!(!probe.renew());
}

/// One renews, both report.
#[test]
fn probes_beside_one_that_is_renewed_still_count() {
    let clock = ManualClock::new();
    let word = AtomicU32::new(0);
    let narrow = Breaker::over(&word, RULES.probes(2), &clock);
    let wide = Breaker::new(RULES.probes(2), &clock);
    macro_rules! both {
        ($breaker:expr) => {
            $breaker.trip();
            clock.advance(2 * SECOND);
            let mut one = $breaker.acquire().unwrap();
            let two = $breaker.acquire().unwrap();
            clock.advance(5 * SECOND);
            assert!(one.renew());
            two.success();
            assert_eq!($breaker.snapshot().successes(), 1);
            one.success();
            assert_eq!($breaker.state(), State::Closed);
        };
    }
    both!(narrow);
    both!(wide);
}
