// SPDX-License-Identifier: MIT OR Apache-2.0
//! The life of a gradual return: how it begins, how reports count in it, how it ends.

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Cause, Config, Failure, Outcome, State, Wait};

use super::{RAMP, config, returning};
use crate::support::{AnyWord, Diary, Diced, fail, ms, on_both_words, rules};

fn enough_probes_let_traffic_return<W: AnyWord>() {
    let (clock, diary) = (Diced::default(), Diary::default());
    let breaker = Breaker::builder(config().close_after(2), &clock)
        .word(W::fresh())
        .observer(&diary)
        .build();
    fail(&breaker, 5);
    clock.advance(10);
    assert_eq!(breaker.acquire().unwrap().success(), None);
    let made = breaker.acquire().unwrap().success().unwrap();
    assert_eq!((made.from, made.to), (State::HalfOpen, State::Returning));
    assert_eq!((made.cause, made.trips), (Cause::ProbesSucceeded, 1));
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state(), snapshot.trips()), (State::Returning, 1));
    assert_eq!(
        (snapshot.failures(), snapshot.returning_percent()),
        (0, Some(10))
    );
    assert_eq!(snapshot.wait(), Some(Wait::AtMost(ms(RAMP))));
    assert_eq!(snapshot.retry_in(), Some(ms(RAMP / 2)), "there is no hurry");
    assert!(!snapshot.is_due());
    let causes = [
        Cause::FailureLimit,
        Cause::OpenTimeOver,
        Cause::ProbesSucceeded,
    ];
    assert_eq!(diary.causes(), causes);
}

fn calls_that_pass_change_nothing_and_the_others_are_rejected<W: AnyWord>() {
    let (clock, diary) = (Diced::default(), Diary::default());
    let breaker = returning::<W>(config(), &clock, &diary);
    clock.advance(300);
    let bits = breaker.to_bits();
    clock.throw(0);
    let permit = breaker.acquire().unwrap();
    assert!(!permit.is_probe());
    clock.throw(u32::MAX);
    let rejected = breaker.acquire().unwrap_err();
    assert_eq!(rejected.state(), State::Returning);
    assert_eq!(rejected.wait(), Wait::AtMost(ms(700)));
    assert_eq!(rejected.retry_in(), Some(ms(350)), "half of it");
    assert_eq!(
        rejected.to_string(),
        "circuit breaker is returning, all calls pass within 700ms"
    );
    assert_eq!(*diary.rejected.borrow(), [rejected]);
    clock.advance(649);
    assert_eq!(breaker.acquire().unwrap_err().retry_in(), Some(ms(26)));
    assert_eq!(breaker.to_bits(), bits);
    assert!(diary.causes().is_empty());
}

fn at_the_end_the_next_call_closes_and_passes<W: AnyWord>() {
    let (clock, diary) = (Diced::default(), Diary::default());
    let breaker = returning::<W>(config(), &clock, &diary);
    clock.throw(u32::MAX);
    clock.advance(RAMP - 1);
    assert!(breaker.acquire().is_err(), "1 ms before the end");
    clock.advance(1);
    assert_eq!(breaker.state(), State::Returning, "no call was made");
    assert_eq!(breaker.snapshot().wait(), None);
    assert_eq!(breaker.snapshot().returning_percent(), Some(100));
    let permit = breaker.acquire().unwrap();
    let made = diary.transitions.borrow()[0];
    assert_eq!((made.from, made.to), (State::Returning, State::Closed));
    assert_eq!((made.cause, made.trips), (Cause::TrafficReturned, 0));
    assert_eq!(breaker.snapshot().trips(), 0);
    permit.failure();
    assert_eq!(
        breaker.snapshot().failures(),
        1,
        "a permit of the new epoch"
    );
}

fn a_permit_of_the_return_changes_nothing_once_it_is_over<W: AnyWord>() {
    let (clock, diary) = (Diced::default(), Diary::default());
    let breaker = returning::<W>(config(), &clock, &diary);
    let permits = [(); 3].map(|()| breaker.acquire().unwrap());
    clock.advance(RAMP);
    drop(breaker.acquire().unwrap());
    let bits = breaker.to_bits();
    for permit in permits {
        assert_eq!(permit.report(Failure::tripping_for(ms(500))), None);
    }
    assert_eq!(breaker.to_bits(), bits);
}

fn failures_in_a_row_trip_and_growth_goes_on<W: AnyWord>() {
    let (clock, diary) = (Diced::default(), Diary::default());
    let config = config().consecutive_failures(3).exponential(2, ms(40));
    let breaker = returning::<W>(config, &clock, &diary);
    for trips in [2, 3, 4_u8] {
        clock.advance(77);
        let began = breaker.snapshot().wait();
        fail(&breaker, 2);
        assert_eq!(breaker.snapshot().failures(), 2);
        breaker.acquire().unwrap().success();
        let snapshot = breaker.snapshot();
        assert_eq!((snapshot.failures(), snapshot.trips()), (0, trips - 1));
        assert_eq!(snapshot.wait(), began, "the return goes on");
        fail(&breaker, 3);
        let made = *diary.transitions.take().last().unwrap();
        assert_eq!((made.from, made.to), (State::Returning, State::Open));
        assert_eq!((made.cause, made.trips), (Cause::FailureLimit, trips));
        let open = 10 << (trips - 1).min(2);
        assert_eq!(made.open_for_ms, open);
        clock.advance(open.into());
        breaker.acquire().unwrap().success();
        assert_eq!(
            breaker.snapshot().returning_percent(),
            Some(10),
            "from the start again"
        );
    }
}

fn a_success_changes_nothing_where_nothing_is_counted<W: AnyWord>() {
    for config in [config(), config().failures_within(3, ms(50))] {
        let (clock, diary) = (Diced::default(), Diary::default());
        let breaker = returning::<W>(config, &clock, &diary);
        let bits = breaker.to_bits();
        for _ in 0..20 {
            breaker.acquire().unwrap().success();
        }
        breaker.acquire().unwrap().report(Outcome::Ignored);
        drop(breaker.acquire().unwrap());
        assert_eq!(breaker.to_bits(), bits);
    }
}

fn a_failure_that_demands_trips_a_return<W: AnyWord>() {
    for (failure, cause, open, demanded) in [
        (Failure::tripping(), Cause::TripDemanded, 10, false),
        (Failure::tripping_for(ms(90)), Cause::RetryAfter, 90, true),
    ] {
        let (clock, diary) = (Diced::default(), Diary::default());
        let breaker = returning::<W>(config(), &clock, &diary);
        let late = breaker.acquire().unwrap();
        let made = breaker.acquire().unwrap().report(failure).unwrap();
        assert_eq!(
            (made.from, made.cause, made.trips),
            (State::Returning, cause, 2)
        );
        assert_eq!(made.open_for(), Some(ms(open)));
        assert_eq!(breaker.snapshot().is_demanded(), demanded);
        late.report(Failure::tripping_for(ms(800)));
        assert_eq!(
            breaker.snapshot().retry_in(),
            Some(ms(800)),
            "granted just before"
        );
    }
}

fn a_slow_call_counts_and_so_does_one_that_is_dropped_slow<W: AnyWord>() {
    let (clock, diary) = (Diced::default(), Diary::default());
    let breaker = returning::<W>(config().slow_call(ms(20)), &clock, &diary);
    let permits = [(); 2].map(|()| breaker.acquire().unwrap());
    clock.advance(20);
    let [slow, dropped] = permits;
    slow.success();
    drop(dropped);
    assert_eq!(breaker.snapshot().failures(), 2);
    assert_eq!(breaker.state(), State::Returning);
}

/// Only one of the two knows about the return: the other one lets every call pass, and closes.
fn of_two_breakers_on_one_word_the_one_without_the_rule_ends_the_return<W: AnyWord>() {
    let (clock, diary) = (Diced::default(), Diary::default());
    let word = W::fresh();
    let gradual = Breaker::over(&word, config(), &clock);
    let plain = Breaker::builder(rules(), &clock)
        .word(&word)
        .observer(&diary)
        .build();
    gradual.force_open();
    gradual.release();
    gradual.acquire().unwrap().success();
    clock.throw(u32::MAX);
    assert!(gradual.acquire().is_err());
    assert_eq!(plain.snapshot().returning_percent(), Some(100));
    let permit = plain.acquire().unwrap();
    assert_eq!(gradual.state(), State::Closed);
    assert_eq!(diary.causes(), [Cause::TrafficReturned]);
    permit.failure();
    assert!(gradual.acquire().is_ok());
    assert_eq!(gradual.snapshot().failures(), 1);
    // If the one without the rule closes, traffic does not return gradually.
    plain.force_open();
    plain.release();
    plain.acquire().unwrap().success();
    assert_eq!(gradual.state(), State::Closed);
}

fn a_released_breaker_returns_gradually_too<W: AnyWord>() {
    let clock = Diced::default();
    let breaker = Breaker::over(W::fresh(), config(), &clock);
    breaker.force_open();
    breaker.release();
    breaker.acquire().unwrap().success();
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state(), snapshot.trips()), (State::Returning, 1));
}

/// This holds across the wraps of the word's time and of the clock, too.
fn a_return_takes_its_full_time_at_any_clock_reading<W: AnyWord>() {
    for wrap in [W::WRAP, 3 * W::WRAP, 1 << 32] {
        for before in [0, 1, 500, 999, 1_010, 1_011] {
            let (clock, diary) = (Diced::default(), Diary::default());
            clock.clock.set_ms((wrap - before) as u32);
            let breaker = returning::<W>(config(), &clock, &diary);
            clock.advance(RAMP - 1);
            assert!(breaker.acquire().is_ok(), "{wrap} {before}");
            assert_eq!(breaker.state(), State::Returning, "{wrap} {before}");
            clock.advance(1);
            assert!(breaker.acquire().is_ok(), "{wrap} {before}");
            assert_eq!(breaker.state(), State::Closed, "{wrap} {before}");
        }
    }
}

fn a_step_back_of_the_clock_ends_no_return<W: AnyWord>() {
    let (clock, diary) = (Diced::default(), Diary::default());
    clock.clock.set_ms(W::GUARD + 100);
    let breaker = returning::<W>(config(), &clock, &diary);
    clock.throw(u32::MAX);
    clock.clock.step_back(ms(W::GUARD.into()));
    assert!(breaker.acquire().is_err());
    assert_eq!(breaker.snapshot().returning_percent(), Some(10));
}

on_both_words!(
    enough_probes_let_traffic_return,
    calls_that_pass_change_nothing_and_the_others_are_rejected,
    at_the_end_the_next_call_closes_and_passes,
    a_permit_of_the_return_changes_nothing_once_it_is_over,
    failures_in_a_row_trip_and_growth_goes_on,
    a_success_changes_nothing_where_nothing_is_counted,
    a_failure_that_demands_trips_a_return,
    a_slow_call_counts_and_so_does_one_that_is_dropped_slow,
    of_two_breakers_on_one_word_the_one_without_the_rule_ends_the_return,
    a_released_breaker_returns_gradually_too,
    a_return_takes_its_full_time_at_any_clock_reading,
    a_step_back_of_the_clock_ends_no_return,
);

#[test]
fn with_a_coarse_tick_a_return_lasts_at_least_as_long_as_configured() {
    for phase in 0..64 {
        let clock = Diced::default();
        clock.clock.set_ms(6_400 + phase);
        let config = Config::new().open_for(ms(0)).gradual_return(1, ms(500));
        let breaker = Breaker::over(AtomicU32::new(0), config, &clock);
        breaker.force_open();
        breaker.release();
        breaker.acquire().unwrap().success();
        clock.advance(499);
        assert!(breaker.acquire().is_ok());
        assert_eq!(breaker.state(), State::Returning, "{phase}");
        clock.advance(1 + 2 * 64);
        assert!(breaker.acquire().is_ok());
        assert_eq!(breaker.state(), State::Closed, "at most two ticks longer");
    }
}
