// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shares, minimums and spans, and what happens when they are replaced.

use atomic_breaker_server::{ManualClock, Ratio, SlidingRatio, Tally, Verdict};

use super::{Sliding, ms, play, ratio};

fn verdict(calls: &str, ratio: Ratio) -> Verdict {
    let clock = ManualClock::new();
    play(&Sliding::by(&clock), ratio, 0, calls)
}

#[test]
fn trips_at_exactly_the_share_once_enough_calls_were_seen() {
    for (calls, percent, min_calls, trips) in [
        ("x", 100, 1, true),
        ("x", 100, 2, false),
        ("xx", 100, 2, true),
        (".x", 100, 1, false),
        (".x", 50, 2, true),
        ("x.", 50, 2, false),
        ("..x", 33, 3, true),
        ("..x", 34, 3, false),
        ("......x", 14, 7, true),
        ("......x", 15, 7, false),
    ] {
        let trips_now = verdict(calls, ratio(percent, 1_000, min_calls)) == Verdict::Trip;
        assert_eq!(trips_now, trips, "{calls} {percent} % of {min_calls}");
    }
    let clean = ".".repeat(99);
    assert_eq!(
        verdict(&format!("{clean}x"), ratio(1, 1_000, 100)),
        Verdict::Trip
    );
    assert_eq!(
        verdict(&format!(".{clean}x"), ratio(1, 1_000, 100)),
        Verdict::Keep
    );
    let failed = "x".repeat(5_000);
    assert_eq!(
        verdict(&format!(".{failed}"), ratio(100, 1_000, 1)),
        Verdict::Keep
    );
    assert_eq!(verdict(&failed, ratio(100, 1_000, 5_000)), Verdict::Trip);
}

/// Failures that could not trip when they came do not hide the one that can.
#[test]
fn a_success_that_leaves_the_span_lets_the_next_failure_trip() {
    let clock = ManualClock::new();
    let tally = Sliding::by(&clock);
    let all = ratio(100, 800, 5);
    assert_eq!(play(&tally, all, 0, "."), Verdict::Keep);
    clock.advance(ms(100));
    assert_eq!(play(&tally, all, 0, &"x".repeat(1_000)), Verdict::Keep);
    clock.advance(ms(699));
    assert_eq!(play(&tally, all, 0, "x"), Verdict::Keep);
    clock.advance(ms(1));
    assert_eq!(
        play(&tally, all, 0, "x"),
        Verdict::Trip,
        "the success has left"
    );
}

/// It fills by successes, which are not judged.
#[test]
fn the_minimum_may_be_filled_between_two_failures() {
    let clock = ManualClock::new();
    let tally = Sliding::by(&clock);
    let tenth = ratio(10, 800, 30);
    assert_eq!(play(&tally, tenth, 0, "xxxx"), Verdict::Keep);
    assert_eq!(play(&tally, tenth, 0, &".".repeat(25)), Verdict::Keep);
    assert_eq!(play(&tally, tenth, 0, "x"), Verdict::Trip, "5 of 30");
}

#[test]
fn another_share_or_minimum_judges_what_is_counted() {
    let clock = ManualClock::new();
    let tally = Sliding::by(&clock);
    assert_eq!(play(&tally, ratio(90, 800, 4), 0, "...xxx"), Verdict::Keep);
    assert_eq!(play(&tally, ratio(90, 800, 99), 0, "x"), Verdict::Keep);
    assert_eq!(
        play(&tally, ratio(50, 800, 4), 0, "x"),
        Verdict::Trip,
        "5 of 8"
    );
}

/// Failures that tripped by another share meanwhile are failures.
#[test]
fn a_share_that_is_set_again_finds_no_old_margin() {
    let clock = ManualClock::new();
    let tally = Sliding::by(&clock);
    assert_eq!(play(&tally, ratio(50, 800, 4), 0, "......x"), Verdict::Keep);
    assert_eq!(play(&tally, ratio(1, 800, 4), 0, "xxxx"), Verdict::Trip);
    assert_eq!(
        play(&tally, ratio(50, 800, 4), 0, "x"),
        Verdict::Trip,
        "6 of 12"
    );
}

/// Longer or shorter: nothing of the one span counts in the other, also when it comes back.
#[test]
fn another_span_starts_from_zero() {
    for (one, other) in [
        (800, 400),
        (800, 801),
        (800, 80_000_000),
        (1 << 30, 8),
        (1, 9),
    ] {
        let clock = ManualClock::starting_at(12_345);
        let tally = Sliding::by(&clock);
        for _ in 0..100 {
            let _ = play(&tally, ratio(100, one, 10), 0, "xxxx");
            assert_eq!(tally.seen_and_failed(), (4, 4), "{one} {other}");
            let _ = play(&tally, ratio(100, other, 10), 0, ".x");
            assert_eq!(tally.seen_and_failed(), (2, 1), "{one} {other}");
        }
    }
}

/// Threads count in places of their own, and one of them may not call while the other span is set.
#[test]
fn another_span_starts_from_zero_in_all_threads_even_when_it_is_set_again() {
    let clock = ManualClock::starting_at(12_345);
    let tally = Box::new(SlidingRatio::<_, 256>::by(&clock));
    let by_another_thread = |span: u64, calls: &str| {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| play(&tally, ratio(100, span, 10), 0, calls));
            thread.join().unwrap()
        })
    };
    for _ in 0..10 {
        let _ = by_another_thread(800, "xxxx");
        let _ = by_another_thread(800, "xxx");
        assert_eq!(tally.seen_and_failed(), (7, 7));
        let _ = by_another_thread(400, ".x");
        assert_eq!(tally.seen_and_failed(), (2, 1));
        assert_eq!(by_another_thread(800, "xxx"), Verdict::Keep);
        assert_eq!(tally.seen_and_failed(), (3, 3));
        tally.clear();
    }
}

/// Failures that could not trip by the old rules can by the new ones.
#[test]
fn another_span_inherits_no_margin() {
    let clock = ManualClock::starting_at(1_000);
    let tally = Sliding::by(&clock);
    let _ = play(&tally, ratio(100, 800, 3), 0, ".xxxx");
    assert_eq!(play(&tally, ratio(100, 1_600, 3), 0, "xxx"), Verdict::Trip);
}

#[test]
fn clearing_forgets_calls_of_every_epoch() {
    let clock = ManualClock::new();
    let tally = Sliding::by(&clock);
    for _ in 0..1_000 {
        assert_eq!(play(&tally, ratio(100, 800, 5), 7, "xxxx"), Verdict::Keep);
        tally.clear();
        assert_eq!(tally.seen_and_failed(), (0, 0));
    }
}

#[test]
fn calls_of_other_epochs_are_not_judged() {
    let clock = ManualClock::new();
    let tally = Sliding::by(&clock);
    for epoch in 0..1_000 {
        assert_eq!(
            play(&tally, ratio(100, 800, 5), epoch, "xxxx"),
            Verdict::Keep
        );
        clock.advance(ms(epoch.into()));
    }
    assert_eq!(
        play(&tally, ratio(100, 800, 5), 999, "x"),
        Verdict::Keep,
        "in another slice"
    );
}

/// A tally of the user's may be asked without rules, or by rules of calls: it counts nothing.
#[test]
fn without_a_span_nothing_is_counted() {
    let clock = ManualClock::new();
    let tally = Sliding::by(&clock);
    let call = atomic_breaker_server::tally::Call::failure(0, 1);
    assert_eq!(tally.record(call, None), Verdict::Keep);
    let calls = Ratio::percent(1).of_last(1);
    assert_eq!(tally.record(call, Some(calls)), Verdict::Keep);
    assert_eq!(tally.seen_and_failed(), (0, 0));
}
