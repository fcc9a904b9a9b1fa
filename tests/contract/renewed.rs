// SPDX-License-Identifier: MIT OR Apache-2.0
//! Permits whose call begins later than they were granted.

use atomic_breaker::{ManualClock, State, Wait};

use super::support::{AnyWord, breaker, fail, ms, on_both_words, rules};

fn a_renewed_probe_keeps_its_slot_for_another_lease<W: AnyWord>() {
    let clock = ManualClock::starting_at(5);
    let config = rules().open_for(ms(0)).probe_lease(ms(100));
    let breaker = breaker::<W>(config, &clock);
    breaker.trip();
    let mut probe = breaker.acquire().unwrap();
    clock.advance(ms(99));
    assert!(probe.renew() && probe.is_probe());
    assert_eq!(breaker.snapshot().wait(), Some(Wait::AtMost(ms(100))));
    clock.advance(ms(99));
    assert!(breaker.acquire().is_err());
    probe.success();
    assert_eq!(breaker.state(), State::Closed);
}

fn a_renewed_call_of_a_closed_breaker_changes_nothing<W: AnyWord>() {
    let clock = ManualClock::starting_at(5);
    let breaker = breaker::<W>(rules().failures_within(3, ms(100)), &clock);
    fail(&breaker, 1);
    let mut call = breaker.acquire().unwrap();
    clock.advance(ms(99));
    let bits = breaker.to_bits();
    assert!(call.renew());
    assert_eq!(breaker.to_bits(), bits, "the window goes on");
    clock.advance(ms(1));
    call.failure();
    assert_eq!(breaker.snapshot().failures(), 1, "of the next window");
}

fn a_permit_whose_report_would_not_count_is_not_renewed<W: AnyWord>() {
    let clock = ManualClock::starting_at(5);
    let config = rules().open_for(ms(0)).probe_lease(ms(100));
    let breaker = breaker::<W>(config, &clock);
    let mut closed = breaker.acquire().unwrap();
    breaker.trip();
    let mut lost = breaker.acquire().unwrap();
    clock.advance(ms(100));
    let _probe = breaker.acquire().unwrap().into_token();
    clock.advance(ms(50));
    let bits = breaker.to_bits();
    assert!(!closed.renew() && !lost.renew());
    assert_eq!(
        breaker.to_bits(),
        bits,
        "the lease of the other probe goes on"
    );
    breaker.disable();
    assert!(!lost.renew(), "granted before");
}

/// Otherwise a caller that acquires again whenever its permit is not renewed would do so forever.
fn a_permit_of_a_disabled_breaker_is_renewed<W: AnyWord>() {
    let clock = ManualClock::starting_at(5);
    let breaker = breaker::<W>(rules(), &clock);
    breaker.disable();
    let mut permit = breaker.acquire().unwrap();
    clock.advance(ms(1_000));
    let bits = breaker.to_bits();
    assert!(permit.renew());
    assert_eq!(permit.failure(), None, "nothing is learned");
    assert_eq!(breaker.to_bits(), bits);
}

on_both_words!(
    a_renewed_probe_keeps_its_slot_for_another_lease,
    a_renewed_call_of_a_closed_breaker_changes_nothing,
    a_permit_whose_report_would_not_count_is_not_renewed,
    a_permit_of_a_disabled_breaker_is_renewed,
);
