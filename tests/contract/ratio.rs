// SPDX-License-Identifier: MIT OR Apache-2.0
//! The share of the last calls.

use atomic_breaker::tally::Call;
use atomic_breaker::word::{AtomicU32, AtomicU64, Bits, NativeWord};
use atomic_breaker::{Breaker, Failure, LastCalls, ManualClock, Ratio, State, Tally, Verdict};

use super::support::{AnyWord, Fine, ms, on_both_words, rules};

type Watched<'a, W> = Breaker<&'a ManualClock, NativeWord, LastCalls<W>>;

/// Trips by its tally alone.
fn breaker<W: AnyWord>(
    clock: &ManualClock,
    calls: u32,
    min_calls: u32,
    percent: u32,
) -> Watched<'_, W> {
    let ratio = Ratio::percent(percent).of_last(calls).min_calls(min_calls);
    let config = rules().tally_only().failure_ratio(ratio).open_for(ms(10));
    Breaker::builder(config, clock)
        .last_calls(LastCalls::over(W::fresh()))
        .build()
}

/// Reports calls: `x` failed, `.` succeeded.
fn play<W: AnyWord>(breaker: &Watched<'_, W>, calls: &str) {
    for call in calls.chars() {
        let permit = breaker.acquire().unwrap();
        match call {
            'x' => permit.failure(),
            _ => permit.success(),
        };
    }
}

fn trips_at_exactly_the_share_once_enough_calls_were_seen<W: AnyWord>() {
    let clock = ManualClock::new();
    for (calls, trips) in [
        ("xxx", false),
        ("xxxx", true),
        ("..xx", true),
        ("...x", false),
        ("...xx", false),
        ("...xxx", true),
        ("xxx.x", true),
    ] {
        let breaker = breaker::<W>(&clock, 10, 4, 50);
        play(&breaker, calls);
        assert_eq!(breaker.state() == State::Open, trips, "{calls}");
    }
}

fn only_a_failure_trips<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(&clock, 10, 4, 50);
    play(&breaker, "xxx.");
    assert_eq!(
        breaker.state(),
        State::Closed,
        "three of four, but the fourth succeeded"
    );
    play(&breaker, "x");
    assert_eq!(breaker.state(), State::Open);
}

fn calls_leave_the_window_one_by_one<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(&clock, 5, 5, 80);
    play(&breaker, "xxx..");
    assert_eq!(breaker.tally().seen_and_failed(), (5, 3));
    play(&breaker, "..");
    assert_eq!(breaker.tally().seen_and_failed(), (5, 1));
    play(&breaker, "xxx");
    assert_eq!(breaker.state(), State::Closed, "3 of the last 5");
    play(&breaker, "x");
    assert_eq!(breaker.state(), State::Open, "4 of the last 5");
}

fn a_full_history_keeps_sliding<W: AnyWord>() {
    let clock = ManualClock::new();
    let most = LastCalls::<W>::MAX_CALLS;
    let breaker = breaker::<W>(&clock, most, most, 100);
    play(&breaker, ".");
    for failed in 1..most {
        play(&breaker, "x");
        assert_eq!(breaker.tally().seen_and_failed(), (failed + 1, failed));
    }
    assert_eq!(breaker.state(), State::Closed);
    play(&breaker, "x");
    assert_eq!(breaker.state(), State::Open, "the success has left");
    assert_eq!(breaker.tally().seen_and_failed(), (most, most));
}

fn the_history_before_a_trip_is_forgotten_after_it<W: AnyWord>() {
    let clock = ManualClock::new();
    for reopen in [false, true] {
        let breaker = breaker::<W>(&clock, 10, 4, 50);
        play(&breaker, "xxxx");
        clock.advance(ms(10));
        if reopen {
            breaker.acquire().unwrap().failure();
            clock.advance(ms(10));
        }
        breaker.acquire().unwrap().success();
        assert_eq!(breaker.state(), State::Closed);
        play(&breaker, "xxx");
        assert_eq!(
            breaker.tally().seen_and_failed(),
            (3, 3),
            "probes are not recorded"
        );
        assert_eq!(breaker.state(), State::Closed);
    }
}

fn an_outcome_of_an_earlier_epoch_is_not_recorded<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(&clock, 10, 4, 50);
    let late = [(); 3].map(|()| breaker.acquire().unwrap());
    breaker.reset();
    play(&breaker, "x");
    for permit in late {
        permit.failure();
    }
    assert_eq!(breaker.tally().seen_and_failed(), (1, 1));
}

fn ignored_and_dropped_calls_are_not_recorded<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(&clock, 10, 1, 100);
    breaker
        .acquire()
        .unwrap()
        .report(atomic_breaker::Outcome::Ignored);
    drop(breaker.acquire().unwrap());
    assert_eq!(breaker.tally().seen_and_failed(), (0, 0));
}

fn the_rules_of_word_and_tally_are_one_or_the_other<W: AnyWord>() {
    let clock = ManualClock::new();
    let both = || {
        let ratio = Ratio::percent(50).of_last(10).min_calls(6);
        let config = rules().consecutive_failures(3).failure_ratio(ratio);
        Breaker::builder(config, &clock)
            .word(W::fresh())
            .last_calls(LastCalls::over(W::fresh()))
            .build()
    };
    let row = both();
    for _ in 0..3 {
        row.acquire().unwrap().failure();
    }
    assert_eq!(
        row.state(),
        State::Open,
        "3 in a row, too few calls for the share"
    );
    let share = both();
    for _ in 0..3 {
        share.acquire().unwrap().success();
        assert_eq!(share.state(), State::Closed);
        share.acquire().unwrap().failure();
    }
    assert_eq!(share.state(), State::Open, "half of 6, never 3 in a row");
}

fn a_slow_success_is_recorded_as_a_failure<W: AnyWord>() {
    let clock = ManualClock::starting_at(1);
    let ratio = Ratio::percent(100).of_last(10).min_calls(5);
    let config = rules().tally_only().failure_ratio(ratio).slow_call(ms(5));
    let breaker = Breaker::builder(config, &clock)
        .last_calls(LastCalls::over(W::fresh()))
        .build();
    let permit = breaker.acquire().unwrap();
    clock.advance(ms(5));
    permit.success();
    breaker.acquire().unwrap().success();
    assert_eq!(breaker.tally().seen_and_failed(), (2, 1));
}

/// It cannot be known whether that epoch is earlier or later, as any number of transitions may lie in between.
fn a_call_of_any_other_epoch_begins_a_new_history<W: AnyWord>() {
    for (epoch, other) in
        (0..32_u16).flat_map(|epoch| (1..16).map(move |ahead| (epoch, epoch + ahead)))
    {
        let ratio = Ratio::percent(100).of_last(10).min_calls(2);
        let tally = LastCalls::over(W::fresh());
        for epoch in [epoch, other, epoch] {
            let verdict = tally.record(Call::failure(epoch, 1), Some(ratio));
            assert_eq!(
                (verdict, tally.seen_and_failed()),
                (Verdict::Keep, (1, 1)),
                "{epoch}"
            );
        }
    }
}

/// The number of transitions between two closed times depends on how many probes failed; the tally
/// must know its own epoch from a new one after any number.
fn the_share_trips_again_after_an_outage_of_any_length<W: AnyWord>() {
    let clock = ManualClock::new();
    for failed_probes in 0..40 {
        let breaker = breaker::<W>(&clock, 10, 4, 50);
        play(&breaker, "xxxx");
        for _ in 0..failed_probes {
            clock.advance(ms(10));
            breaker.acquire().unwrap().failure();
        }
        clock.advance(ms(10));
        breaker.acquire().unwrap().success();
        play(&breaker, "xxxx");
        assert_eq!(
            breaker.state(),
            State::Open,
            "4 of 4 failed after {failed_probes} failed probes"
        );
    }
}

fn a_weightless_failure_does_not_count_in_the_share<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(&clock, 10, 1, 1);
    for _ in 0..4 {
        breaker.acquire().unwrap().report(Failure::with_weight(0));
        assert_eq!(
            breaker.state(),
            State::Closed,
            "it adds nothing while closed"
        );
    }
    assert_eq!(breaker.tally().seen_and_failed().1, 0);
}

fn shares_that_are_no_whole_percent_are_not_rounded<W: AnyWord>() {
    let clock = ManualClock::new();
    for (calls, percent, trips) in [
        ("..x", 33, true),
        ("..x", 34, false),
        (".xx", 66, true),
        (".xx", 67, false),
        ("......x", 14, true),
        ("......x", 15, false),
        ("x", 100, true),
    ] {
        let seen = calls.len() as u32;
        let breaker = breaker::<W>(&clock, 20, seen, percent);
        play(&breaker, calls);
        assert_eq!(breaker.state() == State::Open, trips, "{calls} {percent} %");
    }
}

fn a_call_weighs_one_in_the_share_whatever_its_weight<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(&clock, 10, 4, 50);
    play(&breaker, "...");
    breaker
        .acquire()
        .unwrap()
        .report(Failure::with_weight(u16::MAX));
    assert_eq!(breaker.tally().seen_and_failed(), (4, 1));
    assert_eq!(breaker.state(), State::Closed);
}

fn calls_while_disabled_are_not_recorded<W: AnyWord>() {
    let clock = ManualClock::new();
    let breaker = breaker::<W>(&clock, 10, 1, 1);
    breaker.disable();
    play(&breaker, "xx.x");
    assert_eq!(breaker.tally().seen_and_failed(), (0, 0));
}

/// Any bits are a valid history, whether they come from outside or from a breaker with other numbers.
fn any_bits_are_a_history_that_slides_on<W: AnyWord>() {
    for bits in [
        u64::MAX,
        0x5555_5555_5555_5550,
        0xFFFF_FFF0,
        1 << 31,
        16,
        15,
    ] {
        let word = W::from(W::Bits::from_u64(bits));
        let tally = LastCalls::over(word);
        let ratio = Ratio::percent(100).of_last(5);
        for _ in 0..5 {
            let _ = tally.record(Call::success((bits & 15) as u16), Some(ratio));
        }
        assert_eq!(tally.seen_and_failed(), (5, 0), "{bits:#x}");
    }
}

/// The rules of a breaker never ask for that.
#[test]
fn a_history_of_calls_knows_nothing_about_a_time() {
    let tally = LastCalls::new();
    let lately = Ratio::percent(1).within(ms(1_000)).min_calls(1);
    assert_eq!(
        tally.record(Call::failure(0, 1), Some(lately)),
        Verdict::Keep
    );
    assert_eq!(tally.seen_and_failed(), (0, 0));
}

#[test]
fn an_empty_history_takes_any_epoch() {
    for epoch in 0..32 {
        let tally = LastCalls::new();
        let _ = tally.record(Call::success(epoch), Some(Ratio::percent(100).of_last(10)));
        assert_eq!(tally.seen_and_failed(), (1, 0), "{epoch}");
    }
}

#[test]
fn a_history_holds_59_or_27_calls() {
    assert_eq!(LastCalls::<AtomicU64>::MAX_CALLS, 59);
    assert_eq!(LastCalls::<AtomicU32>::MAX_CALLS, 27);
    assert_eq!(LastCalls::<Fine>::MAX_CALLS, 27);
}

on_both_words!(
    trips_at_exactly_the_share_once_enough_calls_were_seen,
    only_a_failure_trips,
    calls_leave_the_window_one_by_one,
    a_full_history_keeps_sliding,
    the_history_before_a_trip_is_forgotten_after_it,
    an_outcome_of_an_earlier_epoch_is_not_recorded,
    ignored_and_dropped_calls_are_not_recorded,
    the_rules_of_word_and_tally_are_one_or_the_other,
    a_slow_success_is_recorded_as_a_failure,
    a_call_of_any_other_epoch_begins_a_new_history,
    the_share_trips_again_after_an_outage_of_any_length,
    a_weightless_failure_does_not_count_in_the_share,
    shares_that_are_no_whole_percent_are_not_rounded,
    a_call_weighs_one_in_the_share_whatever_its_weight,
    calls_while_disabled_are_not_recorded,
    any_bits_are_a_history_that_slides_on,
);
