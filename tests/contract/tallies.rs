// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several trip rules in one breaker, and memories of other kinds.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use atomic_breaker::tally::Call;
use atomic_breaker::word::AtomicU64;
use atomic_breaker::{
    Breaker, Cause, Config, Failure, LastCalls, ManualClock, Memory, Ratio, State, Tally, Token,
    Verdict,
};

use super::support::{AnyWord, Diary, fail, ms, on_both_words, rules};

/// "5 in a row, or half of the last 50" works as it reads.
fn five_in_a_row_or_half_of_the_last_fifty<W: AnyWord>() {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let config = rules()
        .consecutive_failures(5)
        .failure_ratio(Ratio::percent(50).of_last(50));
    let breaker = Breaker::builder(config, &clock)
        .word(W::fresh())
        .last_calls(LastCalls::over(AtomicU64::new(0)))
        .observer(&diary)
        .build();
    fail(&breaker, 5);
    assert_eq!(diary.causes(), [Cause::FailureLimit]);
    breaker.reset();
    for call in 0..24 {
        assert_eq!(breaker.state(), State::Closed, "{call}");
        let permit = breaker.acquire().unwrap();
        if call % 2 == 0 {
            permit.success();
        } else {
            permit.failure();
        }
    }
    assert_eq!(breaker.state(), State::Closed, "24 calls of the 25 needed");
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open, "13 of 25");
    assert_eq!(diary.causes(), [Cause::Manual, Cause::FailureRatio]);
}

fn a_window_and_a_ratio_go_together<W: AnyWord>() {
    let clock = ManualClock::new();
    let config = rules()
        .failures_within(3, ms(100))
        .failure_ratio(Ratio::percent(50).of_last(20));
    let breaker = || {
        Breaker::builder(config, &clock)
            .word(W::fresh())
            .last_calls(LastCalls::over(AtomicU64::new(0)))
            .build()
    };
    let sudden = breaker();
    for _ in 0..20 {
        sudden.acquire().unwrap().success();
    }
    fail(&sudden, 3);
    assert_eq!(sudden.state(), State::Open, "3 within 100 ms, of 23");
    let creeping = breaker();
    for _ in 0..5 {
        creeping.acquire().unwrap().success();
        fail(&creeping, 1);
        clock.advance(ms(100));
    }
    assert_eq!(creeping.state(), State::Open, "5 of 10, each by itself");
}

#[test]
fn where_both_rules_are_reached_at_once_the_limit_is_the_cause() {
    let (clock, diary) = (ManualClock::new(), Diary::default());
    let ratio = Ratio::percent(100).of_last(4).min_calls(2);
    let config = Config::new().consecutive_failures(2).failure_ratio(ratio);
    let breaker = Breaker::builder(config, &clock)
        .last_calls(LastCalls::new())
        .observer(&diary)
        .build();
    fail(&breaker, 2);
    assert_eq!(diary.causes(), [Cause::FailureLimit]);
}

/// A user's own memory with its own rule: the third call that it is shown trips.
#[derive(Default)]
struct Third {
    seen: RefCell<Vec<(Call, Option<Ratio>)>>,
    cleared: Cell<u32>,
}

impl Tally for Third {
    fn memory(&self) -> Memory {
        Memory::NONE.max_calls(100).has_rule()
    }

    fn record(&self, call: Call, ratio: Option<Ratio>) -> Verdict {
        self.seen.borrow_mut().push((call, ratio));
        match self.seen.borrow().len() {
            3 => Verdict::Trip,
            _ => Verdict::Keep,
        }
    }

    fn clear(&self) {
        self.cleared.set(self.cleared.get() + 1);
    }
}

/// One with a window of failures, but without a failure.
#[test]
fn a_failure_that_meets_a_word_of_no_breaker_is_not_remembered() {
    let (clock, third) = (ManualClock::new(), Third::default());
    let word = AtomicU64::new(AtomicU64::TIME);
    let breaker = Breaker::builder(Config::new().tally_only(), &clock)
        .word(word)
        .tally(&third)
        .build();
    assert!(breaker.check().is_err());
    breaker.resume(Token::from_raw(0, 0)).failure();
    assert_eq!(breaker.check(), Ok(()));
    assert_eq!(third.seen.take(), []);
}

/// No rules ask for it.
#[test]
fn a_memory_of_no_calls_stays_empty_and_is_not_written_again() {
    let word = AtomicU64::new(0);
    let tally = LastCalls::over(&word);
    let none = Ratio::percent(50).of_last(0);
    assert_eq!(tally.record(Call::success(5), Some(none)), Verdict::Keep);
    assert_eq!(tally.seen_and_failed(), (0, 0));
    let bits = word.load(Ordering::Relaxed);
    tally.clear();
    assert_eq!(word.load(Ordering::Relaxed), bits);
}

#[test]
fn a_tally_may_have_a_rule_of_its_own() {
    let (clock, third) = (ManualClock::new(), Third::default());
    let breaker = Breaker::builder(Config::new().tally_only(), &clock)
        .tally(&third)
        .build();
    breaker.acquire().unwrap().success();
    breaker.acquire().unwrap().report(Failure::with_weight(7));
    let made = breaker.acquire().unwrap().failure();
    assert_eq!(made.map(|made| made.cause), Some(Cause::FailureRatio));
    let seen = third.seen.borrow();
    let calls: Vec<_> = seen.iter().map(|(call, _)| *call).collect();
    assert_eq!(
        calls,
        [Call::success(0), Call::failure(0, 7), Call::failure(0, 1)]
    );
    assert!(seen.iter().all(|(_, ratio)| ratio.is_none()));
}

#[test]
fn a_tally_is_shown_the_ratio_of_the_rules() {
    let (clock, third) = (ManualClock::new(), Third::default());
    let ratio = Ratio::percent(70).of_last(9).min_calls(4);
    let breaker = Breaker::builder(Config::new().failure_ratio(ratio), &clock)
        .tally(&third)
        .build();
    breaker.acquire().unwrap().failure();
    let (_, shown) = third.seen.borrow()[0];
    let shown = shown.unwrap();
    assert_eq!(shown, ratio);
    assert_eq!(
        (
            shown.calls(),
            shown.needed_calls(),
            shown.trips_at_basis_points()
        ),
        (Some(9), 4, 7_000)
    );
    assert!(shown.is_reached(4, 3) && !shown.is_reached(3, 3) && !shown.is_reached(10, 6));
}

/// It is cleared before each transition to closed or returning, and before no other.
#[test]
fn a_tally_is_cleared_before_the_breaker_closes() {
    let (clock, third) = (ManualClock::new(), Third::default());
    let config = Config::new()
        .tally_only()
        .open_for(ms(10))
        .gradual_return(100, ms(10));
    let breaker = Breaker::builder(config, &clock).tally(&third).build();
    breaker.trip();
    clock.advance(ms(10));
    breaker.acquire().unwrap().failure();
    clock.advance(ms(10));
    assert_eq!(third.cleared.get(), 0);
    breaker.acquire().unwrap().success();
    assert_eq!(
        (breaker.state(), third.cleared.get()),
        (State::Returning, 1)
    );
    clock.advance(ms(10));
    drop(breaker.acquire().unwrap());
    assert_eq!((breaker.state(), third.cleared.get()), (State::Closed, 2));
    breaker.reset();
    assert_eq!(third.cleared.get(), 3);
    breaker.disable();
    breaker.enable();
    assert_eq!(third.cleared.get(), 4);
    breaker.force_open();
    breaker.release();
    assert_eq!(third.cleared.get(), 4);
}

#[test]
fn calls_recorded_while_traffic_returns_count() {
    let clock = ManualClock::new();
    let config = Config::new()
        .tally_only()
        .failure_ratio(Ratio::percent(100).of_last(4).min_calls(2))
        .open_for(ms(10))
        .gradual_return(100, ms(1_000));
    let breaker = Breaker::builder(config, &clock)
        .last_calls(LastCalls::new())
        .build();
    breaker.trip();
    clock.advance(ms(10));
    breaker.acquire().unwrap().success();
    assert_eq!(
        breaker.tally().seen_and_failed(),
        (0, 0),
        "the probe is not shown"
    );
    fail(&breaker, 2);
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state(), snapshot.trips()), (State::Open, 2));
}

/// The configuration decides at run time: a breaker with memory and one without have the same type.
#[test]
fn memory_is_optional() {
    let clock = ManualClock::new();
    let ratio = Config::new()
        .tally_only()
        .failure_ratio(Ratio::percent(100).of_last(2).min_calls(2));
    for (config, memory) in [(ratio, Some(LastCalls::new())), (Config::new(), None)] {
        let is_there = memory.is_some();
        let breaker = Breaker::builder(config, &clock).tally(memory).build();
        assert_eq!(breaker.tally().memory() != Memory::NONE, is_there);
        fail(&breaker, 2);
        assert_eq!(breaker.state() == State::Open, is_there);
        breaker.reset();
    }
}

#[test]
fn a_memory_is_chosen_behind_a_pointer() {
    let clock = ManualClock::new();
    let config = Config::new()
        .tally_only()
        .failure_ratio(Ratio::percent(100).of_last(2).min_calls(2));
    let last = LastCalls::new();
    let shared = Arc::new(LastCalls::new());
    let tallies: [Box<dyn Tally + '_>; 4] = [
        Box::new(LastCalls::new()),
        Box::new(&last),
        Box::new(Arc::clone(&shared)),
        Box::new(Some(LastCalls::new())),
    ];
    for tally in tallies {
        let breaker = Breaker::builder(config, &clock).tally(tally).build();
        fail(&breaker, 2);
        assert_eq!(breaker.state(), State::Open);
    }
    assert_eq!(
        (last.seen_and_failed(), shared.seen_and_failed()),
        ((2, 2), (2, 2))
    );
    let no_memory: &dyn Tally = &();
    assert_eq!(no_memory.memory(), Memory::NONE);
}

/// Rules can be replaced: of a memory of more calls only the last ones count, and then it grows again.
fn a_ratio_of_fewer_calls_looks_at_the_last_of_them<W: AnyWord>() {
    let memory = LastCalls::over(W::fresh());
    let ratio = |calls| Some(Ratio::percent(100).of_last(calls));
    for _ in 0..10 {
        let _ = memory.record(Call::failure(0, 1), ratio(20));
    }
    let _ = memory.record(Call::success(0), ratio(4));
    assert_eq!(memory.seen_and_failed(), (4, 3));
    let _ = memory.record(Call::success(0), ratio(20));
    assert_eq!(memory.seen_and_failed(), (5, 3));
}

on_both_words!(
    five_in_a_row_or_half_of_the_last_fifty,
    a_window_and_a_ratio_go_together,
    a_ratio_of_fewer_calls_looks_at_the_last_of_them,
);
