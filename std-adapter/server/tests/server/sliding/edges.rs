// SPDX-License-Identifier: MIT OR Apache-2.0
//! The times at which a call enters and leaves the span, to the millisecond, wherever the clock stands.

use atomic_breaker_server::{ManualClock, SlidingRatio, Tally, Verdict, tally::Call};

use super::{Sliding, ms, play, ratio};

/// Just before the clock wraps, just after it began, and anywhere.
const STARTS: [u32; 5] = [0, 1, 123_456_789, u32::MAX - 400, u32::MAX];

#[test]
fn a_call_leaves_when_the_eighth_after_the_seventh_ends() {
    for start in (0..100).chain(STARTS) {
        let clock = ManualClock::starting_at(start);
        let tally = Sliding::by(&clock);
        let _ = play(&tally, ratio(50, 800, 20), 0, "x");
        clock.advance(ms(u64::from(799 - start % 100)));
        assert_eq!(tally.seen_and_failed(), (1, 1), "{start}");
        clock.advance(ms(1));
        assert_eq!(tally.seen_and_failed(), (0, 0), "{start}");
    }
}

/// For each span up to some milliseconds: 1 ms is the shortest.
#[test]
fn a_call_counts_for_seven_eighths_of_the_span_and_no_longer_than_the_span() {
    for span in (1..40).chain([999, 1_000, 1_001, 60_000, 2_097_151, 2_097_153, 1 << 31]) {
        for start in STARTS {
            let clock = ManualClock::starting_at(start);
            let tally = Sliding::by(&clock);
            let _ = play(&tally, ratio(50, span, 20), 0, ".");
            clock.advance(ms(span * 7 / 8 - u64::from(span >= 8)));
            let is_seen = tally.seen_and_failed() == (1, 0);
            assert!(is_seen || span < 8, "{span} from {start}");
            let slice = span.div_ceil(8);
            clock.advance(ms(slice + slice / 131_072 * 8 + 16));
            assert_eq!(tally.seen_and_failed(), (0, 0), "{span} from {start}");
        }
    }
}

/// One millisecond more than a slice of 2²⁷ ms, of which seven would be too short; and one less.
#[test]
fn the_length_of_a_slice_is_rounded_up() {
    let slice = 1_u32 << 27;
    for span in [(1 << 30) + 8, (1 << 30) - 8] {
        let clock = ManualClock::starting_at(slice - 1);
        let tally = Sliding::by(&clock);
        let _ = play(&tally, ratio(50, span, 20), 0, ".");
        clock.advance(ms(span * 7 / 8));
        assert_eq!(tally.seen_and_failed(), (1, 0), "{span}");
    }
}

#[test]
fn after_a_small_step_back_the_clock_continues_in_the_same_slice() {
    for start in STARTS {
        let clock = ManualClock::starting_at(start);
        let tally = Sliding::by(&clock);
        let half = ratio(50, 800, 20);
        for _ in 0..5 {
            let _ = play(&tally, half, 0, "x.");
            clock.step_back(ms(100));
        }
        assert_eq!(tally.seen_and_failed(), (10, 5), "{start}");
        clock.advance(ms(500 + 700 - u64::from(start % 100)));
        assert_eq!(tally.seen_and_failed(), (10, 5), "{start}");
        clock.advance(ms(100));
        assert_eq!(tally.seen_and_failed(), (0, 0), "{start}");
        let _ = play(&tally, half, 0, "x");
        assert_eq!(tally.seen_and_failed(), (1, 1), "{start}");
    }
}

/// The clock's readings of two threads cross by less.
#[test]
fn a_slice_goes_on_for_readings_of_up_to_65_s_before_it() {
    for start in STARTS {
        let begins = start - start % 100;
        let clock = ManualClock::starting_at(start);
        let tally = Sliding::by(&clock);
        let _ = play(&tally, ratio(50, 800, 20), 0, "x");
        clock.set_ms(begins.wrapping_sub(65_536));
        assert_eq!(tally.seen_and_failed(), (1, 1), "{start}");
        clock.set_ms(begins.wrapping_sub(65_537));
        assert_eq!(tally.seen_and_failed(), (0, 0), "{start}");
    }
}

/// It has remembered that two failures more cannot trip, of calls that have left the span since. What it remembers has
/// a version, which wraps.
#[test]
fn a_clock_that_steps_back_does_not_revive_a_margin() {
    for (start, slices) in STARTS
        .into_iter()
        .flat_map(|it| (0..8).map(move |n| (it, n)))
    {
        let clock = ManualClock::starting_at(start);
        let tally = Sliding::by(&clock);
        let tenth = ratio(10, 800, 2);
        for _ in 0..slices {
            assert_eq!(play(&tally, tenth, 0, "."), Verdict::Keep, "{start}");
            clock.advance(ms(1_000));
        }
        let many = ".".repeat(30) + "x";
        assert_eq!(play(&tally, tenth, 0, &many), Verdict::Keep, "{start}");
        clock.advance(ms(900));
        assert_eq!(play(&tally, tenth, 0, "."), Verdict::Keep, "{start}");
        assert_eq!(tally.seen_and_failed(), (1, 0), "{start}");
        clock.step_back(ms(900));
        let what = format!("{start}, {slices} slices before");
        assert_eq!(play(&tally, tenth, 0, "x"), Verdict::Trip, "{what}");
    }
}

/// A clock that is set back is none, and heals all the same.
#[test]
fn a_clock_that_is_set_back_starts_again() {
    let clock = ManualClock::starting_at(10_000_000);
    let tally = Sliding::by(&clock);
    let _ = play(&tally, ratio(50, 800, 20), 0, "x");
    clock.step_back(ms(1_000_000));
    let _ = play(&tally, ratio(50, 800, 20), 0, ".");
    assert_eq!(tally.seen_and_failed(), (1, 0));
}

/// Numbers of slices wrap, at 512 and elsewhere: none of it shows.
#[test]
fn no_idle_time_revives_what_was_counted() {
    let some =
        (8..40_u64)
            .chain(500..530)
            .chain([1_024, 1 << 15, (1 << 15) + 3, 1 << 20, 10_000_000]);
    for idle in some {
        let clock = ManualClock::new();
        let tally = Sliding::by(&clock);
        let _ = play(&tally, ratio(50, 800, 20), 0, "xxx");
        clock.advance(ms(idle * 100));
        assert_eq!(tally.seen_and_failed(), (0, 0), "{idle}");
        let _ = play(&tally, ratio(50, 800, 20), 0, ".");
        assert_eq!(tally.seen_and_failed(), (1, 0), "{idle}");
    }
}

/// A job that calls once in so many slices leaves the words of the other slices alone forever.
#[test]
fn rare_calls_never_meet_those_of_long_ago() {
    for every in 1..20 {
        let clock = ManualClock::new();
        let tally = Sliding::by(&clock);
        let half = ratio(50, 800, 20);
        for _ in 0..8 {
            let _ = play(&tally, half, 0, "x");
            clock.advance(ms(100));
        }
        clock.advance(ms(800));
        for call in 1..2_000 {
            let _ = play(&tally, half, 0, ".");
            let most = 7 / every + 1;
            assert_eq!(tally.seen_and_failed(), (call.min(most), 0), "{every}");
            clock.advance(ms(100 * every));
        }
    }
}

/// The limit that the documentation states.
#[test]
fn only_a_tally_idle_for_exactly_one_wrap_of_the_clock_remembers_too_much() {
    let clock = ManualClock::new();
    let tally = Sliding::by(&clock);
    let _ = play(&tally, ratio(50, 800, 20), 0, "x");
    clock.advance(ms((1 << 32) - 70_000));
    assert_eq!(tally.seen_and_failed(), (0, 0));
    clock.advance(ms(70_000 + 799));
    assert_eq!(tally.seen_and_failed(), (1, 1), "as documented");
    clock.advance(ms(1));
    assert_eq!(tally.seen_and_failed(), (0, 0));
}

/// A shard whose thread is gone is not asked for its age forever: others see to it.
#[test]
fn a_shard_that_is_not_used_is_retired_by_the_others() {
    let clock = ManualClock::new();
    let tally = SlidingRatio::<_, 2>::by(&clock);
    let all = Some(ratio(100, 800, 20));
    let record = |calls| {
        // Two threads in a row may share a shard, if others start between them; of many, hardly all.
        for _ in 0..calls {
            std::thread::scope(|scope| {
                scope.spawn(|| tally.record(Call::success(0), all));
            });
        }
    };
    record(20);
    assert_eq!(tally.seen_and_failed(), (20, 0));
    clock.advance(ms(1_000));
    let _ = tally.record(Call::success(0), all);
    assert_eq!(tally.seen_and_failed(), (1, 0));
    // Around the clock, less than one span at a time for this shard.
    for _ in 0..9 {
        clock.advance(ms((1 << 32) / 10));
        let _ = tally.record(Call::success(0), all);
        assert_eq!(tally.seen_and_failed(), (1, 0));
    }
    clock.set_ms(400);
    let _ = tally.record(Call::success(0), all);
    assert_eq!(
        tally.seen_and_failed(),
        (1, 0),
        "the other shard's are gone"
    );
}
