// SPDX-License-Identifier: MIT OR Apache-2.0
//! The share of the calls that passes.

use atomic_breaker::word::Word;
use atomic_breaker::{Breaker, Clock, ManualClock, State};

use super::{RAMP, config, returning};
use crate::support::{AnyWord, Diary, Diced, fail, ms, on_both_words};

/// Returns the share of the 2³² dice that pass now, in parts per million.
fn share_of_dice<W: Word>(breaker: &Breaker<&Diced, W, (), &Diary>, clock: &Diced) -> u32 {
    let passes = |dice| {
        clock.throw(dice);
        breaker.acquire().is_ok()
    };
    if passes(u32::MAX) {
        return 1_000_000;
    }
    let (mut below, mut above) = (0, u32::MAX);
    while below < above {
        let middle = below + (above - below) / 2;
        if passes(middle) {
            below = middle + 1;
        } else {
            above = middle;
        }
    }
    ((u64::from(below) * 1_000_000) >> 32) as u32
}

fn the_share_follows_the_line<W: AnyWord>() {
    for (first, over) in [
        (10, RAMP),
        (1, RAMP),
        (50, 999),
        (99, 8_000),
        (5, 16),
        (50, 2),
        (30, 1),
    ] {
        let (clock, diary) = (Diced::default(), Diary::default());
        let config = config().gradual_return(first, ms(over));
        let breaker = returning::<W>(config, &clock, &diary);
        let mut age = 0;
        while age < over {
            let line = u64::from(first) * 10_000 * (over - age) / over + 1_000_000 * age / over;
            let share = u64::from(share_of_dice(&breaker, &clock));
            assert!(
                share.abs_diff(line) <= 2,
                "{first} % {age}/{over}: {share} {line}"
            );
            let shown = breaker.snapshot().returning_percent().unwrap();
            assert_eq!(u64::from(shown), line / 10_000, "{first} % {age}/{over}");
            let step = (over / 50).max(1);
            age += step;
            clock.advance(step);
        }
    }
}

/// The dice fall evenly: of any number of calls at one age, as many pass as the share requires, give or take two.
fn of_a_thousand_calls_the_share_passes<W: AnyWord>() {
    let (clock, diary) = (Diced::even(), Diary::default());
    let breaker = returning::<W>(config(), &clock, &diary);
    for age in (0..RAMP).step_by(125) {
        let share = 0.1 + 0.9 * f64::from(age as u32) / 1_000.0;
        let mut passed = 0;
        for call in 1..=1_000 {
            passed += u32::from(breaker.acquire().is_ok());
            let line = share * f64::from(call);
            assert!(
                (f64::from(passed) - line).abs() <= 2.5,
                "{passed} of {call}, {line}"
            );
        }
        clock.advance(125);
    }
}

fn with_a_first_share_of_all_every_call_passes<W: AnyWord>() {
    for over in [1, 2, 100, RAMP, W::LONGEST.into()] {
        let (clock, diary) = (Diced::default(), Diary::default());
        let config = config().gradual_return(100, ms(over));
        let breaker = returning::<W>(config, &clock, &diary);
        for age in [0, over / 2, over - 1] {
            clock.clock.set_ms(10 + age as u32);
            clock.throw(u32::MAX);
            assert!(breaker.acquire().is_ok(), "{age} of {over}");
            assert_eq!(breaker.state(), State::Returning);
        }
    }
}

/// The dice are for the return only: other calls do not pay for them.
#[test]
fn dice_are_thrown_in_a_return_alone() {
    struct NoDice(ManualClock);
    impl Clock for NoDice {
        fn now_ms(&self) -> u32 {
            self.0.now_ms()
        }
        fn random(&self) -> u32 {
            panic!("dice")
        }
    }
    let clock = NoDice(ManualClock::new());
    let breaker = Breaker::new(config(), &clock);
    fail(&breaker, 5);
    assert!(breaker.acquire().is_err());
    clock.0.advance(ms(10));
    breaker.acquire().unwrap().success();
    let _ = breaker.snapshot();
    clock.0.advance(ms(RAMP));
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.state(), State::Closed);
    breaker.acquire().unwrap().success();
}

/// Tests the default dice that every clock has.
#[test]
fn the_default_dice_fall_evenly() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(config().gradual_return(25, ms(1 << 31)), &clock);
    breaker.force_open();
    breaker.release();
    breaker.acquire().unwrap().success();
    let passed = (0..10_000).filter(|_| breaker.acquire().is_ok()).count();
    assert!((2_300..2_700).contains(&passed), "{passed} of 10 000");
}

/// Breakers of one process return together and are called in turn. With dice in an even sequence, all calls of
/// one used to pass and none of another if the number of breakers fitted the sequence.
#[test]
fn breakers_that_return_together_each_let_their_share_through() {
    let clock = ManualClock::new();
    for breakers in [17, 89, 144, 233, 377, 610] {
        let all: Vec<_> = (0..breakers)
            .map(|_| Breaker::new(config().gradual_return(10, ms(1 << 31)), &clock))
            .collect();
        for breaker in &all {
            breaker.force_open();
            breaker.release();
            breaker.acquire().unwrap().success();
        }
        let mut passed = vec![0; breakers];
        for _ in 0..400 {
            for (breaker, passed) in all.iter().zip(&mut passed) {
                *passed += u32::from(breaker.acquire().is_ok());
            }
        }
        // 40 of 400, give or take six standard deviations.
        for passed in passed {
            assert!(
                (4..=76).contains(&passed),
                "{passed} of 400, {breakers} breakers"
            );
        }
    }
}

on_both_words!(
    the_share_follows_the_line,
    of_a_thousand_calls_the_share_passes,
    with_a_first_share_of_all_every_call_passes,
);
