// SPDX-License-Identifier: MIT OR Apache-2.0
//! Late reports of probes that lost their slots: a success counts as long as the same half-open time lasts.

use atomic_breaker::{Cause, Config, Failure, ManualClock, Outcome, Permit, State};

use super::support::{AnyWord, Tested, breaker, ms, on_both_words, rules};

fn half_open<W: AnyWord>(config: Config, clock: &ManualClock) -> Tested<'_, W> {
    let breaker = breaker::<W>(config.open_for(ms(0)), clock);
    breaker.trip();
    breaker
}

/// The late success of one round counts in the current round, and the probe that holds the slot keeps it.
fn a_late_success_counts_and_frees_no_slot<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().probe_lease(ms(100)).close_after(3);
    let breaker = half_open::<W>(config, &clock);
    let first = breaker.acquire().unwrap();
    clock.advance(ms(100));
    let second = breaker.acquire().unwrap();
    assert_eq!(first.success(), None);
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.successes(), snapshot.probes_in_flight()), (1, 1));
    assert!(breaker.acquire().is_err());
    second.success();
    let closed = breaker.acquire().unwrap().success().unwrap();
    assert_eq!(closed.cause, Cause::ProbesSucceeded);
}

type EndOfPermit<'a, W> = fn(Permit<&Tested<'a, W>>);

fn a_late_failure_a_late_drop_and_a_late_renewal_change_nothing<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probe_lease(ms(100)), &clock);
    let ends: [EndOfPermit<'_, W>; 5] = [
        |permit| {
            permit.failure();
        },
        |permit| {
            permit.report(Failure::tripping());
        },
        |permit| {
            permit.report(Outcome::Ignored);
        },
        |permit| {
            permit.cancel();
        },
        |mut permit| assert!(!permit.renew()),
    ];
    for end in ends {
        breaker.reset();
        breaker.trip();
        let late = breaker.acquire().unwrap();
        clock.advance(ms(100));
        let _running = breaker.acquire().unwrap().into_token();
        let bits = breaker.to_bits();
        end(late);
        assert!(breaker.to_bits() == bits);
    }
}

type EndOfTime<'a, W> = fn(&Tested<'a, W>);

/// Probes are forgotten at the end of their half-open time, even if the breaker is half-open again.
fn a_success_from_before_another_half_open_time_changes_nothing<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = half_open::<W>(rules().probe_lease(ms(100)), &clock);
    let ends: [EndOfTime<'_, W>; 4] = [
        |breaker| {
            breaker.trip();
        },
        |breaker| {
            breaker.probe_now();
        },
        |breaker| {
            breaker.restore().unwrap();
        },
        |breaker| {
            breaker.force_open();
            breaker.release();
        },
    ];
    for end in ends {
        breaker.reset();
        breaker.trip();
        let late = breaker.acquire().unwrap();
        clock.advance(ms(100));
        let running = breaker.acquire().unwrap();
        end(&breaker);
        let _probe = breaker.acquire().unwrap().into_token();
        for permit in [late, running] {
            assert_eq!(permit.success(), None);
        }
        assert_eq!(breaker.snapshot().successes(), 0);
        clock.advance(ms(100));
        let _next = breaker.acquire().unwrap().into_token();
        assert_eq!(breaker.state(), State::HalfOpen);
    }
}

on_both_words!(
    a_late_success_counts_and_frees_no_slot,
    a_late_failure_a_late_drop_and_a_late_renewal_change_nothing,
    a_success_from_before_another_half_open_time_changes_nothing,
);
