// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures: when they trip, and how much they weigh.

use atomic_breaker::{Failure, ManualClock, Outcome, State};

use super::support::{AnyWord, breaker, fail, ms, on_both_words, rules};

fn trips_at_the_limit_of_failures_in_a_row<W: AnyWord>() {
    for limit in [1, 2, 5, W::MAX_FAILURES] {
        let clock = ManualClock::new();
        let breaker = breaker::<W>(rules().consecutive_failures(limit), &clock);
        fail(&breaker, limit - 1);
        assert_eq!(breaker.state(), State::Closed, "{limit} less one");
        fail(&breaker, 1);
        assert_eq!(breaker.state(), State::Open, "{limit}");
    }
}

fn a_success_between_ends_the_row<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(2), &clock);
    for _ in 0..10 {
        fail(&breaker, 1);
        breaker.acquire().unwrap().success();
    }
    assert_eq!(breaker.snapshot().failures(), 0);
    fail(&breaker, 2);
    assert_eq!(breaker.state(), State::Open);
}

fn ignored_and_dropped_calls_neither_count_nor_clear<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(3), &clock);
    fail(&breaker, 2);
    breaker.acquire().unwrap().report(Outcome::Ignored);
    drop(breaker.acquire().unwrap());
    breaker.acquire().unwrap().cancel();
    assert_eq!(breaker.snapshot().failures(), 2);
}

fn failures_within_a_window_trip_despite_successes_between<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().failures_within(3, ms(100)), &clock);
    for advance in [0, 50, 49] {
        assert_eq!(breaker.state(), State::Closed);
        clock.advance(ms(advance));
        fail(&breaker, 1);
        if breaker.state() == State::Closed {
            breaker.acquire().unwrap().success();
        }
    }
    assert_eq!(breaker.state(), State::Open, "99 ms after the first");
}

fn a_failure_at_the_very_end_of_the_window_starts_the_next<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().failures_within(3, ms(100)), &clock);
    fail(&breaker, 2);
    clock.advance(ms(100));
    fail(&breaker, 1);
    assert_eq!(breaker.snapshot().failures(), 1);
    clock.advance(ms(99));
    fail(&breaker, 1);
    assert_eq!(
        breaker.snapshot().failures(),
        2,
        "of the window that began with it"
    );
}

fn a_window_takes_the_maximum_of_failures<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().failures_within(W::MAX_FAILURES, ms(u64::from(W::LONGEST)));
    let breaker = breaker::<W>(config, &clock);
    fail(&breaker, W::MAX_FAILURES - 1);
    clock.advance(ms(u64::from(W::LONGEST) - 1));
    assert_eq!(breaker.state(), State::Closed);
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);
}

fn failures_weigh_what_they_say<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().consecutive_failures(5);
    let breaker = breaker::<W>(config, &clock);
    let report = |weight| {
        breaker
            .acquire()
            .unwrap()
            .report(Failure::with_weight(weight))
    };
    report(3);
    report(0);
    assert_eq!(breaker.snapshot().failures(), 3);
    report(1);
    assert_eq!(breaker.state(), State::Closed);
    report(1);
    assert_eq!(breaker.state(), State::Open);
    breaker.reset();
    breaker
        .acquire()
        .unwrap()
        .report(Failure::with_weight(u16::MAX));
    assert_eq!(breaker.state(), State::Open, "no sum overflows");
    breaker.reset();
    breaker.acquire().unwrap().report(Failure::with_weight(4));
    breaker
        .acquire()
        .unwrap()
        .report(Failure::with_weight(u16::MAX));
    assert_eq!(breaker.state(), State::Open);
}

fn a_weightless_failure_neither_counts_nor_clears_nor_starts_a_window<W: AnyWord>() {
    let clock = ManualClock::starting_at(7);
    for config in [
        rules().consecutive_failures(1),
        rules().failures_within(1, ms(100)),
    ] {
        let breaker = breaker::<W>(config, &clock);
        breaker.acquire().unwrap().report(Failure::with_weight(0));
        assert_eq!(breaker.state(), State::Closed);
        assert_eq!(breaker.check(), Ok(()));
        assert_eq!(breaker.snapshot().failures(), 0);
    }
}

fn a_tripping_failure_trips_at_once<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(200), &clock);
    breaker.acquire().unwrap().report(Failure::tripping());
    assert_eq!(breaker.state(), State::Open);
}

fn a_success_that_takes_the_limit_is_a_failure_one_millisecond_less_is_not<W: AnyWord>() {
    let clock = ManualClock::starting_at(1);
    let config = rules().consecutive_failures(1).slow_call(ms(250));
    let breaker = breaker::<W>(config, &clock);

    let permit = breaker.acquire().unwrap();
    clock.advance(ms(249));
    permit.success();
    assert_eq!(breaker.state(), State::Closed);

    let permit = breaker.acquire().unwrap();
    clock.advance(ms(250));
    permit.success();
    assert_eq!(breaker.state(), State::Open);
}

fn a_fast_success_clears_failures_where_slow_calls_are_measured<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().consecutive_failures(2).slow_call(ms(250));
    let breaker = breaker::<W>(config, &clock);
    fail(&breaker, 1);
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.snapshot().failures(), 0);
}

fn a_slow_probe_reopens<W: AnyWord>() {
    let clock = ManualClock::starting_at(1);
    let config = rules().slow_call(ms(10)).open_for(ms(100));
    let breaker = breaker::<W>(config, &clock);
    breaker.trip();
    clock.advance(ms(100));
    let probe = breaker.acquire().unwrap();
    clock.advance(ms(10));
    probe.success();
    assert_eq!(breaker.state(), State::Open);
    assert_eq!(breaker.snapshot().trips(), 2);
}

fn a_call_during_which_the_clock_steps_back_is_not_slow<W: AnyWord>() {
    let clock = ManualClock::starting_at(1_000);
    let config = rules().consecutive_failures(1).slow_call(ms(10));
    let breaker = breaker::<W>(config, &clock);
    let permit = breaker.acquire().unwrap();
    clock.step_back(ms(5));
    permit.success();
    assert_eq!(breaker.state(), State::Closed);
}

fn a_window_that_is_over_is_counted_until_the_next_report<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().failures_within(3, ms(100)), &clock);
    fail(&breaker, 2);
    clock.advance(ms(99));
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.snapshot().failures(), 2, "the window goes on");
    clock.advance(ms(1));
    assert_eq!(breaker.snapshot().failures(), 2, "nothing was reported");
    let epoch = breaker.snapshot().epoch();
    assert_eq!(breaker.acquire().unwrap().success(), None);
    assert_eq!(breaker.snapshot().failures(), 0);
    assert_eq!(breaker.snapshot().epoch(), epoch);

    breaker.acquire().unwrap().report(Failure::with_weight(2));
    clock.advance(ms(5_000));
    breaker.acquire().unwrap().report(Failure::with_weight(2));
    assert_eq!(breaker.snapshot().failures(), 2, "of the next window");
}

fn weights_within_a_window_add_up_and_the_first_may_trip_by_itself<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().failures_within(W::MAX_FAILURES, ms(100));
    for first in [0, 1, 200] {
        let breaker = breaker::<W>(config, &clock);
        breaker
            .acquire()
            .unwrap()
            .report(Failure::with_weight(first));
        assert_eq!(breaker.snapshot().failures(), first);
        let rest = W::MAX_FAILURES as u16 - first;
        breaker
            .acquire()
            .unwrap()
            .report(Failure::with_weight(rest));
        assert_eq!(breaker.state(), State::Open, "{first} and {rest}");
    }
    for (limit, weight) in [(5, 256), (W::MAX_FAILURES, u16::MAX)] {
        // More than the word counts: this used to panic with debug assertions.
        let breaker = breaker::<W>(rules().failures_within(limit, ms(100)), &clock);
        let made = breaker
            .acquire()
            .unwrap()
            .report(Failure::with_weight(weight));
        assert_eq!(made.map(|made| made.to), Some(State::Open), "{weight}");
    }
    for limit in [1, 3] {
        let breaker = breaker::<W>(rules().failures_within(limit, ms(100)), &clock);
        breaker.acquire().unwrap().report(Failure::with_weight(3));
        assert_eq!(breaker.state(), State::Open, "3 of {limit}");
    }
}

/// A slow failure keeps its own weight, and a slow call that is ignored stays ignored. A dropped call makes no
/// report, so it counts if it was slow.
fn a_success_or_a_drop_can_be_too_slow<W: AnyWord>() {
    let clock = ManualClock::starting_at(1);
    let breaker = breaker::<W>(rules().slow_call(ms(10)), &clock);
    let slow = || {
        let permit = breaker.acquire().unwrap();
        clock.advance(ms(50));
        permit
    };
    slow().report(Failure::with_weight(3));
    assert_eq!(breaker.snapshot().failures(), 3);
    slow().report(Outcome::Ignored);
    assert_eq!(breaker.snapshot().failures(), 3);
    slow().success();
    assert_eq!(breaker.snapshot().failures(), 4, "a failure of weight 1");
    breaker.reset();
    slow().cancel();
    assert_eq!(breaker.snapshot().failures(), 1);
    drop(slow());
    assert_eq!(breaker.snapshot().failures(), 2);
}

/// The start is stored as a non-zero number: 1 if the clock reads 0.
fn a_call_that_starts_and_ends_where_the_clock_reads_zero_is_not_slow<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().consecutive_failures(1).slow_call(ms(1));
    let breaker = breaker::<W>(config, &clock);
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
    let permit = breaker.acquire().unwrap();
    clock.advance(ms(2));
    permit.success();
    assert_eq!(breaker.state(), State::Open, "1 ms short, as documented");
}

on_both_words!(
    trips_at_the_limit_of_failures_in_a_row,
    a_success_between_ends_the_row,
    ignored_and_dropped_calls_neither_count_nor_clear,
    failures_within_a_window_trip_despite_successes_between,
    a_failure_at_the_very_end_of_the_window_starts_the_next,
    a_window_takes_the_maximum_of_failures,
    failures_weigh_what_they_say,
    a_weightless_failure_neither_counts_nor_clears_nor_starts_a_window,
    a_tripping_failure_trips_at_once,
    a_success_that_takes_the_limit_is_a_failure_one_millisecond_less_is_not,
    a_fast_success_clears_failures_where_slow_calls_are_measured,
    a_slow_probe_reopens,
    a_call_during_which_the_clock_steps_back_is_not_slow,
    a_window_that_is_over_is_counted_until_the_next_report,
    weights_within_a_window_add_up_and_the_first_may_trip_by_itself,
    a_success_or_a_drop_can_be_too_slow,
    a_call_that_starts_and_ends_where_the_clock_reads_zero_is_not_slow,
);
