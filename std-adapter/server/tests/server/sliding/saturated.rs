// SPDX-License-Identifier: MIT OR Apache-2.0
//! Full counts and words of any content.

use atomic_breaker_server::{
    ManualClock, SlidingRatio, Tally, Verdict, tally::Call, word::AtomicU64,
};
use std::sync::atomic::Ordering;

use super::{Sliding, ms, play, ratio};

/// The words of one shard: head, eight slices, margin, and the slow calls of two slices in each of four.
fn words(bits: u64) -> [AtomicU64; 14] {
    [(); 14].map(|()| AtomicU64::new(bits))
}

fn over<'a>(
    clock: &'a ManualClock,
    words: &'a [AtomicU64; 14],
) -> SlidingRatio<&'a ManualClock, 1, &'a AtomicU64> {
    let mut words = words.iter();
    SlidingRatio::over(clock, || words.next().unwrap())
}

/// Counts of the running slice: so many calls and failures more.
fn add(words: &[AtomicU64; 14], calls: u64, failures: u64) {
    let slice = words[1..9]
        .iter()
        .find(|word| word.load(Ordering::Relaxed) != 0);
    slice
        .unwrap()
        .fetch_add(calls << 38 | failures << 18, Ordering::Relaxed);
}

#[test]
fn a_million_failures_keep_their_share() {
    let (clock, words) = (ManualClock::new(), words(0));
    let tally = over(&clock, &words);
    let rule = ratio(61, 1_000, 1);
    let _ = play(&tally, rule, 0, ".");
    // Three of five.
    let steps = 5 * 250_000;
    for call in 0..steps {
        let call = if call % 5 < 3 {
            Call::failure(0, 1)
        } else {
            Call::success(0)
        };
        let _ = tally.record(call, Some(rule));
    }
    let before = tally.seen_and_failed();
    assert_eq!(before, (steps + 1, steps * 3 / 5));
    for call in 0..2 * steps {
        let call = if call % 5 < 3 {
            Call::failure(0, 1)
        } else {
            Call::success(0)
        };
        let _ = tally.record(call, Some(rule));
        let (seen, failed) = tally.seen_and_failed();
        assert!(failed < 1 << 20 && failed <= seen);
        assert!(
            (failed * 1_000).abs_diff(seen * 600) < seen,
            "{failed} of {seen}"
        );
    }
}

/// Nine of ten, while the calls of a slice are halved again and again, and their own count is full.
#[test]
fn slow_calls_keep_their_share() {
    let (clock, words) = (ManualClock::new(), words(0));
    let tally = over(&clock, &words);
    let rule = ratio(100, 1_000, 1).slow_percent(95);
    let slow = |call: u64| {
        if call.is_multiple_of(10) {
            Call::success(0)
        } else {
            Call::success(0).slow()
        }
    };
    let _ = play(&tally, rule, 0, ".........");
    let _ = tally.record(Call::success(0).slow(), Some(rule));
    let most = (1 << 26) - 1;
    add(&words, most - 1_000, 0);
    let running = words[10..14].iter();
    let running = running.filter(|word| word.load(Ordering::Relaxed) != 0);
    for word in running {
        word.fetch_add((most * 9 / 10) << 6, Ordering::Relaxed);
    }
    for call in 0..3_000 {
        assert_eq!(
            tally.record(slow(call), Some(rule)),
            Verdict::Keep,
            "{call}"
        );
    }
    let (seen, failed) = tally.seen_and_failed();
    assert!(failed == 0 && seen < most);
    assert!(
        (tally.slow() * 100).abs_diff(seen * 90) < seen,
        "{} of {seen}",
        tally.slow()
    );
}

#[test]
fn full_calls_keep_their_share_and_nothing_else_of_the_word() {
    let (clock, words) = (ManualClock::new(), words(0));
    let tally = over(&clock, &words);
    let rule = ratio(1, 1_000, 1);
    let _ = play(&tally, rule, 5, ".");
    let most = (1 << 26) - 1;
    add(&words, most - 1, 0);
    assert_eq!(tally.seen_and_failed(), (most, 0));
    assert_eq!(
        play(&tally, rule, 5, "x"),
        Verdict::Keep,
        "far below one percent"
    );
    assert_eq!(tally.seen_and_failed(), (most.div_ceil(2) + 1, 1));
    clock.advance(ms(999));
    assert_eq!(tally.seen_and_failed().1, 1);
    clock.advance(ms(1));
    assert_eq!(tally.seen_and_failed(), (0, 0));
}

#[test]
fn all_slices_full_do_not_overflow_the_sum() {
    let (clock, words) = (ManualClock::new(), words(0));
    let tally = over(&clock, &words);
    let rule = ratio(100, 1_000, u32::MAX);
    assert_eq!(play(&tally, rule, 0, "x"), Verdict::Keep);
    for word in &words[1..9] {
        word.store(u64::MAX << 18, Ordering::Relaxed);
    }
    assert_eq!(play(&tally, rule, 0, "x"), Verdict::Keep);
    assert_eq!(play(&tally, ratio(1, 1_000, 1), 0, "x"), Verdict::Trip);
}

/// Whatever stands in the words, nothing panics or hangs, and a span later all is well.
#[test]
fn any_bits_recover() {
    let patterns = [
        u64::MAX,
        0x5555_5555_5555_5555,
        0xAAAA_AAAA_AAAA_AAAA,
        1,
        511,
        1 << 63,
    ];
    let sparse = (0..64).map(|bit| 1 << bit);
    for bits in patterns.into_iter().chain(sparse) {
        let (clock, words) = (ManualClock::starting_at(77), words(bits));
        let tally = over(&clock, &words);
        let _ = tally.seen_and_failed();
        for _ in 0..10 {
            let _ = play(&tally, ratio(50, 800, 5), 3, ".x");
            clock.advance(ms(100));
        }
        assert_eq!(tally.seen_and_failed(), (14, 7), "{bits:#x}");
        assert_eq!(tally.slow(), 0, "{bits:#x}");
        let rule = ratio(100, 800, 100).slow_percent(50);
        for _ in 0..20 {
            let _ = tally.record(Call::success(3).slow(), Some(rule));
            let _ = tally.record(Call::success(3), Some(rule));
            clock.advance(ms(100));
        }
        assert_eq!(
            (tally.seen_and_failed(), tally.slow()),
            ((14, 0), 7),
            "{bits:#x}"
        );
        tally.clear();
        assert_eq!(tally.seen_and_failed(), (0, 0));
    }
}

#[test]
fn it_has_the_documented_size() {
    assert_eq!(size_of::<SlidingRatio>(), 2_048);
    assert_eq!(
        size_of::<Sliding<'_>>(),
        256,
        "with a clock that takes room"
    );
    assert_eq!(align_of::<SlidingRatio>(), 128);
}
