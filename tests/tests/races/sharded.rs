// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races between two shards of a share of failures within a time, and between a shard and a call that is late. A shard
//! belongs to a thread, which loom's threads are not for the shipped code: all of them run on one. So it is compiled once
//! more, with a number for each of loom's.

#[path = "../../../std-adapter/server/src/sliding/head.rs"]
mod head;
#[path = "../../../std-adapter/server/src/sliding/margin.rs"]
mod margin;
#[expect(dead_code, unreachable_pub, reason = "it is the public type elsewhere")]
#[path = "../../../std-adapter/server/src/sliding/ratio.rs"]
mod ratio;
#[path = "../../../std-adapter/server/src/sliding/shard.rs"]
mod shard;
#[path = "../../../std-adapter/server/src/sliding/slice.rs"]
mod slice;
#[path = "../../../std-adapter/server/src/sliding/slow.rs"]
mod slow;

/// In place of the number of a thread of the system.
mod thread_number {
    use std::cell::Cell;

    loom::thread_local!(static MINE: Cell<usize> = Cell::new(0));

    pub(crate) fn thread_number() -> usize {
        MINE.with(Cell::get)
    }

    pub(crate) fn set(number: usize) {
        MINE.with(|mine| mine.set(number));
    }
}

use std::collections::HashSet;
use std::time::Duration;

use atomic_breaker::tally::Call;
use atomic_breaker::word::Word;
use atomic_breaker::{ManualClock, Ratio, Tally, Verdict};
use loom::sync::Arc;
use loom::sync::atomic::Ordering;
use loom::thread;

use super::bounded;
use super::memory::LoomWord;
use ratio::SlidingRatio;

/// A word with the orderings that are asked for, or, as a control, with weaker ones. Loom's accesses of the same word are
/// sequentially consistent if both are meant to be.
struct Weakened {
    word: LoomWord,
    at_most: AtMost,
}

#[derive(Clone, Copy)]
enum AtMost {
    AsAsked,
    AcquireRelease,
    Relaxed,
}

impl Weakened {
    fn order(&self, order: Ordering, weaker: Ordering) -> Ordering {
        match self.at_most {
            AtMost::AcquireRelease if order == Ordering::SeqCst => weaker,
            AtMost::Relaxed => Ordering::Relaxed,
            _ => order,
        }
    }
}

impl Word for Weakened {
    type Bits = u64;

    fn load(&self, order: Ordering) -> u64 {
        self.word.load(self.order(order, Ordering::Acquire))
    }

    fn compare_exchange_weak(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        let success = self.order(success, Ordering::AcqRel);
        let failure = self.order(failure, Ordering::Acquire);
        self.word
            .compare_exchange_weak(current, new, success, failure)
    }
}

type Modelled<const SHARDS: usize> = SlidingRatio<ManualClock, SHARDS, Weakened>;

const SPAN: Duration = Duration::from_millis(800);
const HALF: Ratio = Ratio::percent(50).within(SPAN).min_calls(2);

/// Words with these orderings: those of shards, and those of margins.
fn tally<const SHARDS: usize>(of_shards: AtMost, of_margins: AtMost) -> Modelled<SHARDS> {
    let mut made = 0;
    SlidingRatio::over(ManualClock::starting_at(80_000), || {
        made += 1;
        let is_margin = made % 14 == 10;
        Weakened {
            word: LoomWord::new(),
            at_most: if is_margin { of_margins } else { of_shards },
        }
    })
}

fn succeed<const SHARDS: usize>(tally: &Modelled<SHARDS>) {
    assert_eq!(tally.record(Call::success(0), Some(HALF)), Verdict::Keep);
}

/// Returns whether it trips.
fn fail<const SHARDS: usize>(tally: &Modelled<SHARDS>) -> bool {
    tally.record(Call::failure(0, 1), Some(HALF)) == Verdict::Trip
}

/// Two failures at once, each in a shard of its own; which of them trip.
fn two_failures(
    name: &str,
    prepared: fn(&Modelled<2>),
    kinds: [AtMost; 2],
) -> HashSet<(bool, bool)> {
    bounded(name, Some(2), move || {
        let tally = tally::<2>(kinds[0], kinds[1]);
        for number in 0..2 {
            thread_number::set(number);
            succeed(&tally);
        }
        thread_number::set(0);
        prepared(&tally);
        let tally = Arc::new(tally);
        let other = tally.clone();
        let there = thread::spawn(move || {
            thread_number::set(1);
            fail(&other)
        });
        (fail(&tally), there.join().unwrap())
    })
}

fn one_trips(seen: &HashSet<(bool, bool)>) -> bool {
    !seen.contains(&(false, false))
}

/// Each alone is one of three. Of the two, which are in different words, at least one must see both.
#[test]
fn of_two_failures_at_once_one_sees_both() {
    let name = "failure against failure, two shards";
    let seen = two_failures(name, |_| {}, [AtMost::AsAsked; 2]);
    assert!(one_trips(&seen), "{seen:?}");
    assert!(seen.contains(&(true, false)) && seen.contains(&(false, true)));
    let kinds = [AtMost::AcquireRelease; 2];
    assert!(
        !one_trips(&two_failures("control", |_| {}, kinds)),
        "a blind model"
    );
}

/// One of them in a slice that a third caller has begun, and does not look at: its head must not be missed either.
#[test]
fn of_two_failures_one_sees_both_where_another_call_has_moved_the_head() {
    let seen = bounded("failures in a slice begun by another", Some(1), || {
        const SHARE: Ratio = Ratio::percent(42).within(SPAN).min_calls(2);
        let record = |tally: &Modelled<2>, call| tally.record(call, Some(SHARE)) == Verdict::Trip;
        let tally = tally::<2>(AtMost::AsAsked, AtMost::AsAsked);
        // To loom a word's first value is older than the order of what is sequentially consistent.
        thread_number::set(1);
        record(&tally, Call::success(0));
        tally.clock().advance(SPAN);
        thread_number::set(0);
        // One of four. With one more it is two of five, with both three of six or seven.
        record(&tally, Call::failure(0, 1));
        for _ in 0..3 {
            record(&tally, Call::success(0));
        }
        let tally = Arc::new(tally);
        let other = tally.clone();
        let begins = thread::spawn(move || {
            thread_number::set(1);
            record(&other, Call::success(0));
        });
        let other = tally.clone();
        let there = thread::spawn(move || {
            thread_number::set(1);
            record(&other, Call::failure(0, 1))
        });
        thread_number::set(0);
        let here = record(&tally, Call::failure(0, 1));
        begins.join().unwrap();
        (here, there.join().unwrap())
    });
    assert!(one_trips(&seen), "{seen:?}");
}

/// The same where both are the first for a span, so that they move both heads.
#[test]
fn of_the_first_two_failures_for_a_span_one_sees_both() {
    let prepared = |tally: &Modelled<2>| tally.clock().advance(SPAN);
    let name = "failure against failure, two shards, a span later";
    let seen = two_failures(name, prepared, [AtMost::AsAsked; 2]);
    assert!(one_trips(&seen), "{seen:?}");
}

/// An earlier failure has found that one more cannot trip: one of the two uses that up, and the other must see it.
#[test]
fn a_failure_that_uses_up_the_margin_is_seen_by_the_next() {
    let prepared = |tally: &Modelled<2>| {
        succeed(tally);
        assert!(!fail(tally), "one of four, which leaves one more");
    };
    let name = "failure against failure, with a margin of one";
    let seen = two_failures(name, prepared, [AtMost::AsAsked; 2]);
    assert!(one_trips(&seen), "{seen:?}");
    // Whatever the order of the shards' words: it is the margin that leads to them.
    let kinds = [AtMost::AcquireRelease, AtMost::AsAsked];
    let seen = two_failures(name, prepared, kinds);
    assert!(one_trips(&seen), "{seen:?}");
    let kinds = [AtMost::AcquireRelease, AtMost::Relaxed];
    assert!(
        !one_trips(&two_failures("control", prepared, kinds)),
        "a blind model"
    );
}

/// Read its time, and is held up until a span later: its slice has been replaced, and must not come back.
#[test]
fn a_late_call_does_not_bring_back_a_slice() {
    let late = |at_most, call: fn(&Modelled<1>)| {
        bounded("late call against the slice after it", Some(3), move || {
            let tally = tally::<1>(at_most, at_most);
            succeed(&tally);
            let tally = Arc::new(tally);
            let other = tally.clone();
            let there = thread::spawn(move || {
                other.clock().advance(SPAN);
                succeed(&other);
            });
            call(&tally);
            there.join().unwrap();
            tally.seen_and_failed()
        })
    };
    let fails: fn(&Modelled<1>) = |tally| {
        let _ = fail(tally);
    };
    for at_most in [AtMost::AsAsked, AtMost::AcquireRelease] {
        assert_eq!(late(at_most, succeed), HashSet::from([(1, 0), (2, 0)]));
        assert_eq!(late(at_most, fails), HashSet::from([(1, 0), (2, 1)]));
    }
    assert!(
        late(AtMost::Relaxed, succeed).contains(&(0, 0)),
        "a blind model"
    );
}

/// Two slow calls at once: as for failures, of the two one must see both.
#[test]
fn of_two_slow_calls_at_once_one_sees_both() {
    const SHARE: Ratio = Ratio::percent(100)
        .within(SPAN)
        .min_calls(2)
        .slow_percent(50);
    let record = |tally: &Modelled<2>, call| tally.record(call, Some(SHARE)) == Verdict::Trip;
    let slow = Call::success(0).slow();
    let seen_at = |kinds: [AtMost; 2]| {
        bounded("slow against slow, two shards", Some(2), move || {
            let tally = tally::<2>(kinds[0], kinds[1]);
            // Two of six. To loom a word's first value is older than the order of what is sequentially consistent, so each
            // shard has one.
            for number in 0..2 {
                thread_number::set(number);
                for call in [Call::success(0), Call::success(0), slow] {
                    assert!(!record(&tally, call));
                }
            }
            let tally = Arc::new(tally);
            let other = tally.clone();
            // With one more it is three of seven, with both four of eight.
            let there = thread::spawn(move || {
                thread_number::set(1);
                record(&other, slow)
            });
            thread_number::set(0);
            (record(&tally, slow), there.join().unwrap())
        })
    };
    let seen = seen_at([AtMost::AsAsked; 2]);
    assert!(one_trips(&seen), "{seen:?}");
    assert!(seen.contains(&(true, false)) && seen.contains(&(false, true)));
    let weak = seen_at([AtMost::AcquireRelease; 2]);
    assert!(!one_trips(&weak), "a blind model");
}

/// One slow call of two is no share of 67 %, nor are two of three, whatever a look at them meets.
#[test]
fn a_look_never_sees_more_slow_calls_than_there_are_among_the_calls() {
    const SHARE: Ratio = Ratio::percent(100)
        .within(SPAN)
        .min_calls(1)
        .slow_percent(67);
    let seen = bounded("slow against slow, one shard", Some(2), || {
        let tally = tally::<1>(AtMost::AsAsked, AtMost::AsAsked);
        let record = |tally: &Modelled<1>, call| tally.record(call, Some(SHARE)) == Verdict::Trip;
        assert!(!record(&tally, Call::success(0)));
        let tally = Arc::new(tally);
        let other = tally.clone();
        let there = thread::spawn(move || record(&other, Call::success(0).slow()));
        let here = record(&tally, Call::success(0).slow());
        (here, there.join().unwrap(), tally.slow())
    });
    assert_eq!(seen, HashSet::from([(false, false, 2)]));
}
