// SPDX-License-Identifier: MIT OR Apache-2.0
//! A failure sums up the shards only if it could trip.

use std::mem;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use atomic_breaker_server::{Ratio, Tally, Verdict, tally::Call};

use super::watched::{Part, Use, Watched, tally, uses, watched};
use super::{play, ratio};

/// Within a slice of 100 ms.
const NOW_MS: u32 = 123_430;

/// Records a failure, and answers whether it looked at all slices.
fn looks(tally: &Watched<1>, rule: Ratio) -> bool {
    let uses = uses(|| {
        let _ = tally.record(Call::failure(0, 1), Some(rule));
    });
    uses.iter().filter(|it| it.part == Part::Slice).count() > 8
}

/// So many failures do not look, and the next one does.
pub(super) fn assert_spared(tally: &Watched<1>, rule: Ratio, spared: u64, what: &str) {
    for failure in 0..spared {
        assert!(!looks(tally, rule), "{what}: {failure} of {spared}");
    }
    assert!(looks(tally, rule), "{what}: after {spared}");
}

/// The number of further failures that do not reach the share, at most 255.
fn cannot_trip(percent: u64, seen: u64, failed: u64) -> u64 {
    let trips = |more: &u64| (failed + more) * 100 >= (seen + more) * percent;
    (1..=255).find(trips).map_or(255, |first| first - 1)
}

#[test]
fn a_failure_looks_only_where_one_more_than_the_last_look_allowed_could_trip() {
    for (percent, seen) in [(1, 301), (10, 31), (50, 7), (50, 2), (99, 3), (100, 2)] {
        let tally = tally::<1>(NOW_MS);
        let rule = ratio(percent, 800, u32::MAX);
        let _ = play(&tally, rule, 0, &".".repeat(seen - 1));
        let what = format!("{percent} % of {seen}");
        assert!(looks(&tally, rule), "{what}");
        let percent = percent.into();
        assert_spared(&tally, rule, cannot_trip(percent, seen as u64, 1), &what);
    }
    assert_eq!(cannot_trip(50, 7, 1), 4);
}

/// Also if each is only a hundredth of a percent more than the last one, and if both are finer than a percentage.
#[test]
fn each_share_has_a_margin_of_its_own() {
    for shares in [5_000..=5_001, 5_099..=5_101, 100..=140, 9_960..=9_999] {
        let tally = tally::<1>(NOW_MS);
        let _ = play(&tally, ratio(100, 800, u32::MAX), 0, &".".repeat(30_000));
        for points in shares {
            let rule = Ratio::basis_points(points)
                .within(super::ms(800))
                .min_calls(u32::MAX);
            assert!(
                looks(&tally, rule),
                "{points}: has found the margin of another share"
            );
            for failure in 1..=3 {
                assert!(!looks(&tally, rule), "{points}: {failure}");
            }
        }
    }
}

/// The slices of two threads end at different times, as one of them began before the clock wrapped.
#[test]
fn a_margin_ends_with_the_first_slice_that_leaves_the_span_in_any_thread() {
    let tally = Box::new(tally::<256>(0));
    let half = ratio(50, 800, 1);
    thread::scope(|scope| {
        tally.clock().set_ms(0_u32.wrapping_sub(150));
        scope.spawn(|| play(&*tally, half, 0, &".".repeat(20)));
    });
    // Since 196 ms before the wrap.
    for (now_ms, verdict) in [
        (600, Verdict::Keep),
        (603, Verdict::Keep),
        (604, Verdict::Trip),
    ] {
        tally.clock().set_ms(now_ms);
        assert_eq!(play(&*tally, half, 0, "x"), verdict, "{now_ms}");
    }
}

/// One that begins a slice of its span has not yet retired the other's shard when a third one, in its shard, remembers
/// what cannot trip.
#[test]
fn threads_with_other_spans_share_neither_counts_nor_margins() {
    let tally = Arc::new(tally::<256>(NOW_MS));
    let (one, other) = (ratio(50, 800, 2), ratio(50, 1_600, 2));
    let (begins, has_begun) = channel();
    let (goes_on, may_go_on) = channel();
    let (ends, has_ended) = channel();
    let there = Arc::clone(&tally);
    let thread = thread::spawn(move || {
        assert_eq!(play(&*there, other, 0, "."), Verdict::Keep);
        begins.send(there.seen_and_failed()).unwrap();
        may_go_on.recv().unwrap();
        assert_eq!(play(&*there, other, 0, "x"), Verdict::Trip, "1 of 2");
        ends.send(()).unwrap();
    });
    assert_eq!(has_begun.recv().unwrap(), (1, 0));
    let here = Arc::clone(&tally);
    let (mut own, mut is_over) = (None, false);
    let watch = move |it: Use| {
        let is_own = *own.get_or_insert(it.shard) == it.shard;
        if !is_own && !mem::replace(&mut is_over, true) {
            assert_eq!(play(&*here, one, 0, "......x"), Verdict::Keep);
            goes_on.send(()).unwrap();
            // Not if that thread has panicked.
            let _ = has_ended.recv();
        }
        false
    };
    let _ = watched(watch, || play(&*tally, one, 0, "."));
    thread.join().unwrap();
}
