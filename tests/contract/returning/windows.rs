// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures within a window, while traffic returns.

use atomic_breaker::{Cause, State};

use super::{config, returning};
use crate::support::{AnyWord, Diary, Diced, fail, ms, on_both_words};

/// The word has one time, which is the beginning of the return. So nothing is cleared, and the limit grows
/// with each window since then.
fn failures_are_counted_since_the_return_began_and_the_limit_grows_with_it<W: AnyWord>() {
    for (age, limit) in [
        (0, 3),
        (50, 3),
        (75, 5),
        (100, 6),
        (300, 18),
        (1_000, 60),
        (2_000, 60),
    ] {
        let (clock, diary) = (Diced::default(), Diary::default());
        let breaker = returning::<W>(config().failures_within(3, ms(50)), &clock, &diary);
        let calls: Vec<_> = (0..limit).map(|_| breaker.acquire().unwrap()).collect();
        clock.advance(age);
        for (failures, call) in (0..).zip(calls) {
            assert_eq!(
                breaker.state(),
                State::Returning,
                "{failures} after {age} ms"
            );
            assert_eq!(breaker.snapshot().failures(), failures);
            call.failure();
        }
        assert_eq!(
            diary.causes(),
            [Cause::FailureLimit],
            "{limit} after {age} ms"
        );
    }
}

/// Failures at a fifth of the limit: when the window was the whole return, the breaker tripped in each return,
/// 91 times in four hours.
fn failures_below_their_limit_do_not_keep_it_from_closing<W: AnyWord>() {
    let config = config()
        .failures_within(20, ms(100))
        .gradual_return(10, ms(3_000));
    let (clock, diary) = (Diced::even(), Diary::default());
    let breaker = returning::<W>(config, &clock, &diary);
    for step in 0..4_000 {
        clock.advance(1);
        if let Ok(call) = breaker.acquire() {
            // Four of each 100 ms.
            match step % 25 {
                0 => call.failure(),
                _ => call.success(),
            };
        }
    }
    assert_eq!(diary.causes(), [Cause::TrafficReturned]);
}

/// A resource that fails permanently from any moment of the return on trips when the failures of the whole return are
/// the limit for each window that it lasted.
fn a_resource_that_fails_again_trips_a_return_by_a_number_of_failures_that_is_stated<W: AnyWord>() {
    let config = config()
        .failures_within(20, ms(100))
        .gradual_return(100, ms(3_000));
    for well_for in [0, 99, 100, 500, 1_000, 2_800] {
        let (clock, diary) = (Diced::default(), Diary::default());
        let breaker = returning::<W>(config, &clock, &diary);
        clock.advance(well_for);
        let mut failed = 0_u32;
        while breaker.state() == State::Returning {
            clock.advance(u64::from(failed % 10 == 9));
            fail(&breaker, 1);
            failed += 1;
        }
        let lasted = well_for + u64::from(failed / 10);
        let stated = (20 * lasted)
            .div_ceil(100)
            .clamp(20, W::MAX_FAILURES.into());
        assert_eq!(u64::from(failed), stated, "well for {well_for} ms");
    }
}

on_both_words!(
    failures_are_counted_since_the_return_began_and_the_limit_grows_with_it,
    failures_below_their_limit_do_not_keep_it_from_closing,
    a_resource_that_fails_again_trips_a_return_by_a_number_of_failures_that_is_stated,
);
