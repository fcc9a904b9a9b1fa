// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exchanges that fail for no reason, as some processors' do.

use std::mem;
use std::thread;

use atomic_breaker_server::Verdict;

use super::margins::assert_spared;
use super::watched::{Part, Use, tally, watched};
use super::{play, ratio};

const NOW_MS: u32 = 123_430;

#[test]
fn a_failed_exchange_takes_no_margin() {
    let tally = tally::<1>(NOW_MS);
    let rule = ratio(50, 800, u32::MAX);
    let _ = play(&tally, rule, 0, "......");
    let mut is_first = true;
    let fails = move |it: Use| {
        let of_margin = it.is_exchange && it.part == Part::Margin;
        of_margin && mem::take(&mut is_first)
    };
    let _ = watched(fails, || play(&tally, rule, 0, "x"));
    assert_spared(&tally, rule, 4, "as without it");
}

/// The shard of a thread that does not call meanwhile is retired all the same.
#[test]
fn failed_exchanges_leave_no_calls_for_a_span_that_is_set_again() {
    let tally = Box::new(tally::<256>(NOW_MS));
    let (one, other) = (ratio(100, 800, 5), ratio(100, 400, 5));
    thread::scope(|scope| {
        scope.spawn(|| play(&*tally, one, 0, "xxxx"));
    });
    assert_eq!(tally.seen_and_failed(), (4, 4));
    let mut exchanges = 0;
    let every_other_fails = move |it: Use| {
        exchanges += u32::from(it.is_exchange);
        it.is_exchange && exchanges % 2 == 1
    };
    let _ = watched(every_other_fails, || play(&*tally, other, 0, ".x"));
    assert_eq!(tally.seen_and_failed(), (2, 1));
    assert_eq!(play(&*tally, one, 0, "xxx"), Verdict::Keep, "3 of 5");
    assert_eq!(tally.seen_and_failed(), (3, 3));
}
