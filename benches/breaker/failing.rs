// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures that do not trip, and the success that clears them.

use std::hint::black_box;
use std::time::{Duration, Instant};

use atomic_breaker::word::{AtomicU32, AtomicU64};
use atomic_breaker::{AnyBreaker, Failure, ManualClock};
use criterion::{BenchmarkId, Criterion};

use super::{AnyWord, LATER, OPEN_FOR, RULES, breaker, fail, succeed};

pub(crate) fn on_both_words(criterion: &mut Criterion) {
    on::<AtomicU64>(criterion);
    on::<AtomicU32>(criterion);
}

fn on<W: AnyWord>(criterion: &mut Criterion) {
    let clock = ManualClock::new();
    let mut group = criterion.benchmark_group("failing");
    let id = |name| BenchmarkId::new(name, W::NAME);

    group.bench_function(id("a failure in a row"), |bencher| {
        let rules = RULES.consecutive_failures(W::FAILURES);
        let breaker = breaker::<W>(rules, &clock);
        bencher.iter_custom(|failures| in_rows(&breaker, failures, W::FAILURES - 1));
    });
    // The count must not reach the limit, however often this is repeated: a failure in a window that
    // is over begins a new one.
    group.bench_function(id("first failure of a window"), |bencher| {
        let rules = RULES.failures_within(5, OPEN_FOR);
        let breaker = breaker::<W>(rules, &clock);
        bencher.iter(|| {
            clock.advance(LATER);
            black_box(&breaker).acquire().map(fail)
        });
    });
    group.bench_function(id("a failure, then a success"), |bencher| {
        let breaker = breaker::<W>(RULES, &clock);
        bencher.iter(|| {
            let _ = black_box(&breaker).acquire().map(fail);
            black_box(&breaker).acquire().map(succeed)
        });
    });
    group.bench_function(id("a failure of weight 0"), |bencher| {
        let breaker = breaker::<W>(RULES, &clock);
        bencher.iter(|| {
            let permit = black_box(&breaker).acquire();
            permit.map(|permit| {
                permit.report(Failure::with_weight(0));
            })
        });
    });
}

/// Makes this many failures; a success, which is not measured, keeps each row short of the limit.
fn in_rows(breaker: &impl AnyBreaker, failures: u64, longest: u32) -> Duration {
    let breaker = breaker.as_breaker();
    let mut took = Duration::ZERO;
    let mut left = failures;
    while left > 0 {
        let row = left.min(longest.into());
        let begin = Instant::now();
        for _ in 0..row {
            let _ = black_box(breaker).acquire().map(fail);
        }
        took += begin.elapsed();
        let _ = breaker.acquire().map(succeed);
        left -= row;
    }
    took
}
