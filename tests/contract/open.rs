// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rejections, deadlines, and minimum open times.

use std::time::Duration;

use atomic_breaker::word::AtomicU32;
use atomic_breaker::{Breaker, Failure, ManualClock, State};

use super::support::{
    AnyWord, Diary, Fine, breaker, ms, observed, on_both_words, opened_for, rules,
};

fn the_deadline_is_inclusive<W: AnyWord>() {
    for open_for in [1, 2, 31, 61, 1_001, 9_999, u64::from(W::LONGEST)] {
        let clock = ManualClock::starting_at(500);
        let breaker = breaker::<W>(rules().open_for(ms(open_for)), &clock);
        breaker.trip();
        clock.advance(ms(open_for - 1));
        let rejected = breaker.acquire().unwrap_err();
        assert_eq!(rejected.retry_in(), Some(ms(1)), "one before {open_for}");
        assert_eq!(rejected.state(), State::Open);
        clock.advance(ms(1));
        assert!(breaker.acquire().unwrap().is_probe(), "at {open_for}");
    }
}

fn a_rejection_has_the_time_that_is_left<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(1_024)), &clock);
    breaker.trip();
    for left in [1_024, 1_000, 512, 3, 1] {
        clock.set_ms(1_024 - left);
        let rejected = breaker.acquire().unwrap_err();
        assert_eq!(rejected.retry_in_ms(), Some(left));
    }
}

fn an_open_time_of_zero_probes_at_once<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(Duration::ZERO), &clock);
    breaker.trip();
    assert!(breaker.acquire().unwrap().is_probe());
}

/// The most natural line of all.
fn a_program_that_looks_before_it_calls_is_served_again<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().consecutive_failures(3).open_for(ms(1_000)), &clock);
    let (mut fallbacks, mut served) = (0, 0);
    for second in 0..60 {
        clock.advance(ms(100));
        if breaker.state() == State::Open {
            fallbacks += 1;
            continue;
        }
        // Dead for the first twenty looks.
        let answer = breaker.call(|| if second < 20 { Err(()) } else { Ok(()) });
        served += u32::from(answer.is_ok());
    }
    // Three failures, a probe that fails, and the open times after them.
    assert_eq!((fallbacks, served), (9 + 9, 60 - 3 - 1 - 9 - 9));
    assert_eq!(breaker.state(), State::Closed);
}

#[test]
fn with_a_coarse_tick_a_retry_after_exactly_retry_in_passes_and_an_earlier_one_does_not() {
    // All phases of the trip and of the rejection within a tick of 64 ms.
    for tripped in 0..64 {
        for asked in 0..64 {
            let clock = ManualClock::starting_at(6_400 + tripped);
            let config = rules().open_for(ms(300));
            let breaker = Breaker::over(AtomicU32::new(0), config, &clock);
            breaker.trip();
            clock.advance(ms(asked));
            let wait = breaker.acquire().unwrap_err().retry_in().unwrap();
            assert!(ms(asked) + wait >= ms(300), "never early");
            assert!(
                ms(asked) + wait < ms(300 + 2 * 64),
                "at most two ticks late"
            );
            clock.advance(wait.checked_sub(ms(1)).unwrap());
            assert!(breaker.acquire().is_err(), "{tripped} {asked}");
            clock.advance(ms(1));
            assert!(breaker.acquire().is_ok(), "{tripped} {asked}");
        }
    }
}

/// The word has few bits for the open time, so it is stored rounded up; the deadline is exact nevertheless, as
/// the stored time of the trip is moved back by the same amount.
fn deadlines_are_exact_and_only_the_open_time_is_stored_rounded_up<W: AnyWord>() {
    let longest = u64::from(W::LONGEST);
    for time in [
        17, 33, 100, 1_001, 4_097, 9_999, 100_003, 86_400_001, longest,
    ] {
        if time > longest {
            continue;
        }
        let clock = ManualClock::starting_at(5);
        let breaker = breaker::<W>(rules().open_for(ms(time)), &clock);
        let tripped = breaker.trip().unwrap();
        assert_eq!(tripped.open_for(), Some(ms(time)));
        let snapshot = breaker.snapshot();
        assert_eq!(snapshot.retry_in(), Some(ms(time)));
        let stored = snapshot.open_for().unwrap().as_millis() as u64;
        let above = stored - time;
        assert!(
            above * u64::from(W::STORED_STEPS) <= time,
            "{time}: {stored}"
        );
        let opened_at = snapshot.opened_at_ms().unwrap();
        assert_eq!(
            opened_at,
            5_u32.wrapping_sub(above as u32),
            "{time}: {stored}"
        );
        clock.advance(ms(time - 1));
        assert!(breaker.acquire().is_err(), "1 ms before {time}");
        clock.advance(ms(1));
        assert!(breaker.acquire().is_ok(), "at {time}");
    }
}

fn a_minimum_open_time_trips_at_once_and_lengthens_but_never_shortens<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().consecutive_failures(100).open_for(ms(100));
    for (hint, expected) in [(ms(1_001), 1_001), (ms(30), 100), (Duration::ZERO, 100)] {
        let breaker = breaker::<W>(config, &clock);
        breaker
            .acquire()
            .unwrap()
            .report(Failure::tripping_for(hint));
        assert_eq!(breaker.state(), State::Open);
        assert_eq!(opened_for(&breaker), ms(expected));
    }
}

fn a_minimum_open_time_of_a_probe_counts_too<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules().open_for(ms(10)), &clock);
    breaker.trip();
    clock.advance(ms(10));
    breaker
        .acquire()
        .unwrap()
        .report(Failure::tripping_for(ms(512)));
    assert_eq!(opened_for(&breaker), ms(512));
}

fn a_minimum_open_time_is_cut_to_its_limit<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().open_for(ms(10)).max_retry_after(ms(1_024));
    let limited = breaker::<W>(config, &clock);
    limited
        .acquire()
        .unwrap()
        .report(Failure::tripping_for(Duration::MAX));
    assert_eq!(opened_for(&limited), ms(1_024));

    let config = rules().max_retry_after(ms(u64::from(W::LONGEST)));
    let longest = breaker::<W>(config, &clock);
    longest
        .acquire()
        .unwrap()
        .report(Failure::tripping_for(Duration::MAX));
    assert_eq!(
        opened_for(&longest),
        ms(u64::from(W::LONGEST)),
        "what the word holds"
    );
}

/// One header must not silence a client for weeks.
fn a_minimum_open_time_is_cut_to_five_minutes_by_default<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(rules(), &clock);
    for hint in [ms(300_001), Duration::from_secs(86_400), Duration::MAX] {
        breaker.reset();
        breaker
            .acquire()
            .unwrap()
            .report(Failure::tripping_for(hint));
        let limit = W::LONGEST.min(300_000);
        assert_eq!(opened_for(&breaker), ms(limit.into()), "{hint:?}");
    }
}

fn less_than_a_millisecond_is_rounded_up<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().open_for(Duration::from_micros(500));
    let breaker = breaker::<W>(config, &clock);
    breaker.trip();
    assert_eq!(opened_for(&breaker), ms(1));
    breaker.reset();
    let hint = Duration::from_nanos(2_000_001);
    breaker
        .acquire()
        .unwrap()
        .report(Failure::tripping_for(hint));
    assert_eq!(opened_for(&breaker), ms(3));
}

on_both_words!(
    the_deadline_is_inclusive,
    a_rejection_has_the_time_that_is_left,
    an_open_time_of_zero_probes_at_once,
    a_program_that_looks_before_it_calls_is_served_again,
    a_minimum_open_time_trips_at_once_and_lengthens_but_never_shortens,
    a_minimum_open_time_of_a_probe_counts_too,
    a_minimum_open_time_is_cut_to_its_limit,
    a_minimum_open_time_is_cut_to_five_minutes_by_default,
    deadlines_are_exact_and_only_the_open_time_is_stored_rounded_up,
    less_than_a_millisecond_is_rounded_up,
);

#[test]
fn the_observer_is_notified_of_the_exact_open_time() {
    let clock = ManualClock::new();
    let diary = Diary::default();
    let breaker = observed::<Fine>(rules().open_for(ms(81)), &clock, &diary);
    breaker.trip();
    let opened = diary.transitions.borrow()[0].open_for();
    assert_eq!(opened, Some(ms(81)));
    let stored = breaker.snapshot().open_for();
    assert_eq!(stored, Some(ms(88)), "four bits: 11 · 8");
}

#[test]
fn an_open_time_is_stored_as_the_next_one_that_has_a_code() {
    let clock = ManualClock::new();
    let stored = |wanted| {
        let breaker = breaker::<Fine>(rules().open_for(ms(0)), &clock);
        breaker.trip_for(ms(wanted));
        breaker.snapshot().open_for()
    };
    let all = || 0..=u64::from(Fine::LONGEST);
    let coded: Vec<_> = all()
        .filter(|&time| stored(time) == Some(ms(time)))
        .collect();
    assert_eq!(coded.len(), 97);
    for wanted in all() {
        let next = coded.iter().find(|&&time| time >= wanted);
        assert_eq!(stored(wanted), next.map(|&time| ms(time)), "{wanted}");
    }
}
