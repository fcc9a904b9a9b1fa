// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races for the slices of a share of failures within a time.

use std::collections::HashSet;

use atomic_breaker::{ManualClock, Ratio, Tally, tally::Call};
use atomic_breaker_server::SlidingRatio;
use loom::sync::Arc;
use loom::thread;
use std::time::Duration;

use super::bounded;
use super::memory::LoomWord;

type Modelled = SlidingRatio<ManualClock, 1, LoomWord>;

const CLOCK_MS: u32 = 80_000;

/// Slices of 100 ms, in which one call was counted the given number of milliseconds ago.
fn after(ms: u32) -> Arc<Modelled> {
    let clock = ManualClock::starting_at(CLOCK_MS);
    let tally = SlidingRatio::over(clock, LoomWord::new);
    succeed(&tally, 0);
    tally.clock().advance(Duration::from_millis(ms.into()));
    Arc::new(tally)
}

fn succeed(tally: &Modelled, epoch: u16) {
    let all = Ratio::percent(100).within(Duration::from_millis(800));
    let _ = tally.record(Call::success(epoch), Some(all));
}

/// Two concurrent calls are both the first of a slice.
fn two_calls_after(ms: u32) -> (u64, u64) {
    let tally = after(ms);
    let other = tally.clone();
    let there = thread::spawn(move || succeed(&other, 0));
    succeed(&tally, 0);
    there.join().unwrap();
    tally.seen_and_failed()
}

#[test]
fn two_first_calls_of_a_slice_are_both_counted() {
    let seen = bounded("first against first", Some(4), || two_calls_after(100));
    assert_eq!(seen, HashSet::from([(3, 0)]));
}

/// The word of the slice still holds a call of eight slices ago.
#[test]
fn two_first_calls_after_a_span_are_both_counted_and_nothing_else() {
    let seen = bounded("first against first, a span later", Some(3), || {
        two_calls_after(800)
    });
    assert_eq!(seen, HashSet::from([(2, 0)]));
}

/// Forgetting removes the earlier calls, and possibly a concurrent one.
#[test]
fn a_call_races_with_forgetting() {
    let seen = bounded("call against clear", Some(3), || {
        let tally = after(0);
        let other = tally.clone();
        let there = thread::spawn(move || succeed(&other, 2));
        tally.clear();
        there.join().unwrap();
        tally.seen_and_failed()
    });
    assert_eq!(seen, HashSet::from([(0, 0), (1, 0)]));
}
