// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures that ask for a pause: they count like others, and say for how long it opens once the rules trip.

use atomic_breaker::{Breaker, Cause, Failure, LastCalls, ManualClock, Ratio, State};

use super::support::{AnyWord, breaker, checked, fail, ms, on_both_words, rules};

fn hint() -> Failure {
    Failure::retry_after(ms(1_000))
}

/// One overloaded instance of twenty used to shut all of them.
fn a_hint_beside_successes_opens_nothing<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(3), &clock);
    for _ in 0..1_000 {
        for _ in 0..19 {
            breaker.acquire().unwrap().success();
        }
        assert_eq!(breaker.acquire().unwrap().report(hint()), None);
        assert_eq!(breaker.snapshot().failures(), 1);
        clock.advance(ms(1));
    }
}

fn a_row_of_hints_opens_for_the_time_asked<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().consecutive_failures(3).open_for(ms(100));
    let breaker = breaker::<W>(config, &clock);
    for _ in 0..2 {
        breaker.acquire().unwrap().report(hint());
    }
    let made = breaker.acquire().unwrap().report(hint()).unwrap();
    assert_eq!(made.cause, Cause::RetryAfter);
    assert_eq!(breaker.snapshot().retry_in(), Some(ms(1_000)));
    assert!(breaker.snapshot().is_demanded());
}

/// The failure that trips has no hint, or one that is shorter than the breaker's own time.
fn only_the_failure_that_trips_says_for_how_long<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().consecutive_failures(2).open_for(ms(100));
    for (last, cause, open) in [
        (Failure::new(), Cause::FailureLimit, 100),
        (Failure::retry_after(ms(0)), Cause::FailureLimit, 100),
        (Failure::retry_after(ms(40)), Cause::RetryAfter, 100),
    ] {
        let breaker = breaker::<W>(config, &clock);
        breaker.acquire().unwrap().report(hint());
        let made = breaker.acquire().unwrap().report(last).unwrap();
        assert_eq!((made.cause, made.open_for()), (cause, Some(ms(open))));
    }
}

fn a_hint_in_a_window_and_one_that_must_last<W: AnyWord>() {
    let clock = ManualClock::new();
    for config in [
        rules().failures_within(2, ms(500)),
        rules().consecutive_failures(2).lasting(ms(50)),
    ] {
        let breaker = breaker::<W>(config.open_for(ms(100)), &clock);
        assert_eq!(breaker.acquire().unwrap().report(hint()), None);
        clock.advance(ms(50));
        let made = breaker.acquire().unwrap().report(hint()).unwrap();
        assert_eq!(made.cause, Cause::RetryAfter);
        assert_eq!(breaker.snapshot().retry_in(), Some(ms(1_000)));
    }
}

fn a_probe_that_is_asked_to_wait_opens_for_as_long<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)), &clock);
    breaker.trip();
    clock.advance(ms(10));
    let made = breaker.acquire().unwrap().report(hint()).unwrap();
    assert_eq!(made.cause, Cause::ProbeFailed);
    assert_eq!(breaker.snapshot().retry_in(), Some(ms(1_000)));
}

/// It was on its way when the breaker tripped.
fn a_hint_that_comes_late_moves_the_deadline<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(1).open_for(ms(10)), &clock);
    let late = breaker.acquire().unwrap();
    fail(&breaker, 1);
    late.report(hint());
    assert_eq!(breaker.snapshot().retry_in(), Some(ms(1_000)));
}

fn a_hint_changes_neither_weight_nor_trip_of_its_failure<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().consecutive_failures(4).open_for(ms(100));
    let breaker = breaker::<W>(config, &clock);
    let heavy = Failure::with_weight(3).asking_for(ms(1_000));
    assert_eq!(breaker.acquire().unwrap().report(heavy), None);
    assert_eq!(breaker.snapshot().failures(), 3);
    assert!(breaker.acquire().unwrap().report(heavy).is_some());
    assert_eq!(breaker.snapshot().retry_in(), Some(ms(1_000)));
    let light = Failure::with_weight(0).asking_for(ms(1_000));
    breaker.reset();
    assert_eq!(breaker.acquire().unwrap().report(light), None);
    let tripping = Failure::tripping().asking_for(ms(1_000));
    assert_eq!(tripping, Failure::tripping_for(ms(1_000)));
    assert!(breaker.acquire().unwrap().report(tripping).is_some());
}

fn a_limit_of_zero_leaves_an_ordinary_failure<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().consecutive_failures(2).open_for(ms(100));
    let breaker = breaker::<W>(config.max_retry_after(ms(0)), &clock);
    breaker.acquire().unwrap().report(hint());
    let made = breaker.acquire().unwrap().report(hint()).unwrap();
    assert_eq!(made.cause, Cause::FailureLimit);
    assert_eq!(breaker.snapshot().retry_in(), Some(ms(100)));
    assert!(!breaker.snapshot().is_demanded());
}

/// A share of hints counts as any share of failures.
fn hints_are_calls_of_a_ratio<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules()
        .open_for(ms(100))
        .tally_only()
        .failure_ratio(Ratio::percent(50).of_last(4).min_calls(4));
    let memory = LastCalls::over(W::fresh());
    let breaker = Breaker::from_parts(W::fresh(), checked::<W>(config), &clock, memory, ());
    for is_hint in [true, false, false] {
        let permit = breaker.acquire().unwrap();
        let made = if is_hint {
            permit.report(hint())
        } else {
            permit.success()
        };
        assert_eq!(made, None);
    }
    let made = breaker.acquire().unwrap().report(hint()).unwrap();
    assert_eq!(made.cause, Cause::RetryAfter);
    assert_eq!(breaker.state(), State::Open);
}

on_both_words!(
    a_hint_beside_successes_opens_nothing,
    a_row_of_hints_opens_for_the_time_asked,
    only_the_failure_that_trips_says_for_how_long,
    a_hint_in_a_window_and_one_that_must_last,
    a_probe_that_is_asked_to_wait_opens_for_as_long,
    a_hint_that_comes_late_moves_the_deadline,
    a_hint_changes_neither_weight_nor_trip_of_its_failure,
    a_limit_of_zero_leaves_an_ordinary_failure,
    hints_are_calls_of_a_ratio,
);
