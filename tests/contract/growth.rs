// SPDX-License-Identifier: MIT OR Apache-2.0
//! Open times that grow from trip to trip.

use std::time::Duration;

use atomic_breaker::{Config, Failure, ManualClock, State};

use super::support::{AnyWord, Tested, breaker, ms, on_both_words, opened_for, rules};

/// The open times, in milliseconds, of the given number of trips in a row.
fn open_times<W: AnyWord>(config: Config, trips: usize) -> Vec<u64> {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(config, &clock);
    breaker.trip();
    (0..trips)
        .map(|_| {
            let open = opened_for(&breaker);
            clock.advance(open);
            breaker.acquire().unwrap().failure();
            open.as_millis() as u64
        })
        .collect()
}

fn every_trip_opens_for_the_same_time_without_growth<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(20)), &clock);
    breaker.trip();
    for _ in 0..5 {
        assert_eq!(opened_for(&breaker), ms(20));
        clock.advance(ms(20));
        breaker.acquire().unwrap().failure();
    }
}

fn growth_goes_up_to_its_maximum_and_stays_there<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().open_for(ms(10)).exponential(2, ms(123));
    let breaker = breaker::<W>(config, &clock);
    breaker.trip();
    for (trip, expected) in (1_u8..40).zip([10, 20, 40, 80].into_iter().chain([123].repeat(36))) {
        assert_eq!(opened_for(&breaker), ms(expected), "trip {trip}");
        assert_eq!(breaker.snapshot().trips(), trip.min(W::MAX_TRIPS));
        clock.advance(ms(expected));
        breaker.acquire().unwrap().failure();
    }
}

fn growth_takes_any_factor<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().open_for(ms(3)).exponential(5, ms(1_000));
    let breaker = breaker::<W>(config, &clock);
    breaker.trip();
    for expected in [3, 15, 75] {
        assert_eq!(opened_for(&breaker), ms(expected));
        clock.advance(ms(expected));
        breaker.acquire().unwrap().failure();
    }
}

/// Open for 20 ms, then a probe that succeeds.
fn recovered<W: AnyWord>(config: Config, clock: &ManualClock) -> Tested<'_, W> {
    let breaker = breaker::<W>(config.open_for(ms(10)).exponential(2, ms(400)), clock);
    breaker.trip();
    clock.advance(ms(10));
    breaker.acquire().unwrap().failure();
    assert_eq!(opened_for(&breaker), ms(20));
    clock.advance(ms(20));
    breaker.acquire().unwrap().success();
    breaker
}

/// A resource that answers each probe and fails what follows used to be tried again after the first open time, for ever.
fn trips_are_remembered_for_as_long_as_it_was_open<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = recovered::<W>(rules(), &clock);
    assert_eq!(breaker.state(), State::Returning);
    clock.advance(ms(19));
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.snapshot().trips(), 2);
    breaker.acquire().unwrap().report(Failure::tripping());
    assert_eq!(opened_for(&breaker), ms(40));
    // Once more, and now it is well for as long.
    clock.advance(ms(40));
    breaker.acquire().unwrap().success();
    clock.advance(ms(40));
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(breaker.snapshot().trips(), 0);
    breaker.trip();
    assert_eq!(opened_for(&breaker), ms(10));
}

/// Without a gradual return no call is rejected, whatever the dice, and no snapshot says so.
fn all_calls_pass_while_trips_are_remembered<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = recovered::<W>(rules(), &clock);
    for _ in 0..20 {
        assert_eq!(breaker.state(), State::Returning);
        assert_eq!(breaker.snapshot().returning_percent(), Some(100));
        assert_eq!(breaker.snapshot().rejection(), None);
        breaker.acquire().unwrap().success();
        clock.advance(ms(1));
    }
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
}

/// The share has grown to all calls long before the trips are forgotten, or the other way round.
fn a_gradual_return_and_the_growth_end_together<W: AnyWord>() {
    for over in [4, 50] {
        let clock = ManualClock::new();
        let breaker = recovered::<W>(rules().gradual_return(100, ms(over)), &clock);
        let both = over.max(20);
        clock.advance(ms(both - 1));
        breaker.acquire().unwrap().success();
        assert_eq!(breaker.state(), State::Returning, "{over}");
        clock.advance(ms(1));
        breaker.acquire().unwrap().success();
        assert_eq!(breaker.state(), State::Closed, "{over}");
    }
}

/// A background of failures below the limit of a window lasts longer than the return, and trips nothing.
fn a_window_is_judged_by_the_whole_return<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().failures_within(4, ms(5));
    let breaker = recovered::<W>(config, &clock);
    for _ in 0..10 {
        breaker.acquire().unwrap().failure();
        clock.advance(ms(2));
    }
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
}

/// Nothing grows, so there is nothing to remember.
fn without_growth_it_closes_at_once<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)), &clock);
    breaker.trip();
    clock.advance(ms(10));
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
}

/// A resource that answers each probe, and fails every other call for an hour, with one call each 10 ms.
fn a_resource_that_flaps_is_left_alone_for_longer_each_time<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().consecutive_failures(5).open_for(ms(100));
    let breaker = breaker::<W>(config.exponential(2, ms(6_400)), &clock);
    let mut wasted = 0;
    for _ in 0..360_000 {
        if let Ok(permit) = breaker.acquire() {
            if permit.is_probe() {
                permit.success();
            } else {
                wasted += 1;
                permit.failure();
            }
        }
        clock.advance(ms(10));
    }
    // Seven times until the longest, then five every 6.4 s and the 60 ms of the calls.
    let expected = 5 * (7 + 3_600_000 / 6_460);
    assert!(wasted <= expected, "{wasted} of {expected}");
    assert!(wasted >= expected / 2, "{wasted} of {expected}");
}

/// With a factor of 1.5, each open time is half as long again as the one before.
fn growth_by_150_percent<W: AnyWord>() {
    let config = rules()
        .open_for(ms(1_000))
        .exponential_percent(150, ms(8_000));
    let expected = [
        1_000, 1_500, 2_250, 3_375, 5_062, 7_593, 8_000, 8_000, 8_000,
    ];
    assert_eq!(open_times::<W>(config, 9), expected);
    let half = rules().open_for(ms(1)).exponential_percent(150, ms(1));
    assert_eq!(
        open_times::<W>(half, 4),
        [1; 4],
        "the maximum is reached at once"
    );
}

/// The factor is stored in 256ths, rounded up, so that the open time grows by at least the factor that was set.
fn growth_by_any_percentage_is_at_least_that<W: AnyWord>() {
    for percent in [101, 110, 125, 133, 175, 199, 201, 250, 1_000] {
        let config = rules()
            .open_for(ms(1_000))
            .exponential_percent(percent, ms(1_060));
        let times = open_times::<W>(config, 7);
        for pair in times.windows(2) {
            let asked = (pair[0] * u64::from(percent) / 100).min(1_060);
            assert!(pair[1] >= asked, "{percent} %: {times:?}");
            assert!(pair[1] <= asked + asked / 200 + 1, "{percent} %: {times:?}");
        }
        assert_eq!(times[6], 1_060, "{percent} %");
    }
}

fn a_factor_is_so_many_hundred_percent<W: AnyWord>() {
    let open = rules().open_for(ms(7));
    for factor in [2, 3, 10] {
        let percent = open.exponential_percent(100 * factor, ms(400));
        assert_eq!(percent, open.exponential(factor, ms(400)));
        let times = open_times::<W>(percent, 7);
        for (times_before, time) in (0..).zip(&times) {
            assert_eq!(*time, (7 * u64::from(factor).pow(times_before)).min(400));
        }
    }
}

fn linear_growth_adds_a_step_at_each_trip<W: AnyWord>() {
    let config = rules().open_for(ms(1_000)).linear(ms(700), ms(3_000));
    assert_eq!(
        open_times::<W>(config, 6),
        [1_000, 1_700, 2_400, 3_000, 3_000, 3_000]
    );
    let from_nothing = rules().open_for(ms(0)).linear(ms(50), ms(120));
    assert_eq!(open_times::<W>(from_nothing, 5), [0, 50, 100, 120, 120]);
}

fn the_last_growth_that_was_set_counts<W: AnyWord>() {
    let open = rules().open_for(ms(100));
    let linear = open.exponential(2, ms(400)).linear(ms(10), ms(130));
    assert_eq!(open_times::<W>(linear, 5), [100, 110, 120, 130, 130]);
    let exponential = open.linear(ms(10), ms(130)).exponential(2, ms(400));
    assert_eq!(open_times::<W>(exponential, 4), [100, 200, 400, 400]);
}

/// Nothing overflows, however fast the growth and however many trips.
fn growth_overflows_nothing<W: AnyWord>() {
    let longest = ms(W::LONGEST.into());
    for config in [
        rules().open_for(longest).exponential(u32::MAX, longest),
        rules().open_for(ms(1)).exponential(u32::MAX, longest),
        rules()
            .open_for(ms(1))
            .exponential_percent(u32::MAX, longest),
        rules().open_for(longest).linear(Duration::MAX, longest),
        rules().open_for(ms(1)).linear(Duration::MAX, longest),
    ] {
        let times = open_times::<W>(config, 40);
        assert!(times.is_sorted(), "{times:?}");
        assert_eq!(times[39], u64::from(W::LONGEST));
    }
}

on_both_words!(
    every_trip_opens_for_the_same_time_without_growth,
    growth_goes_up_to_its_maximum_and_stays_there,
    growth_takes_any_factor,
    trips_are_remembered_for_as_long_as_it_was_open,
    all_calls_pass_while_trips_are_remembered,
    a_gradual_return_and_the_growth_end_together,
    a_window_is_judged_by_the_whole_return,
    without_growth_it_closes_at_once,
    a_resource_that_flaps_is_left_alone_for_longer_each_time,
    growth_by_150_percent,
    growth_by_any_percentage_is_at_least_that,
    a_factor_is_so_many_hundred_percent,
    linear_growth_adds_a_step_at_each_trip,
    the_last_growth_that_was_set_counts,
    growth_overflows_nothing,
);
