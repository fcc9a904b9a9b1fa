//! B3: refusal and deadline; B7: growth and jitter; B9: minimum open time.

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64};
use atomic_breaker::{Breaker, Clock, Config, Failure, ManualClock, State};

use super::support::{AnyWord, Diary, Tested, breaker, ms, on_both_words, rules};

/// How long the breaker stays open after a trip at once, by its own word.
fn opened_for<W: AnyWord>(breaker: &Tested<'_, W>) -> Duration {
    breaker.snapshot().open_for().unwrap()
}

fn the_deadline_is_inclusive<W: AnyWord>() {
    // Times that both words store exactly.
    for open_for in [1, 2, 31, 62, 1_024, u64::from(W::LONGEST)] {
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

fn a_refusal_says_the_time_that_is_left<W: AnyWord>() {
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

#[test]
fn with_a_coarse_tick_coming_back_after_exactly_retry_in_is_right_and_sooner_is_not() {
    // Each phase of the trip and of the refusal within a tick of 64 ms.
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

#[test]
fn long_open_times_are_stored_rounded_up_a_little() {
    let clock = ManualClock::new();
    for time in [4_097, 10_001, 100_003, 86_400_001, 1_999_999_999_u64] {
        let wide = breaker::<AtomicU64>(rules().open_for(ms(time)), &clock);
        wide.trip();
        let stored = opened_for(&wide).as_millis() as u64;
        assert!(
            stored >= time && (stored - time) * 2_048 <= time,
            "{time} {stored}"
        );
    }
    for time in [33, 100, 1_001, 9_999_u64] {
        let narrow = breaker::<AtomicU32>(rules().open_for(ms(time)), &clock);
        narrow.trip();
        let stored = opened_for(&narrow).as_millis() as u64;
        assert!(
            stored >= time && (stored - time) * 16 <= time,
            "{time} {stored}"
        );
    }
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
    let config = rules().open_for(ms(10)).exponential(2, ms(124));
    let breaker = breaker::<W>(config, &clock);
    breaker.trip();
    for (trip, expected) in (1_u8..40).zip([10, 20, 40, 80].into_iter().chain([124].repeat(36))) {
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
        let stored = opened_for(&breaker);
        assert!(stored >= ms(expected) && stored <= ms(expected + expected / 16));
        clock.advance(stored);
        breaker.acquire().unwrap().failure();
    }
}

fn closing_starts_growth_over<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().open_for(ms(10)).exponential(2, ms(40));
    let breaker = breaker::<W>(config, &clock);
    breaker.trip();
    clock.advance(ms(10));
    breaker.acquire().unwrap().failure();
    assert_eq!(opened_for(&breaker), ms(20));
    clock.advance(ms(20));
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
    breaker.trip();
    assert_eq!(opened_for(&breaker), ms(10));
}

fn jitter_lengthens_by_up_to_its_share_and_spreads<W: AnyWord>() {
    let clock = ManualClock::new();
    let open_for = 8_000_u64;
    let mut seen = HashSet::new();
    let mut upper_half = 0;
    for seed in 0..200 {
        let config = rules().open_for(ms(open_for)).jitter_percent(50).seed(seed);
        let breaker = breaker::<W>(config, &clock);
        breaker.trip();
        let stored = opened_for(&breaker).as_millis() as u64;
        assert!(
            (open_for..=open_for * 3 / 2 + open_for / 10).contains(&stored),
            "{stored}"
        );
        upper_half += u32::from(stored > open_for * 5 / 4);
        seen.insert(stored);
    }
    // The small float of the 32-bit word has few values there.
    assert!(
        seen.len() > if W::EPOCHS == 16 { 5 } else { 150 },
        "{}",
        seen.len()
    );
    assert!(
        (60..=140).contains(&upper_half),
        "{upper_half} of 200 in the upper half"
    );
}

fn jitter_is_the_same_for_the_same_seed_and_differs_from_trip_to_trip<W: AnyWord>() {
    let history = |seed| {
        let clock = ManualClock::new();
        let config = rules().open_for(ms(4_000)).jitter_percent(100).seed(seed);
        let breaker = breaker::<W>(config, &clock);
        breaker.trip();

        [(); 8].map(|()| {
            let time = opened_for(&breaker);
            clock.advance(time);
            breaker.acquire().unwrap().failure();
            time
        })
    };
    assert_eq!(history(1), history(1));
    assert_ne!(history(1), history(2));
    let different: HashSet<_> = history(1).into_iter().collect();
    assert!(different.len() > 3, "{different:?}");
}

#[test]
fn without_a_seed_the_entropy_of_the_clock_makes_the_jitter() {
    struct Device(u32);
    impl Clock for Device {
        fn now_ms(&self) -> u32 {
            0
        }
        fn entropy(&self) -> u32 {
            self.0
        }
    }
    let opened = |device, config: Config| {
        let breaker = Breaker::new(config.jitter_percent(50), Device(device));
        breaker.trip();
        breaker.snapshot().open_for()
    };
    assert_ne!(opened(1, rules()), opened(2, rules()));
    assert_eq!(opened(1, rules().seed(9)), opened(2, rules().seed(9)));
}

fn a_minimum_open_time_trips_at_once_and_lengthens_but_never_shortens<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().consecutive_failures(100).open_for(ms(100));
    for (hint, expected) in [(ms(1_024), 1_024), (ms(30), 100), (Duration::ZERO, 100)] {
        let breaker = breaker::<W>(config, &clock);
        breaker
            .acquire()
            .unwrap()
            .report(Failure::retry_after(hint));
        assert_eq!(breaker.state(), State::Open);
        let stored = opened_for(&breaker).as_millis() as u64;
        assert!(
            stored >= expected && stored <= expected + expected / 16,
            "{stored}"
        );
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
        .report(Failure::retry_after(ms(512)));
    assert_eq!(opened_for(&breaker), ms(512));
}

fn a_minimum_open_time_is_cut_to_its_limit<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().open_for(ms(10)).max_retry_after(ms(1_024));
    let limited = breaker::<W>(config, &clock);
    limited
        .acquire()
        .unwrap()
        .report(Failure::retry_after(Duration::MAX));
    assert_eq!(opened_for(&limited), ms(1_024));

    let unlimited = breaker::<W>(rules(), &clock);
    unlimited
        .acquire()
        .unwrap()
        .report(Failure::retry_after(Duration::MAX));
    assert_eq!(
        opened_for(&unlimited),
        ms(u64::from(W::LONGEST)),
        "what the word holds"
    );
}

fn jitter_lengthens_a_minimum_open_time<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules().open_for(ms(1)).jitter_percent(100);
    let opened: HashSet<_> = (0..20)
        .map(|seed| {
            let breaker = breaker::<W>(config.seed(seed), &clock);
            breaker
                .acquire()
                .unwrap()
                .report(Failure::retry_after(ms(4_096)));
            assert!(opened_for(&breaker) >= ms(4_096), "asked for");
            opened_for(&breaker)
        })
        .collect();
    assert!(
        opened.len() > 5,
        "a fleet told the same time does not come back in step"
    );
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
        .report(Failure::retry_after(hint));
    assert_eq!(opened_for(&breaker), ms(3));
}

on_both_words!(
    the_deadline_is_inclusive,
    a_refusal_says_the_time_that_is_left,
    an_open_time_of_zero_probes_at_once,
    every_trip_opens_for_the_same_time_without_growth,
    growth_goes_up_to_its_maximum_and_stays_there,
    growth_takes_any_factor,
    closing_starts_growth_over,
    jitter_lengthens_by_up_to_its_share_and_spreads,
    jitter_is_the_same_for_the_same_seed_and_differs_from_trip_to_trip,
    a_minimum_open_time_trips_at_once_and_lengthens_but_never_shortens,
    a_minimum_open_time_of_a_probe_counts_too,
    a_minimum_open_time_is_cut_to_its_limit,
    jitter_lengthens_a_minimum_open_time,
    less_than_a_millisecond_is_rounded_up,
);

#[test]
fn the_observer_is_told_the_open_time_that_the_word_stores() {
    let clock = ManualClock::new();
    let diary = Diary::default();
    let config = rules().open_for(ms(81)).tick_log2_ms(0);
    let breaker = Breaker::over(AtomicU32::new(0), config, &clock).with_observer(&diary);
    breaker.trip();
    assert_eq!(
        diary.transitions.borrow()[0].open_for(),
        Some(ms(84)),
        "five bits: 21 · 4"
    );
    assert_eq!(breaker.snapshot().open_for(), Some(ms(84)));
}
