// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cost of each use of the breaker, in loads, swaps and clock readings.

use std::cell::Cell;

use atomic_breaker::{
    Breaker, Clock, Control, Failure, LastCalls, Outcome, Ratio, State, Transition,
};
use tests::words::Counting;

use super::support::{AnyWord, NoClock, ms, on_both_words, rules};

const HAS_FAST_FAILURES: bool = cfg!(target_pointer_width = "64");

/// A clock that counts its readings.
#[derive(Default)]
struct Watched {
    ms: Cell<u32>,
    readings: Cell<u32>,
}

impl Clock for Watched {
    fn now_ms(&self) -> u32 {
        self.readings.set(self.readings.get() + 1);
        self.ms.get()
    }
}

fn a_closed_success_is_two_loads_no_swap_and_no_clock<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    for config in [
        rules(),
        rules().failures_within(3, ms(100)),
        rules().probes(2).jitter_percent(10),
        rules().gradual_return(10, ms(100)).cancel_limit(ms(0)),
    ] {
        let breaker = Breaker::over(&word, config, NoClock);
        for _ in 0..3 {
            assert_eq!(breaker.call(|| Ok::<_, ()>(1)), Ok(1));
            assert_eq!(word.taken(), (2, 0));
            breaker.acquire().unwrap().failing_when_dropped().success();
            assert_eq!(word.taken(), (2, 0));
        }
    }
}

fn a_closed_permit_that_is_dropped_or_ignored_is_one_load<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    let breaker = Breaker::over(&word, rules(), NoClock);
    drop(breaker.acquire().unwrap());
    assert_eq!(word.taken(), (1, 0));
    breaker.acquire().unwrap().report(Outcome::Ignored);
    assert_eq!(word.taken(), (1, 0));
}

fn a_failure_in_a_row_that_does_not_trip_is_one_swap_and_no_clock<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    let breaker = Breaker::over(&word, rules().consecutive_failures(3), NoClock);
    for _ in 0..2 {
        breaker.acquire().unwrap().failure();
        let (loads, swaps) = word.taken();
        assert_eq!(swaps, 1);
        // A 64-bit processor continues with the word that it saw when the permit was granted.
        assert_eq!(loads, if HAS_FAST_FAILURES { 1 } else { 2 });
    }
    assert_eq!(breaker.state(), State::Closed);
}

fn a_failure_that_weighs_nothing_swaps_nothing<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    for config in [rules(), rules().failures_within(3, ms(100))] {
        let breaker = Breaker::over(&word, config, Watched::default());
        let weightless = Failure::with_weight(0);
        breaker.acquire().unwrap().report(weightless);
        assert_eq!(word.taken().1, 0);
        breaker.acquire().unwrap().failure();
        assert_eq!(word.taken().1, 1);
        breaker.acquire().unwrap().report(weightless);
        assert_eq!(word.taken().1, 0, "nor where something is counted");
        breaker.reset();
        word.taken();
    }
}

/// The tally has its own memory, so the word is not written.
fn a_failure_that_only_the_tally_counts_swaps_nothing<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    let ratio = Ratio::percent(100).of_last(10).min_calls(3);
    let config = rules().tally_only().failure_ratio(ratio);
    let breaker = Breaker::builder(config, Watched::default())
        .word(&word)
        .last_calls(LastCalls::over(W::fresh()))
        .build();
    for _ in 0..2 {
        breaker.acquire().unwrap().failure();
        assert_eq!(word.taken().1, 0);
    }
    breaker.acquire().unwrap().failure();
    assert_eq!(word.taken().1, 1, "it trips");
    assert_eq!(breaker.state(), State::Open);
}

/// One more success after nothing but successes leaves the history as it is: callers of a healthy
/// resource do not write, so they do not wait for each other.
fn while_no_remembered_call_failed_a_tally_is_not_written<W: AnyWord>() {
    let (word, history) = (Counting::over(W::fresh()), Counting::over(W::fresh()));
    let config = rules().failure_ratio(Ratio::percent(60).of_last(5).min_calls(3));
    let breaker = Breaker::builder(config, NoClock)
        .word(&word)
        .last_calls(LastCalls::over(&history))
        .build();
    let written = |calls: u32| {
        for _ in 0..calls {
            breaker.acquire().unwrap().success();
        }
        (word.taken().1, history.taken().1)
    };
    assert_eq!(written(5), (0, 5));
    assert_eq!(written(100), (0, 0));
    breaker.acquire().unwrap().failure();
    assert_eq!(written(0), (1, 1), "counted and remembered");
    assert_eq!(written(5), (1, 5), "cleared, and the failure moves out");
    assert_eq!(written(100), (0, 0));
    assert_eq!(breaker.tally().seen_and_failed(), (5, 0));
}

fn a_success_after_failures_clears_them_with_one_swap_and_then_none<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    let breaker = Breaker::over(&word, rules().consecutive_failures(3), NoClock);
    breaker.acquire().unwrap().failure();
    word.taken();
    breaker.acquire().unwrap().success();
    assert_eq!(word.taken().1, 1);
    breaker.acquire().unwrap().success();
    assert_eq!(word.taken(), (2, 0));
}

/// This holds after an outage, too: only the epoch is left in the word then.
fn a_closed_success_is_as_cheap_in_every_epoch<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    let breaker = Breaker::over(&word, rules(), Watched::default());
    for _ in 0..W::EPOCHS {
        breaker.reset();
        word.taken();
        breaker.acquire().unwrap().success();
        assert_eq!(word.taken(), (2, 0));
    }
}

/// While it lasts, nothing is written; when it is over, a closed call costs as little as before.
fn a_gradual_return_costs_its_own_calls_alone<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    let config = rules().gradual_return(100, ms(50));
    let breaker = Breaker::over(&word, config, Watched::default());
    breaker.force_open();
    breaker.release();
    breaker.acquire().unwrap().success();
    word.taken();
    breaker.clock().readings.take();
    for _ in 0..3 {
        breaker.acquire().unwrap().success();
        assert_eq!(word.taken().1, 0, "while it goes on");
        assert!(breaker.clock().readings.take() > 0);
    }
    breaker.clock().ms.set(50);
    breaker.acquire().unwrap().success();
    assert_eq!(word.taken().1, 1, "at its end");
    breaker.clock().readings.take();
    breaker.acquire().unwrap().success();
    assert_eq!(word.taken(), (2, 0), "closed");
    assert_eq!(breaker.clock().readings.take(), 0);
}

fn a_rejection_swaps_nothing_and_reads_the_clock_once<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    let breaker = Breaker::over(&word, rules(), Watched::default());
    breaker.trip();
    word.taken();
    breaker.clock().readings.take();
    let _ = breaker.acquire().unwrap_err();
    assert_eq!(word.taken().1, 0);
    assert_eq!(breaker.clock().readings.take(), 1);

    breaker.force_open();
    word.taken();
    breaker.clock().readings.take();
    let _ = breaker.acquire().unwrap_err();
    assert_eq!(word.taken().1, 0);
    assert_eq!(breaker.clock().readings.take(), 0, "the wait is unknown");
}

fn a_probe_is_admitted_and_reports_by_one_swap_each<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    let config = rules().open_for(ms(0)).probes(2).close_after(3);
    let breaker = Breaker::over(&word, config, Watched::default());
    breaker.trip();
    word.taken();
    for _ in 0..2 {
        let permit = breaker.acquire().unwrap();
        assert_eq!(word.taken().1, 1, "admitted");
        permit.success();
        assert_eq!(word.taken().1, 1, "succeeded");
    }
    drop(breaker.acquire().unwrap());
    assert_eq!(word.taken().1, 2, "admitted and given back");
    breaker.acquire().unwrap().failure();
    assert_eq!(word.taken().1, 2, "admitted and reopened");
}

fn a_command_is_one_swap_or_none<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    let breaker = Breaker::over(&word, rules(), Watched::default());
    let swaps = |command: fn(&dyn Control) -> Option<Transition>| {
        word.taken();
        command(&breaker);
        word.taken().1
    };
    assert_eq!(swaps(|it| it.enable()), 0);
    assert_eq!(swaps(|it| it.release()), 0);
    assert_eq!(swaps(|it| it.probe_now()), 0);
    assert_eq!(swaps(|it| it.trip()), 1);
    assert_eq!(swaps(|it| it.trip()), 0, "the deadline does not move");
    assert_eq!(swaps(|it| it.probe_early()), 1);
    assert_eq!(swaps(|it| it.probe_now()), 1, "another round");
    assert_eq!(swaps(|it| it.trip()), 1);
    assert_eq!(swaps(|it| it.trip_for(ms(1))), 1, "demanded from now on");
    assert_eq!(swaps(|it| it.trip_for(ms(1))), 0);
    assert_eq!(swaps(|it| it.probe_early()), 0);
    assert_eq!(swaps(|it| it.force_open()), 1);
    assert_eq!(swaps(|it| it.force_open()), 0);
    assert_eq!(swaps(|it| it.trip()), 0);
    assert_eq!(swaps(|it| it.release()), 1);
    assert_eq!(swaps(|it| it.disable()), 1);
    assert_eq!(swaps(|it| it.disable()), 0);
    assert_eq!(swaps(|it| it.enable()), 1);
    assert_eq!(swaps(|it| it.reset()), 1);
}

fn a_late_report_swaps_nothing<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    let breaker = Breaker::over(&word, rules(), Watched::default());
    let late = [(); 4].map(|()| breaker.acquire().unwrap());
    breaker.trip();
    let bits = breaker.to_bits();
    word.taken();
    let [success, failure, cancelled, ignored] = late;
    success.success();
    cancelled.cancel();
    ignored.report(Outcome::Ignored);
    assert_eq!(word.taken().1, 0);
    failure.failure();
    let tried = word.taken().1;
    assert_eq!(tried, u32::from(HAS_FAST_FAILURES), "and did not succeed");
    assert_eq!(breaker.to_bits(), bits);
}

fn looking_is_one_load_in_every_state<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    let config = rules().open_for(ms(0));
    let breaker = Breaker::over(&word, config, Watched::default());
    let look = || {
        word.taken();
        breaker.clock().readings.take();
        let _ = breaker.snapshot();
        assert_eq!(word.taken(), (1, 0));
        assert_eq!(breaker.clock().readings.take(), 1);
        let state = breaker.state();
        assert_eq!(word.taken(), (1, 0));
        // While it is open the clock decides; a closed breaker is asked without.
        let is_open = u32::from(breaker.snapshot().entered() == State::Open);
        word.taken();
        assert_eq!(breaker.clock().readings.take(), is_open + 1, "{state}");
        let _ = breaker.to_bits();
        assert_eq!(word.taken(), (1, 0));
        assert_eq!(breaker.clock().readings.take(), 0, "{state}");
    };
    look();
    breaker.trip();
    look();
    let _probe = breaker.acquire().unwrap();
    look();
    breaker.force_open();
    look();
    breaker.disable();
    look();
}

fn measuring_slow_calls_reads_the_clock_twice_a_call<W: AnyWord>() {
    let word = Counting::over(W::fresh());
    let config = rules().slow_call(ms(10));
    let breaker = Breaker::over(&word, config, Watched::default());
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.clock().readings.take(), 2);
    assert_eq!(word.taken().1, 0);
    breaker.acquire().unwrap().failure();
    assert_eq!(breaker.clock().readings.take(), 1, "failed, slow or not");
}

on_both_words!(
    a_closed_success_is_two_loads_no_swap_and_no_clock,
    a_closed_permit_that_is_dropped_or_ignored_is_one_load,
    a_failure_in_a_row_that_does_not_trip_is_one_swap_and_no_clock,
    a_failure_that_weighs_nothing_swaps_nothing,
    a_failure_that_only_the_tally_counts_swaps_nothing,
    while_no_remembered_call_failed_a_tally_is_not_written,
    a_success_after_failures_clears_them_with_one_swap_and_then_none,
    a_closed_success_is_as_cheap_in_every_epoch,
    a_gradual_return_costs_its_own_calls_alone,
    a_rejection_swaps_nothing_and_reads_the_clock_once,
    a_probe_is_admitted_and_reports_by_one_swap_each,
    a_command_is_one_swap_or_none,
    a_late_report_swaps_nothing,
    looking_is_one_load_in_every_state,
    measuring_slow_calls_reads_the_clock_twice_a_call,
);

/// As the page says, on 64-bit machines.
#[test]
#[cfg(target_pointer_width = "64")]
fn a_breaker_with_its_rules_inside_is_as_large_as_the_page_says() {
    use atomic_breaker::word::AtomicU64;
    const PAGE: &str = include_str!("../../docs/performance.md");
    let row = |bytes: usize| format!("| `Breaker` with its rules inside, 64 bits | {bytes} |");
    let bytes = size_of::<Breaker<NoClock, AtomicU64>>();
    assert!(PAGE.contains(&row(bytes)), "docs/performance.md: {bytes}");
}
