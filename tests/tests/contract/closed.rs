//! B1: closed calls; B2: when failures trip; B8: what they weigh.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use atomic_breaker::word::{AtomicU64, Word};
use atomic_breaker::{Breaker, Failure, ManualClock, State};

use super::support::{AnyWord, NoClock, breaker, fail, ms, on_both_words, rules};

/// Counts how the word is used.
struct Counting {
    word: AtomicU64,
    loads: Cell<u32>,
    swaps: Cell<u32>,
}

impl Counting {
    fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
            loads: Cell::new(0),
            swaps: Cell::new(0),
        }
    }

    /// Loads and swaps since last asked.
    fn taken(&self) -> (u32, u32) {
        (self.loads.take(), self.swaps.take())
    }
}

impl Word for Counting {
    type Bits = u64;

    fn load(&self, order: Ordering) -> u64 {
        self.loads.set(self.loads.get() + 1);
        self.word.load(order)
    }

    fn compare_exchange_weak(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.swaps.set(self.swaps.get() + 1);
        self.word.compare_exchange(current, new, success, failure)
    }
}

#[test]
fn a_closed_success_is_two_loads_no_swap_and_no_clock() {
    let word = Counting::new();
    let breaker = Breaker::over(&word, rules(), NoClock);
    for _ in 0..3 {
        assert_eq!(breaker.call(|| Ok::<_, ()>(1)), Ok(1));
        assert_eq!(word.taken(), (2, 0));
    }
}

#[test]
fn a_closed_permit_that_is_dropped_is_one_load() {
    let word = Counting::new();
    let breaker = Breaker::over(&word, rules(), NoClock);
    drop(breaker.acquire().unwrap());
    assert_eq!(word.taken(), (1, 0));
}

#[test]
fn a_failure_in_a_row_that_does_not_trip_is_one_swap_and_no_clock() {
    let word = Counting::new();
    let breaker = Breaker::over(&word, rules().consecutive_failures(3), NoClock);
    breaker.acquire().unwrap().failure();
    assert_eq!(word.taken(), (2, 1));
    assert_eq!(breaker.snapshot_failures(), 1);
}

#[test]
fn a_success_after_failures_clears_them_with_one_swap_and_then_none() {
    let word = Counting::new();
    let breaker = Breaker::over(&word, rules().consecutive_failures(3), NoClock);
    breaker.acquire().unwrap().failure();
    word.taken();
    breaker.acquire().unwrap().success();
    assert_eq!(word.taken().1, 1);
    breaker.acquire().unwrap().success();
    assert_eq!(word.taken(), (2, 0));
}

/// Failures without the clock that a snapshot reads.
trait SnapshotFailures {
    fn snapshot_failures(&self) -> u16;
}

impl<W: Word<Bits = u64>> SnapshotFailures for Breaker<NoClock, W> {
    fn snapshot_failures(&self) -> u16 {
        let clock = ManualClock::new();
        <Breaker<_>>::from_bits(self.to_bits(), rules(), &clock)
            .unwrap()
            .snapshot()
            .failures()
    }
}

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
    breaker
        .acquire()
        .unwrap()
        .report(atomic_breaker::Outcome::Ignored);
    drop(breaker.acquire().unwrap());
    breaker.acquire().unwrap().cancel();
    assert_eq!(breaker.snapshot().failures(), 2);
}

fn failures_within_a_window_trip_whatever_succeeds_between<W: AnyWord>() {
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
    let report = |weight| breaker.acquire().unwrap().report(Failure::weighing(weight));
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
        .report(Failure::weighing(u16::MAX));
    assert_eq!(breaker.state(), State::Open, "no sum overflows");
    breaker.reset();
    breaker.acquire().unwrap().report(Failure::weighing(4));
    breaker
        .acquire()
        .unwrap()
        .report(Failure::weighing(u16::MAX));
    assert_eq!(breaker.state(), State::Open);
}

fn a_weightless_failure_neither_counts_nor_clears_nor_starts_a_window<W: AnyWord>() {
    let clock = ManualClock::starting_at(7);
    for config in [
        rules().consecutive_failures(1),
        rules().failures_within(1, ms(100)),
    ] {
        let breaker = breaker::<W>(config, &clock);
        breaker.acquire().unwrap().report(Failure::weighing(0));
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

on_both_words!(
    trips_at_the_limit_of_failures_in_a_row,
    a_success_between_ends_the_row,
    ignored_and_dropped_calls_neither_count_nor_clear,
    failures_within_a_window_trip_whatever_succeeds_between,
    a_failure_at_the_very_end_of_the_window_starts_the_next,
    a_window_takes_the_maximum_of_failures,
    failures_weigh_what_they_say,
    a_weightless_failure_neither_counts_nor_clears_nor_starts_a_window,
    a_tripping_failure_trips_at_once,
    a_success_that_takes_the_limit_is_a_failure_one_millisecond_less_is_not,
    a_fast_success_clears_failures_where_slow_calls_are_measured,
    a_slow_probe_reopens,
    a_call_during_which_the_clock_steps_back_is_not_slow,
);
