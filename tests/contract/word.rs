// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words in memory of any kind, with valid and corrupt bits.

use atomic_breaker::word::{AtomicU32, AtomicU64, Bits, CriticalSectionWord};
use atomic_breaker::{Breaker, Cause, Config, ManualClock, State};

use super::support::{AnyWord, Diary, breaker, fail, ms, on_both_words, rules};

fn zero_is_a_fresh_closed_breaker<W: AnyWord>() {
    let clock = ManualClock::starting_at(12_345);
    let breaker = breaker::<W>(rules(), &clock);
    assert_eq!(breaker.to_bits(), W::Bits::FRESH);
    assert_eq!(breaker.to_bits().to_u64(), 0);
    assert_eq!(breaker.state(), State::Closed);
    assert!(breaker.acquire().is_ok());
}

fn a_breaker_goes_on_where_its_bits_stood<W: AnyWord>() {
    let clock = ManualClock::starting_at(1_000);
    let config = rules().open_for(ms(61));
    let before = breaker::<W>(config, &clock);
    fail(&before, 3);
    let from_bits = |bits| {
        let breaker = Breaker::over(W::from(bits), config, &clock);
        breaker.restore().map(|_| breaker)
    };
    let after = from_bits(before.to_bits()).unwrap();
    assert_eq!(after.snapshot(), before.snapshot());
    fail(&after, 2);
    assert_eq!(after.state(), State::Open, "3 before, 2 after");

    let again = from_bits(after.to_bits()).unwrap();
    assert!(again.acquire().is_err());
    clock.advance(again.snapshot().retry_in().unwrap());
    assert!(again.acquire().is_ok());
}

fn two_breakers_over_one_word_are_one<W: AnyWord>() {
    let clock = ManualClock::new();
    let word = W::fresh();
    let config = rules();
    let here = Breaker::over(&word, config, &clock);
    let there = Breaker::over(&word, config, &clock);
    let permit = here.acquire().unwrap().into_token();
    here.acquire().unwrap().failure();
    assert_eq!(there.snapshot().failures(), 1);
    there.resume(permit).failure();
    assert_eq!(here.snapshot().failures(), 2);
    there.force_open();
    assert!(here.acquire().is_err());
}

fn a_lower_limit_taken_up_on_a_live_word_trips_with_the_next_failure<W: AnyWord>() {
    let clock = ManualClock::new();
    let word = W::fresh();
    let config = rules();
    let lenient = Breaker::over(&word, config.consecutive_failures(100), &clock);
    for _ in 0..50 {
        lenient.acquire().unwrap().failure();
    }
    let strict = Breaker::over(&word, config.consecutive_failures(3), &clock);
    assert!(strict.acquire().is_ok());
    strict.acquire().unwrap().failure();
    assert_eq!(strict.state(), State::Open);
}

fn fewer_probes_and_successes_taken_up_on_a_live_word_do_not_wedge<W: AnyWord>() {
    let clock = ManualClock::new();
    let word = W::fresh();
    let config = rules().open_for(ms(0)).probe_lease(ms(10));
    let wide = Breaker::over(&word, config.probes(5).close_after(9), &clock);
    wide.trip();
    for _ in 0..4 {
        wide.acquire().unwrap().success();
    }
    let _probes = [(); 5].map(|()| wide.acquire().unwrap().into_token());

    let narrow = Breaker::over(&word, config.close_after(2), &clock);
    assert!(narrow.acquire().is_err(), "more in flight than it allows");
    clock.advance(ms(10));
    narrow.acquire().unwrap().success();
    narrow.acquire().unwrap().success();
    assert_eq!(narrow.state(), State::Closed);
}

fn a_corrupt_word_in_use_is_healed_and_reported_once<W: AnyWord>() {
    // Closed with a window of no failures; open without trips; neither forced open nor disabled; held in an
    // unknown way.
    let window = W::TIME;
    for corrupt in [window, 1_u64, 3, 3 | 5 << W::LOAD] {
        let clock = ManualClock::starting_at(9);
        let diary = Diary::default();
        let word = W::from(W::Bits::from_u64(corrupt));
        let breaker = Breaker::builder(rules().consecutive_failures(2), &clock)
            .word(word)
            .observer(&diary)
            .build();
        assert!(breaker.check().is_err());
        assert_eq!(breaker.state(), State::Closed, "as it will be");
        assert_eq!(breaker.snapshot().failures(), 0);

        breaker.acquire().unwrap().success();
        assert_eq!(breaker.check(), Ok(()));
        breaker.acquire().unwrap().failure();
        assert_eq!(breaker.check(), Ok(()));
        assert_eq!(breaker.snapshot().failures(), 1);
        let reported = diary.transitions.borrow();
        assert_eq!(reported.len(), 1, "{corrupt:#x}");
        assert_eq!(
            (reported[0].cause, reported[0].to),
            (Cause::CorruptWord, State::Closed)
        );
        assert_eq!((reported[0].epoch, reported[0].at_ms), (1, 9));
        drop(reported);
        breaker.acquire().unwrap().failure();
        assert_eq!(breaker.state(), State::Open, "it protects again");
    }
}

/// An admission heals a word that does not look closed; otherwise the report heals it, and is lost.
fn the_first_use_heals_a_corrupt_word<W: AnyWord>() {
    let window = W::TIME;
    for corrupt in [window, 1_u64, 3] {
        let (clock, diary) = (ManualClock::new(), Diary::default());
        let breaker = Breaker::builder(rules().consecutive_failures(2), &clock)
            .word(W::from(W::Bits::from_u64(corrupt)))
            .observer(&diary)
            .build();
        fail(&breaker, 1);
        assert_eq!(breaker.check(), Ok(()), "{corrupt:#x}");
        assert_eq!(diary.causes(), [Cause::CorruptWord], "{corrupt:#x}");
        let counted = breaker.snapshot().failures();
        assert_eq!(counted, u16::from(corrupt != window), "{corrupt:#x}");
        fail(&breaker, 2 - u32::from(counted));
        assert_eq!(breaker.state(), State::Open, "{corrupt:#x}");
    }
}

fn every_command_heals_a_corrupt_word_first<W: AnyWord>() {
    let clock = ManualClock::new();
    let diary = Diary::default();
    let word = W::from(W::Bits::from_u64(3));
    let breaker = Breaker::builder(rules(), &clock)
        .word(word)
        .observer(&diary)
        .build();
    breaker.trip();
    let causes: Vec<_> = diary
        .transitions
        .borrow()
        .iter()
        .map(|made| made.cause)
        .collect();
    assert_eq!(causes, [Cause::CorruptWord, Cause::Manual]);
    assert_eq!(breaker.state(), State::Open);
}

fn bits_of_an_invalid_state_are_reported<W: AnyWord>() {
    let clock = ManualClock::new();
    let corrupt = W::Bits::from_u64(1);
    let error = corrupt.check().unwrap_err();
    assert_eq!(error.bits(), 1);
    let breaker = Breaker::over(W::from(corrupt), rules(), &clock);
    assert_eq!(breaker.restore(), Err(error));
    assert_eq!(breaker.state(), State::Closed);
}

on_both_words!(
    zero_is_a_fresh_closed_breaker,
    a_breaker_goes_on_where_its_bits_stood,
    two_breakers_over_one_word_are_one,
    a_lower_limit_taken_up_on_a_live_word_trips_with_the_next_failure,
    fewer_probes_and_successes_taken_up_on_a_live_word_do_not_wedge,
    a_corrupt_word_in_use_is_healed_and_reported_once,
    the_first_use_heals_a_corrupt_word,
    every_command_heals_a_corrupt_word_first,
    bits_of_an_invalid_state_are_reported,
);

#[test]
fn each_kind_of_corruption_is_named() {
    let said = |result: Result<u32, atomic_breaker::CorruptWord>| result.unwrap_err().to_string();
    let of = |fault: &str, bits: u32| {
        format!(
            "{bits:#x} is not the state of a circuit breaker: {fault}; start from 0, a closed \
             breaker"
        )
    };
    let (trips, demanded, time) = (1_u32 << 2, 1_u32 << 12, 1_u32 << 13);
    let load = |value: u32| value << 5;
    let cases = [
        (time, "it has a window of failures, but no failure"),
        (1, "it is open, yet never tripped"),
        (
            1 | load(97) | trips,
            "its open time is longer than any breaker sets",
        ),
        (
            1 | demanded | load(97) | trips,
            "its open time is longer than any breaker sets",
        ),
        (3, "it is neither forced open nor disabled"),
        (3 | load(5), "it is neither forced open nor disabled"),
        (3 | load(2) | time, "it is neither forced open nor disabled"),
    ];
    for (bits, fault) in cases {
        assert_eq!(said(bits.check()), of(fault, bits));
    }
    // The neighbours of those words are valid.
    for bits in [
        time | load(1),
        time | trips,
        1 | trips,
        1 | load(96) | trips,
        1 | demanded | load(96) | trips,
        3 | load(3 << 4) | trips,
        3 | demanded | trips | time,
        3 | load(1),
        3 | load(4),
    ] {
        assert_eq!(bits.check(), Ok(bits), "{bits:#x}");
    }
    // In a wide word there is room for more lost rounds than are counted.
    let lost = |rounds: u64| (3 | 1 << 2 | (rounds - 1) << 15).check();
    assert!(lost(4).is_ok());
    let error = lost(5).unwrap_err().to_string();
    let fault = "more rounds of probes were lost than any breaker counts";
    assert!(error.contains(fault), "{error}");
    // The wide word names its bits, too.
    let error = 0xFFFF_FFFF_FFFF_FFFF_u64.check().unwrap_err();
    assert!(error.to_string().starts_with("0xffffffffffffffff is not"));
}

/// All 2³² narrow words would take a minute; the time has no invalid values outside the cases below, so four of them
/// stand for the rest.
#[test]
fn so_many_narrow_words_are_sound() {
    let mut valid = 0_u32;
    for rest in 0..1_u32 << 17 {
        for time in [0, 1, 0x3FFF, 0x7FFF] {
            let (epoch, low) = (rest >> 13, rest & 0x1FFF);
            let word = epoch << 28 | time << 13 | low;
            valid += u32::from(word.check().is_ok());
        }
    }
    // Per epoch: closed 1 + 4 · 255, returning 7 trips · 256 · 4 times, open 7 · 2 · 97 codes · 4, half-open 8
    // · 256 · 4, after lost rounds 7 · 2 · 4 · 16 · 4, held 4.
    let returning = 7 * 256 * 4;
    let lost = 7 * 2 * 4 * 16 * 4;
    let half_open = 8 * 256 * 4;
    assert_eq!(
        valid,
        16 * (1021 + returning + lost + 7 * 2 * 97 * 4 + half_open + 4)
    );
}

#[test]
fn a_word_behind_a_critical_section_behaves_as_an_atomic_one() {
    let clock = ManualClock::new();
    let section = CriticalSectionWord::new();
    let atomic = AtomicU64::new(0);
    let config = Config::new().consecutive_failures(2).open_for(ms(10));
    let one = Breaker::over(&section, config, &clock);
    let other = Breaker::over(&atomic, config, &clock);
    for step in 0..200_u32 {
        clock.advance(ms(u64::from(step % 7)));
        for breaker in [&one as &dyn Step, &other] {
            breaker.step(step);
        }
        assert_eq!(one.to_bits(), other.to_bits(), "after step {step}");
    }
    assert_eq!(
        format!("{section:?}"),
        format!("CriticalSectionWord({})", one.to_bits())
    );
    let copy = CriticalSectionWord::from(one.to_bits());
    assert_eq!(Breaker::over(copy, config, &clock).to_bits(), one.to_bits());
}

/// One step of a scripted life.
trait Step {
    fn step(&self, number: u32);
}

impl<W: atomic_breaker::word::Word> Step for Breaker<&ManualClock, W> {
    fn step(&self, number: u32) {
        if number.is_multiple_of(31) {
            self.reset();
        }
        if let Ok(permit) = self.acquire() {
            match number * 7 % 5 {
                0 | 1 => permit.failure(),
                2 => permit.cancel(),
                _ => permit.success(),
            };
        }
    }
}

#[test]
fn a_narrow_word_serves_on_a_wide_machine() {
    let clock = ManualClock::new();
    let breaker = Breaker::over(AtomicU32::new(0), Config::new(), &clock);
    fail(&breaker, 5);
    assert_eq!(breaker.acquire().unwrap_err().state(), State::Open);
}
