// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures in a row that must last.

use atomic_breaker::word::Layout;
use atomic_breaker::{Breaker, Cause, Config, Failure, ManualClock, State, TripRule};

use super::support::{AnyWord, Tested, breaker, checked, fail, ms, on_both_words, rules};

fn lasting() -> Config {
    rules().consecutive_failures(3).lasting(ms(100))
}

fn calls_that_are_lost_at_once_trip_nothing<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(lasting(), &clock);
    for _ in 0..100 {
        fail(&breaker, 1);
    }
    clock.advance(ms(99));
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Closed);
    breaker.acquire().unwrap().success();
    clock.advance(ms(1_000));
    fail(&breaker, 3);
    assert_eq!(breaker.state(), State::Closed, "a row of its own");
}

fn a_row_trips_once_its_first_failure_is_so_long_ago<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(lasting(), &clock);
    fail(&breaker, 3);
    clock.advance(ms(100));
    let made = breaker.acquire().unwrap().failure().unwrap();
    assert_eq!(made.cause, Cause::FailureLimit);
    assert_eq!(breaker.state(), State::Open);
}

/// Trips that could be kept change nothing while none is.
fn a_row_is_as_old_under_rules_that_keep_trips<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = lasting().open_for(ms(10)).exponential(2, ms(40));
    let breaker = breaker::<W>(config, &clock);
    fail(&breaker, 1);
    clock.advance(ms(99));
    fail(&breaker, 2);
    assert_eq!(breaker.state(), State::Closed);
    clock.advance(ms(1));
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);
}

/// One call a second: the fifth in a row is four seconds after the first.
fn slow_rows_trip_at_their_number<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(lasting(), &clock);
    for _ in 0..2 {
        fail(&breaker, 1);
        clock.advance(ms(1_000));
        assert_eq!(breaker.state(), State::Closed);
    }
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);
}

/// A quarter of the calls fails by chance, at one call a millisecond: rows of three come all the time.
fn a_share_of_failures_opens_nothing_however_busy<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(lasting(), &clock);
    let mut seed = 1_u32;
    let mut rows = 0;
    let mut row = 0;
    for _ in 0..60_000 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let permit = breaker.acquire().expect("never rejected");
        if seed >> 30 == 0 {
            row += 1;
            permit.failure();
        } else {
            row = 0;
            permit.success();
        }
        rows += u32::from(row == 3);
        clock.advance(ms(1));
    }
    assert!(rows > 400, "{rows} would have tripped");
}

/// The price: the calls of the time, once.
fn a_dead_resource_costs_the_calls_of_that_time<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(lasting(), &clock);
    let mut wasted = 0;
    while let Ok(permit) = breaker.acquire() {
        permit.failure();
        wasted += 1;
        clock.advance(ms(1));
    }
    assert_eq!(wasted, 101);
}

/// No more are counted than the limit, so nothing overflows in a long outage of a clock that stands still.
fn the_count_stays_at_the_limit<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(lasting(), &clock);
    for _ in 0..70_000 {
        breaker
            .acquire()
            .unwrap()
            .report(Failure::with_weight(u16::MAX));
    }
    assert_eq!(breaker.snapshot().failures(), 3);
    assert_eq!(breaker.check(), Ok(()));
    clock.advance(ms(100));
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);
}

fn a_failure_that_trips_does_not_wait<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(lasting(), &clock);
    breaker.acquire().unwrap().report(Failure::tripping());
    assert_eq!(breaker.state(), State::Open);
}

/// A device that is awake for less than the time, and fails once in each boot.
fn a_row_that_was_interrupted_by_resets_has_lasted<W: AnyWord>() {
    let mut word = W::fresh();
    for boot in 1..=3 {
        let clock = ManualClock::new();
        let breaker = Breaker::over(word, lasting(), &clock);
        breaker.restore().unwrap();
        fail(&breaker, 1);
        assert_eq!(breaker.state() == State::Open, boot == 3, "boot {boot}");
        word = W::from(breaker.to_bits());
    }
}

/// Traffic that returns, 5 ms after it began.
fn returning<W: AnyWord>(clock: &ManualClock) -> Tested<'_, W> {
    let config = lasting().open_for(ms(10)).gradual_return(100, ms(4_000));
    let breaker = breaker::<W>(config, clock);
    breaker.trip();
    clock.advance(ms(10));
    breaker.acquire().unwrap().success();
    clock.advance(ms(5));
    breaker
}

fn a_row_must_last_while_traffic_returns<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = returning::<W>(&clock);
    for _ in 0..50 {
        fail(&breaker, 1);
        clock.advance(ms(1));
    }
    assert_eq!(breaker.state(), State::Returning);
    assert_eq!(breaker.snapshot().failures(), 3);
    assert_eq!(breaker.check(), Ok(()));
    // Since the failure that reached the number, which was the third.
    clock.advance(ms(51));
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Returning);
    clock.advance(ms(1));
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);
    assert_eq!(breaker.snapshot().trips(), 2);
}

/// Rows that end hold the return up by less than a hundredth of it each.
fn a_return_goes_on_through_rows_that_end<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = returning::<W>(&clock);
    for _ in 0..8 {
        fail(&breaker, 3);
        breaker.acquire().unwrap().success();
        assert_eq!(breaker.snapshot().failures(), 0);
        clock.advance(ms(499));
    }
    clock.advance(ms(4_000 / 100 * 8));
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
}

/// A blip that follows after probes have shown that the resource works.
fn a_blip_after_an_outage_trips_nothing<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = lasting().open_for(ms(10)).exponential(2, ms(500));
    let breaker = breaker::<W>(config, &clock);
    breaker.trip();
    clock.advance(ms(10));
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Returning);
    fail(&breaker, 50);
    breaker.acquire().unwrap().success();
    clock.advance(ms(10));
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
}

/// Rules that keep no trips take over while traffic returns.
fn other_rules_close_a_return_in_a_row<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = returning::<W>(&clock);
    fail(&breaker, 4);
    let other = breaker.with_rules(checked::<W>(lasting()));
    other.acquire().unwrap().failure();
    assert_eq!(other.state(), State::Closed);
}

on_both_words!(
    calls_that_are_lost_at_once_trip_nothing,
    a_row_trips_once_its_first_failure_is_so_long_ago,
    a_row_is_as_old_under_rules_that_keep_trips,
    slow_rows_trip_at_their_number,
    a_share_of_failures_opens_nothing_however_busy,
    a_dead_resource_costs_the_calls_of_that_time,
    the_count_stays_at_the_limit,
    a_failure_that_trips_does_not_wait,
    a_row_that_was_interrupted_by_resets_has_lasted,
    a_row_must_last_while_traffic_returns,
    a_return_goes_on_through_rows_that_end,
    a_blip_after_an_outage_trips_nothing,
    other_rules_close_a_return_in_a_row,
);

#[test]
fn the_time_stays_with_another_number_and_goes_with_another_rule() {
    let config = Config::new().lasting(ms(7));
    let (failures, lasting_ms) = (5, 7);
    let rule = TripRule::Lasting {
        failures,
        lasting_ms,
    };
    assert_eq!(config.trip, rule);
    let (failures, lasting_ms) = (9, 7);
    let rule = TripRule::Lasting {
        failures,
        lasting_ms,
    };
    assert_eq!(config.consecutive_failures(9).trip, rule);
    assert_eq!(
        Config::new()
            .tally_only()
            .lasting(ms(7))
            .consecutive_failures(9)
            .trip,
        rule,
        "in any order"
    );
    assert_eq!(config.lasting(ms(0)), Config::new());
    let within = Config::new().failures_within(2, ms(50));
    assert_eq!(config.failures_within(2, ms(50)), within);
    assert_eq!(within.lasting(ms(0)), within);
    assert_eq!(config.tally_only(), Config::new().tally_only());
}

#[test]
fn limits_of_a_row_that_lasts() {
    let fault = |config: Config, layout| config.check(layout).unwrap_err().message();
    for other in [
        Config::new().failures_within(2, ms(50)).lasting(ms(1)),
        Config::new().tally_only().lasting(ms(1)),
        Config::new().consecutive_failures(0).lasting(ms(1)),
    ] {
        let message = fault(other, Layout::WIDE);
        assert!(
            message.contains("set consecutive_failures of at least 1 with it"),
            "{message}"
        );
    }
    let mut none = Config::new();
    none.trip = TripRule::Lasting {
        failures: 5,
        lasting_ms: 0,
    };
    assert!(fault(none, Layout::WIDE).contains("use that rule"));
    let row = |failures| Config::new().consecutive_failures(failures).lasting(ms(1));
    assert!(row(32_767).check(Layout::WIDE).is_ok());
    assert!(fault(row(32_768), Layout::WIDE).contains("at most 32767"));
    assert!(row(127).check(Layout::NARROW).is_ok());
    assert!(fault(row(128), Layout::NARROW).contains("127 in a 32-bit word"));
    let long = |ms: u64| Config::new().lasting(std::time::Duration::from_millis(ms));
    assert!(long(1 << 31).check(Layout::WIDE).is_ok());
    assert!(fault(long((1 << 31) + 1), Layout::WIDE).contains("lasting is longer than"));
    assert!(fault(long((1 << 20) + 1), Layout::NARROW).contains("lasting is longer than"));
}
