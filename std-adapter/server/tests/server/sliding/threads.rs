// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real threads: nothing that they count is lost, however they race.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use atomic_breaker_server::{
    Breaker, Clock, Config, ManualClock, SlidingRatio, State, StdClock, Tally, Verdict, tally::Call,
};

use super::watched::{tally, uses};
use super::{ms, ratio};

const THREADS: u64 = 8;
/// Of seven changes of the slice each.
const ROUNDS: u32 = 3;
/// Of a thread in a round: all of them fit into one slice, however long the machine takes for the round.
const MOST_FAILURES: u64 = ((1 << 20) - 1) / THREADS;

/// No more changes of the slice in a round than that nothing leaves the span meanwhile.
fn no_call_is_lost_or_counted_twice_when_slices_end<const SHARDS: usize>() {
    let clock = ManualClock::starting_at(u32::MAX - 20_000);
    let tally = SlidingRatio::<_, SHARDS>::by(&clock);
    // So short that the slices end all the time.
    let rule = Some(ratio(100, 80, u32::MAX));
    for round in 0..ROUNDS {
        let (calls, failures) = (AtomicU64::new(0), AtomicU64::new(0));
        let (go, is_over) = (Barrier::new(THREADS as usize + 1), AtomicBool::new(false));
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (tally, calls, failures) = (&tally, &calls, &failures);
                let (go, is_over) = (&go, &is_over);
                scope.spawn(move || {
                    go.wait();
                    let (mut made, mut failed) = (0, 0);
                    while !is_over.load(Ordering::Relaxed) && failed < MOST_FAILURES {
                        let is_failure = made % 16 == thread;
                        let _ = tally.record(
                            if is_failure {
                                Call::failure(1, 1)
                            } else {
                                Call::success(1)
                            },
                            rule,
                        );
                        made += 1;
                        failed += u64::from(is_failure);
                    }
                    calls.fetch_add(made, Ordering::Relaxed);
                    failures.fetch_add(failed, Ordering::Relaxed);
                });
            }
            go.wait();
            for _ in 0..70 {
                thread::yield_now();
                clock.advance(ms(1));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let made = (calls.into_inner(), failures.into_inner());
        assert_eq!(
            tally.seen_and_failed(),
            made,
            "round {round}, {SHARDS} shards"
        );
        clock.advance(ms(80 + 10 - u64::from(clock.now_ms() % 10)));
        assert_eq!(tally.seen_and_failed(), (0, 0));
    }
}

#[test]
fn one_shard_loses_nothing() {
    no_call_is_lost_or_counted_twice_when_slices_end::<1>();
}

#[test]
fn three_shards_lose_nothing() {
    no_call_is_lost_or_counted_twice_when_slices_end::<3>();
}

#[test]
fn sixteen_shards_lose_nothing() {
    no_call_is_lost_or_counted_twice_when_slices_end::<16>();
}

/// By the whole breaker and the clock of the system.
#[test]
fn eight_threads_count_exactly() {
    let config = Config::new()
        .tally_only()
        .failure_ratio(ratio(100, 3_600_000, 20));
    let breaker = Breaker::builder(config, StdClock)
        .tally(SlidingRatio::new(StdClock))
        .build();
    breaker.acquire().unwrap().success();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for call in 0..20_000 {
                    let permit = breaker.acquire().unwrap();
                    if call % 4 == 0 {
                        permit.failure();
                    } else {
                        permit.success();
                    }
                }
            });
        }
    });
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(breaker.tally().seen_and_failed(), (160_001, 40_000));
}

/// Each counts first and looks then, in one order with the others: the last one sees all.
#[test]
fn concurrent_failures_do_not_miss_the_share() {
    let clock = ManualClock::new();
    for round in 0..50 {
        let tally = SlidingRatio::<_, 16>::by(&clock);
        let rule = Some(ratio(50, 10_000, 2));
        for _ in 0..THREADS {
            let _ = tally.record(Call::success(0), rule);
        }
        let go = Barrier::new(THREADS as usize);
        let trips: usize = thread::scope(|scope| {
            let fail = || {
                go.wait();
                usize::from(tally.record(Call::failure(0, 1), rule) == Verdict::Trip)
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(fail)).collect();
            threads.into_iter().map(|it| it.join().unwrap()).sum()
        });
        assert!(trips >= 1, "8 of 16, round {round}");
    }
}

/// A thread has its shard for good, and each shard has threads.
#[test]
fn threads_take_turns_at_the_shards() {
    let tally = tally::<4>(0);
    let rule = Some(ratio(50, 10_000, 2));
    let shard = || {
        let _ = tally.record(Call::success(0), rule);
        let uses = uses(|| {
            let _ = tally.record(Call::success(0), rule);
        });
        uses[0].shard
    };
    let mut threads = [0; 4];
    for _ in 0..64 {
        let (first, second) = thread::scope(|scope| {
            let thread = scope.spawn(|| (shard(), shard()));
            thread.join().unwrap()
        });
        assert_eq!(first, second);
        threads[first] += 1;
    }
    assert!(threads.iter().all(|it| *it > 0), "{threads:?}");
}
